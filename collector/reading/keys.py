"""The reader's keys: making a pair, and opening the private half."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from collector import places
from collector.archive.keyfile import (
    INSTANCE,
    MAX_FILE_BYTES,
    PRIVATE,
    PUBLIC,
    KeyFileError,
    identity,
    read_keys,
    write_private,
    write_public,
)
from collector.archive.layout import HYBRID_PRIVATE_BYTES, HYBRID_PUBLIC_BYTES
from collector.archive.readerkeys import generate as generate_raw
from collector.archive.readerkeys import private_key, public_of

__all__ = ["KeyDescription", "KeyFileError", "KeyPair", "ReaderKey", "describe", "generate", "load_private"]


@dataclass(frozen=True, slots=True)
class KeyPair:
    """Where a new pair was written, and what it is called."""

    private: Path
    public: Path
    id: str
    """What stanzas name it by."""


class ReaderKey:
    """A private key that opens objects, and the name under which they are sealed for it."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self.private = private_key(raw)
        self.public_raw = public_of(raw)
        self.recipient = identity(self.public_raw)

    def __reduce__(self) -> tuple[type[ReaderKey], tuple[bytes]]:
        """So that the processes that read with it can be given it."""
        return ReaderKey, (self._raw,)


def generate(folder: Path, *, hybrid: bool = True) -> KeyPair:
    """Write a new pair into *folder*, which is made if missing: the private half for its owner alone.

    *hybrid*: of ML-KEM-768 and X25519, else of X25519 alone.

    Raises FileExistsError when either file is there; nothing is ever overwritten.
    """
    private_path, public_path = folder / places.READER_PRIVATE, folder / places.READER_PUBLIC
    for path in (private_path, public_path):
        if path.exists():
            raise FileExistsError(f"{path} is there already")
    raw = generate_raw(hybrid=hybrid)
    public_raw = public_of(raw)
    public, private = write_public(public_raw), write_private(raw)
    made = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _create(
        private_path, f"# made {made}; opens what is sealed for the public key below\n# {public}\n{private}\n", 0o600
    )
    _create(public_path, f"# made {made}\n{public}\n", 0o644)
    return KeyPair(private_path, public_path, identity(public_raw).hex())


def load_private(path: Path) -> list[ReaderKey]:
    """The private keys in a file; KeyFileError says what is wrong with it, OSError when it cannot be read."""
    with path.open("rb") as file:
        data = file.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise KeyFileError(f"{path}: larger than a key file can be ({MAX_FILE_BYTES} bytes)")
    return [ReaderKey(raw) for raw in read_keys(data.decode("utf-8", "replace"), PRIVATE, str(path))]


def _create(path: Path, text: str, mode: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(text)
        file.flush()
        os.fchmod(descriptor, mode)  # a umask may have taken the public half from others
        os.fsync(descriptor)


@dataclass(frozen=True, slots=True)
class KeyDescription:
    """What a key is, without its secret."""

    kind: str
    id: str
    """Of a reader's key what stanzas name it by; of an instance's the instance."""
    public_line: str
    """What `seal.recipients` and others take; empty where that is of no use."""


def describe(path: Path) -> list[KeyDescription]:
    """What the keys in a file are; KeyFileError says what is wrong with it, OSError when it cannot be read."""
    with path.open("rb") as file:
        text = file.read(MAX_FILE_BYTES).decode("utf-8", "replace")
    kinds: Mapping[tuple[str, ...], tuple[str, Callable[[bytes], bytes]]] = {
        PRIVATE: ("private key of a reader: opens what is sealed for its public half", public_of),
        PUBLIC: ("public key of a reader: hosts seal with it", lambda raw: raw),
        INSTANCE: ("private key of an instance: signs its objects", _of_instance),
    }
    names = next((names for names in kinds if any(f"{name}:" in text for name in names)), PUBLIC)
    kind, half_of = kinds[names]
    found = []
    for raw in read_keys(text, names, str(path)):
        public = half_of(raw)
        line = "" if names == INSTANCE else write_public(public)
        more = ", post-quantum hybrid" if len(raw) in {HYBRID_PRIVATE_BYTES, HYBRID_PUBLIC_BYTES} else ""
        found.append(KeyDescription(kind + more, identity(public).hex(), line))
    return found


def _of_instance(raw: bytes) -> bytes:
    return Ed25519PrivateKey.from_private_bytes(raw).public_key().public_bytes_raw()
