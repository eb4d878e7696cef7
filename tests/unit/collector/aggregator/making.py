"""Makes headers, blocks and sealed objects for tests, from fixed keys."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from collector.aggregator.compress import Compressor
from collector.aggregator.seal import seal
from collector.archive.hashes import object_hash
from collector.archive.heads import BlockHead, read_head
from collector.archive.keyfile import identity
from collector.archive.layout import (
    HASH_BYTES,
    KIND_BLOCKS,
    KIND_SUMMARY,
    STANZA,
    Header,
    pack_prefix,
)
from collector.archive.packing import pack

SIGNING_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC_KEY = SIGNING_KEY.public_key().public_bytes_raw()
READER_RAW = bytes(range(1, 33))
READER_PUBLIC_RAW = X25519PrivateKey.from_private_bytes(READER_RAW).public_key().public_bytes_raw()
OTHER_RAW = bytes(range(2, 34))

SECOND = 1_000_000_000
START_NS = 1_700_000_000 * SECOND


def header(**changes: Any) -> Header:  # noqa: ANN401 - fields of a header are of many types
    made = Header(
        instance=identity(PUBLIC_KEY).hex(),
        public_key=PUBLIC_KEY,
        host="db1",
        boot="0b3c",
        run="77",
        sequence=1,
        previous=bytes(HASH_BYTES),
        first_ns=START_NS,
        last_ns=START_NS + 10 * SECOND,
        sealed_ns=START_NS + 11 * SECOND,
        clock={"synchronised": True},
        counts={"statements": 0, "workers": {}},
        ledger={"final": False, "workers": {}},
        software="querytap test",
        content_key_hash=bytes(HASH_BYTES),
        frames=(),
    )
    return dataclasses.replace(made, **changes)


def head_bytes(**changes: Any) -> bytes:  # noqa: ANN401 - fields of a head are of many types
    fields: dict[str, Any] = {
        "format": 1,
        "worker": 0,
        "incarnation": 0,
        "sequence": 0,
        "first_ns": START_NS,
        "last_ns": START_NS + SECOND,
        "statements": 0,
        "before": {},
        "after": {},
        "summary": {},
        "final": False,
    }
    return pack({**fields, **changes})


def head(**changes: Any) -> BlockHead:  # noqa: ANN401 - as head_bytes
    return read_head(head_bytes(**changes), 0)


def sealed(
    contents: Sequence[Sequence[tuple[bytes, bytes]]],
    made: Header | None = None,
    recipients: Sequence[bytes] = (READER_PUBLIC_RAW,),
) -> bytes:
    """An object with a summary frame and a zstd frame for each list of (head, body) in *contents*."""
    compressor = Compressor(1)
    groups = [(KIND_SUMMARY, compressor.compress(pack({"format": 1})))]
    for blocks in contents:
        for block_head, body in blocks:
            compressor.add(block_head, body)
        groups += [(KIND_BLOCKS, frame) for frame in compressor.take()]
    return seal(made or header(), groups, recipients, SIGNING_KEY)


def filler(size: int, salt: int = 0) -> bytes:
    """What is an object as far as its name can tell, and has nothing to read."""
    return (pack_prefix(1, 1) + b"h" + bytes(STANZA.size) + b"%d" % salt).ljust(size, b".")


def hash_start(data: bytes) -> str:
    """As names have it."""
    return object_hash(data).hex()[:16]
