"""Keys as one line of text, with a checksum: a mistyped recipient would seal an archive that nobody can open. Pure."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Mapping, Sequence
from typing import Final

from collector.archive.layout import HYBRID_PRIVATE_BYTES, HYBRID_PUBLIC_BYTES, IDENTITY_BYTES, KEY_BYTES

READER_PUBLIC: Final = "querytap-public-x25519"
READER_PRIVATE: Final = "querytap-private-x25519"
HYBRID_PUBLIC: Final = "querytap-public-mlkem768-x25519"
HYBRID_PRIVATE: Final = "querytap-private-mlkem768-x25519"
INSTANCE_PRIVATE: Final = "querytap-instance-ed25519"

MAX_FILE_BYTES: Final = 64 << 10

_CHECKSUM_BYTES: Final = 4
_BYTES: Final[Mapping[str, int]] = {
    READER_PUBLIC: KEY_BYTES,
    HYBRID_PUBLIC: HYBRID_PUBLIC_BYTES,
    READER_PRIVATE: KEY_BYTES,
    HYBRID_PRIVATE: HYBRID_PRIVATE_BYTES,
    INSTANCE_PRIVATE: KEY_BYTES,
}
PUBLIC: Final = (READER_PUBLIC, HYBRID_PUBLIC)
"""Either will do where a reader's public key is asked for."""
PRIVATE: Final = (READER_PRIVATE, HYBRID_PRIVATE)
INSTANCE: Final = (INSTANCE_PRIVATE,)


class KeyFileError(Exception):
    """A key file is not what it should be; the message names the file and the remedy, never the key."""


def write_key(prefix: str, key: bytes) -> str:
    """The key as `<prefix>:<base64 of key and checksum>`, without a line end."""
    return f"{prefix}:{base64.b64encode(key + _checksum(prefix, key)).decode('ascii')}"


def write_public(key: bytes) -> str:
    """A reader's raw public key as a line."""
    return write_key(HYBRID_PUBLIC if len(key) == HYBRID_PUBLIC_BYTES else READER_PUBLIC, key)


def write_private(key: bytes) -> str:
    """A reader's raw private key as a line."""
    return write_key(HYBRID_PRIVATE if len(key) == HYBRID_PRIVATE_BYTES else READER_PRIVATE, key)


def read_keys(text: str, kinds: Sequence[str], place: str) -> list[bytes]:
    """Every key of one of *kinds* in the text of a key file; blank lines and lines that begin with # are passed over.

    KeyFileError names *place* and the line; a file without any key is an error too.
    """
    keys = []
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped and not stripped.startswith("#"):
            keys.append(_read_line(stripped, kinds, f"{place}:{number}"))
    if not keys:
        raise KeyFileError(f"{place}: holds no key (expected a line that begins with {_either(kinds)}:)")
    return keys


def identity(public_key: bytes) -> bytes:
    """What a public key is called: the first 16 bytes of its SHA-256."""
    return hashlib.sha256(public_key).digest()[:IDENTITY_BYTES]


def _either(kinds: Sequence[str]) -> str:
    return " or ".join(kinds)


def _read_line(line: str, kinds: Sequence[str], place: str) -> bytes:
    kind, colon, encoded = line.partition(":")
    if not colon or kind not in _BYTES:
        raise KeyFileError(f"{place}: not a querytap key (expected {_either(kinds)}:...)")
    if kind not in kinds:
        raise KeyFileError(f"{place}: this is a {kind} key, a {_either(kinds)} key is needed here")
    try:
        data = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError) as error:
        raise KeyFileError(f"{place}: the key is not base64") from error
    key, checksum = data[: _BYTES[kind]], data[_BYTES[kind] :]
    if len(data) != _BYTES[kind] + _CHECKSUM_BYTES or checksum != _checksum(kind, key):
        raise KeyFileError(f"{place}: the key is damaged or mistyped (its checksum does not fit)")
    return key


def _checksum(prefix: str, key: bytes) -> bytes:
    return hashlib.sha256(prefix.encode("ascii") + b"\x00" + key).digest()[:_CHECKSUM_BYTES]
