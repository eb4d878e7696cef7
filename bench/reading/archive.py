"""Makes an archive of the published workload, as large as one likes, without a server and without waiting for time.

A part of the workload goes through the real pipeline; its blocks are then used again and again with later times, so an
archive of any size is made quickly, and every block of it is one that a worker wrote.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgpack
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from bench import traffic
from collector.aggregator.batches import Batch, Limits
from collector.aggregator.seal import seal
from collector.archive.hashes import object_hash
from collector.archive.heads import read_head
from collector.archive.keyfile import READER_PRIVATE, identity, write_key
from collector.archive.layout import HASH_BYTES, Header
from collector.archive.names import ObjectName, write_name
from workers.pipeline import Pipeline
from workers.settings import Settings

START_NS: Final = 1_760_000_000_000_000_000
RATE: Final = 8000
BATCH_S: Final = 10
PERIOD: Final = 200_000
"""Statements after which texts come again: far beyond every compression window."""

_NS: Final = 1_000_000_000
_LEVEL: Final = 3
_ETHERNET_BYTES: Final = 14


def make(folder: Path, statements: int) -> Path:
    """An archive of so many *statements* in *folder*; the file with the key that opens it."""
    reader = X25519PrivateKey.generate()
    key = folder / "reader.key"
    folder.mkdir(parents=True)
    key.write_text(write_key(READER_PRIVATE, reader.private_bytes_raw()) + "\n")
    chain = _Chain(folder / "archive", reader.public_key().public_bytes_raw())
    batch = Batch(Limits(1 << 30, 1 << 62), _LEVEL, 0)
    held = 0
    for head, body in _repeated(list(blocks(min(statements, PERIOD))), statements):
        read = read_head(head, len(body))
        batch.add(read, head, body, 0)
        held += read.statements
        if held >= RATE * BATCH_S:
            chain.store(batch, held)
            held = 0
    chain.store(batch, held)
    return key


def blocks(count: int, frames_a_block: int = 1 << 62) -> Iterator[tuple[bytes, bytes]]:
    """Head and body of each block of a part of the workload; one is taken when full, or after so many frames."""
    pipeline = Pipeline(0, 0, Settings(ports=(traffic.SERVER_PORT,), responses="first"))
    made = traffic.generate(traffic.Workload(count))
    latest_ns = START_NS
    for number, (latest_ns, frame) in enumerate(traffic.timed(made, RATE, START_NS), 1):
        pipeline.packet(frame, _ETHERNET_BYTES, len(frame), latest_ns, len(frame) - _ETHERNET_BYTES)
        if pipeline.full or number % frames_a_block == 0:
            yield pipeline.take_block(latest_ns)
    yield pipeline.take_block(latest_ns, final=True)


def _repeated(blocks: list[tuple[bytes, bytes]], statements: int) -> Iterator[tuple[bytes, bytes]]:
    """The blocks over and over, later each time, until there are so many *statements*."""
    period_ns = PERIOD * _NS // RATE
    done = number = 0
    while done < statements:
        for head, body in blocks:
            fields: dict[str, Any] = msgpack.unpackb(head)
            parts: dict[str, Any] = msgpack.unpackb(body)
            ahead_ns = number * period_ns
            fields["first_ns"] += ahead_ns
            fields["last_ns"] += ahead_ns
            parts["base_ns"] += ahead_ns
            yield msgpack.packb(fields), msgpack.packb(parts)
            done += fields["statements"]
            if done >= statements:
                return
        number += 1


class _Chain:
    """Seals batches as one instance after the other object."""

    def __init__(self, archive: Path, recipient: bytes) -> None:
        self._archive = archive
        self._recipient = recipient
        self._key = Ed25519PrivateKey.generate()
        self._public = self._key.public_key().public_bytes_raw()
        self._sequence = 0
        self._previous = bytes(HASH_BYTES)
        self._run = secrets.token_hex(8)
        self._shipped = 0

    def store(self, batch: Batch, held: int) -> None:
        """One object of what *batch* holds."""
        closed = batch.close(0, START_NS)
        self._sequence += 1
        self._shipped += held
        statements = {"decoded": self._shipped, "shipped": self._shipped}
        header = Header(
            instance=identity(self._public).hex(),
            public_key=self._public,
            host="bench",
            boot="bench",
            run=self._run,
            sequence=self._sequence,
            previous=self._previous,
            first_ns=closed.first_ns,
            last_ns=closed.last_ns,
            sealed_ns=closed.last_ns,
            clock={},
            counts={"statements": held, "content_bytes": closed.content_bytes},
            ledger={"objects_stored": self._sequence, "workers": {"0": {"statements": statements}}},
            software="bench",
            content_key_hash=bytes(HASH_BYTES),
            frames=(),
        )
        data = seal(header, closed.groups, [self._recipient], self._key)
        self._previous = object_hash(data)
        name = ObjectName(header.instance, header.first_ns, header.last_ns, header.sequence, self._previous.hex()[:16])
        path = self._archive / write_name(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
