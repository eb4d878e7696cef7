"""The reader's keys: making a pair, and opening the private half."""

from __future__ import annotations

import datetime as dt
import os
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from collector import places
from collector.archive.keyfile import (
    INSTANCE_PRIVATE,
    MAX_FILE_BYTES,
    READER_PRIVATE,
    READER_PUBLIC,
    KeyFileError,
    identity,
    read_keys,
    write_key,
)

__all__ = ["KeyDescription", "KeyFileError", "KeyPair", "ReaderKey", "describe", "generate", "load_private"]


@dataclass(frozen=True, slots=True)
class KeyPair:
    """Where a new pair was written, and the line that names it to others."""

    private: Path
    public: Path
    public_line: str


class ReaderKey:
    """A private key that opens objects, and the name under which they are sealed for it."""

    def __init__(self, raw: bytes) -> None:
        self.private = X25519PrivateKey.from_private_bytes(raw)
        self.public_raw = self.private.public_key().public_bytes_raw()
        self.recipient = identity(self.public_raw)

    def __reduce__(self) -> tuple[type[ReaderKey], tuple[bytes]]:
        """So that the processes that read with it can be given it."""
        return ReaderKey, (self.private.private_bytes_raw(),)


def generate(folder: Path) -> KeyPair:
    """Write a new pair into *folder*, which is made if missing: the private half for its owner alone.

    Raises FileExistsError when either file is there; nothing is ever overwritten.
    """
    pair = KeyPair(folder / places.READER_PRIVATE, folder / places.READER_PUBLIC, "")
    for path in (pair.private, pair.public):
        if path.exists():
            raise FileExistsError(f"{path} is there already")
    key = X25519PrivateKey.generate()
    public = write_key(READER_PUBLIC, key.public_key().public_bytes_raw())
    private = write_key(READER_PRIVATE, key.private_bytes_raw())
    made = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _create(
        pair.private, f"# made {made}; opens what is sealed for the public key below\n# {public}\n{private}\n", 0o600
    )
    _create(pair.public, f"# made {made}\n{public}\n", 0o644)
    return KeyPair(pair.private, pair.public, public)


def load_private(path: Path) -> list[ReaderKey]:
    """The private keys in a file; KeyFileError says what is wrong with it, OSError when it cannot be read."""
    with path.open("rb") as file:
        data = file.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise KeyFileError(f"{path}: larger than a key file can be ({MAX_FILE_BYTES} bytes)")
    return [ReaderKey(raw) for raw in read_keys(data.decode("utf-8", "replace"), READER_PRIVATE, str(path))]


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
    kinds = {
        READER_PRIVATE: ("private key of a reader: opens what is sealed for its public half", _of_private),
        READER_PUBLIC: ("public key of a reader: hosts seal with it", lambda raw: raw),
        INSTANCE_PRIVATE: ("private key of an instance: signs its objects", _of_instance),
    }
    prefix = next((kind for kind in kinds if f"{kind}:" in text), READER_PUBLIC)
    kind, public_of = kinds[prefix]
    found = []
    for raw in read_keys(text, prefix, str(path)):
        public = public_of(raw)
        line = "" if prefix == INSTANCE_PRIVATE else write_key(READER_PUBLIC, public)
        found.append(KeyDescription(kind, identity(public).hex(), line))
    return found


def _of_private(raw: bytes) -> bytes:
    return ReaderKey(raw).public_raw


def _of_instance(raw: bytes) -> bytes:
    return Ed25519PrivateKey.from_private_bytes(raw).public_key().public_bytes_raw()
