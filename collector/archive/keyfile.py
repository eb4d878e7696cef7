"""Keys as one line of text, with a checksum: a mistyped recipient would seal an archive that nobody can open. Pure."""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import Final

from collector.archive.layout import IDENTITY_BYTES, KEY_BYTES

READER_PUBLIC: Final = "querytap-public-x25519"
READER_PRIVATE: Final = "querytap-private-x25519"
INSTANCE_PRIVATE: Final = "querytap-instance-ed25519"

MAX_FILE_BYTES: Final = 64 << 10

_CHECKSUM_BYTES: Final = 4


class KeyFileError(Exception):
    """A key file is not what it should be; the message names the file and the remedy, never the key."""


def write_key(prefix: str, key: bytes) -> str:
    """The key as `<prefix>:<base64 of key and checksum>`, without a line end."""
    return f"{prefix}:{base64.b64encode(key + _checksum(prefix, key)).decode('ascii')}"


def read_keys(text: str, prefix: str, place: str) -> list[bytes]:
    """Every key of kind *prefix* in the text of a key file; blank lines and lines that begin with # are passed over.

    KeyFileError names *place* and the line; a file without any key is an error too.
    """
    keys = []
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped and not stripped.startswith("#"):
            keys.append(_read_line(stripped, prefix, f"{place}:{number}"))
    if not keys:
        raise KeyFileError(f"{place}: holds no key (expected a line that begins with {prefix}:)")
    return keys


def identity(public_key: bytes) -> bytes:
    """What a public key is called: the first 16 bytes of its SHA-256."""
    return hashlib.sha256(public_key).digest()[:IDENTITY_BYTES]


def _read_line(line: str, prefix: str, place: str) -> bytes:
    kind, colon, encoded = line.partition(":")
    if not colon or kind not in {READER_PUBLIC, READER_PRIVATE, INSTANCE_PRIVATE}:
        raise KeyFileError(f"{place}: not a querytap key (expected {prefix}:...)")
    if kind != prefix:
        raise KeyFileError(f"{place}: this is a {kind} key, a {prefix} key is needed here")
    try:
        data = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError) as error:
        raise KeyFileError(f"{place}: the key is not base64") from error
    key, checksum = data[:KEY_BYTES], data[KEY_BYTES:]
    if len(data) != KEY_BYTES + _CHECKSUM_BYTES or checksum != _checksum(prefix, key):
        raise KeyFileError(f"{place}: the key is damaged or mistyped (its checksum does not fit)")
    return key


def _checksum(prefix: str, key: bytes) -> bytes:
    return hashlib.sha256(prefix.encode("ascii") + b"\x00" + key).digest()[:_CHECKSUM_BYTES]
