"""The bytes of an object, shared by the writer and the readers. Pure: no cryptography, no compression, no file.

docs/archive-format.md is the specification; the names here are its names.
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from collector.archive.packing import pack, unpack_bounded

MAGIC: Final = b"querytap"
FORMAT_VERSION: Final = 1

PREFIX: Final = struct.Struct("<8sHHI")  # magic, format version, number of stanzas, length of the header
STANZA: Final = struct.Struct("<HH16s")  # type, length of the body, recipient
SIGNATURE_BYTES: Final = 64  # Ed25519, RFC 8032
HASH_BYTES: Final = 32  # SHA-256
KEY_BYTES: Final = 32  # X25519, Ed25519, AES-256
MLKEM_PUBLIC_BYTES: Final = 1184  # ML-KEM-768, FIPS 203
MLKEM_SEED_BYTES: Final = 64
HYBRID_PUBLIC_BYTES: Final = MLKEM_PUBLIC_BYTES + KEY_BYTES
HYBRID_PRIVATE_BYTES: Final = MLKEM_SEED_BYTES + KEY_BYTES
TAG_BYTES: Final = 16  # AES-GCM
IDENTITY_BYTES: Final = 16

STANZA_HPKE_X25519: Final = 1
STANZA_HPKE_HYBRID: Final = 2  # ML-KEM-768 and X25519
STANZA_INFO: Final = b"querytap object v1 content key\x00"
HEADER_SIGNATURE: Final = b"querytap object v1 header\x00"
END_SIGNATURE: Final = b"querytap object v1 end\x00"

KIND_SUMMARY: Final = 1
KIND_BLOCKS: Final = 2
KIND_METRICS: Final = 3
KIND_CONTINUES: Final = 0x80  # the next frame carries on with the same zstd frame
KIND_FOLLOWS: Final = 0x40  # this frame carries on with the one before
KIND_MASK: Final = 0x3F

MOST_STANZAS: Final = 64
MOST_FRAMES: Final = 65_536
MAX_HEADER_BYTES: Final = 1 << 20
MAX_STANZA_BYTES: Final = 4096
MAX_FRAME_BYTES: Final = 1 << 20  # plaintext, the kind byte included
MIN_SEALED_BYTES: Final = 1 + TAG_BYTES
MAX_SEALED_BYTES: Final = MAX_FRAME_BYTES + TAG_BYTES
MAX_STATEMENT_BYTES: Final = 32 << 20  # the largest decode.max_statement_kib
MAX_BODY_BYTES: Final = 112 << 20  # one block, see most_body_bytes(MAX_STATEMENT_BYTES)
MAX_HEAD_BYTES: Final = 256 << 10
MOST_STATEMENTS: Final = 1 << 18  # in one block, see docs/block-format.md
MAX_CONTENT_BYTES: Final = MAX_BODY_BYTES + (4 << 20)  # what one zstd frame may hold

_U64: Final = 0xFFFF_FFFF_FFFF_FFFF


def most_body_bytes(max_statement_bytes: int) -> int:
    """How large the body of a block can be where of a statement that many bytes are kept.

    What crosses a block's bound may be one execution: the text it was prepared from, the values in it, and those sent
    ahead of it. The rest is for what was there before, columns and sessions included.
    """
    return 3 * max_statement_bytes + (16 << 20)


class ObjectError(Exception):
    """An object, or a frame of it, cannot be read; the message says why in one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What an object says in clear: everything but SQL and who sent it."""

    instance: str
    """The first 16 bytes of the SHA-256 of `public_key`, in hexadecimal."""
    public_key: bytes
    """The instance's Ed25519 key, raw."""
    host: str
    boot: str
    """The kernel's boot id."""
    run: str
    """Changes with each start of the supervisor; a ledger counts within it."""
    sequence: int
    previous: bytes
    """Hash of the object before this one, see hashes.object_hash; zeros in an instance's first."""
    first_ns: int
    """Start of the time span: no statement inside is older. Nanoseconds since 1970, as the kernel stamped them."""
    last_ns: int
    sealed_ns: int
    clock: Mapping[str, Any]
    counts: Mapping[str, Any]
    ledger: Mapping[str, Any]
    software: str
    content_key_hash: bytes
    """Of the key that opens the frames: no other than the one it was signed with can."""
    frames: tuple[int, ...]
    """Length of each sealed frame, tag included."""


@dataclass(frozen=True, slots=True)
class Stanza:
    """The content key, wrapped for one recipient."""

    kind: int
    recipient: bytes
    body: bytes


def pack_prefix(stanzas: int, header_bytes: int) -> bytes:
    """The 16 bytes an object begins with; what is hashed has 0 stanzas there."""
    return PREFIX.pack(MAGIC, FORMAT_VERSION, stanzas, header_bytes)


def unpack_prefix(data: bytes) -> tuple[int, int]:
    """Number of stanzas and length of the header; ObjectError says why this is not an object of ours."""
    if data[: len(MAGIC)] != MAGIC:
        raise ObjectError("not a querytap object")
    if len(data) != PREFIX.size:
        raise ObjectError("truncated in its prefix")
    _, version, stanzas, header_bytes = PREFIX.unpack(data)
    if version > FORMAT_VERSION:
        raise ObjectError(f"written in format {version}, this querytap reads up to format {FORMAT_VERSION}")
    if version != FORMAT_VERSION:
        raise ObjectError(f"damaged: format version {version}")
    if not 1 <= stanzas <= MOST_STANZAS:
        raise ObjectError(f"damaged: {stanzas} stanzas, from 1 to {MOST_STANZAS} are allowed")
    if not 1 <= header_bytes <= MAX_HEADER_BYTES:
        raise ObjectError(f"damaged: a header of {header_bytes} bytes, the limit is {MAX_HEADER_BYTES}")
    return stanzas, header_bytes


def pack_stanza(stanza: Stanza) -> bytes:
    """One stanza as it stands in the object."""
    return STANZA.pack(stanza.kind, len(stanza.body), stanza.recipient) + stanza.body


def unpack_stanza_head(data: bytes) -> tuple[int, int, bytes]:
    """Type, length of the body and recipient; ObjectError when cut or too long."""
    if len(data) != STANZA.size:
        raise ObjectError("truncated in its stanzas")
    kind, length, recipient = STANZA.unpack(data)
    if length > MAX_STANZA_BYTES:
        raise ObjectError(f"damaged: a stanza of {length} bytes, the limit is {MAX_STANZA_BYTES}")
    return kind, length, recipient


def pack_header(header: Header) -> bytes:
    """The header as a msgpack map; ValueError when it would not be accepted back."""
    fields = {field.name: getattr(header, field.name) for field in dataclasses.fields(header)}
    fields["frames"] = struct.pack(f"<{len(header.frames)}I", *header.frames)
    data = pack(fields)
    if len(data) > MAX_HEADER_BYTES:
        raise ValueError(f"a header of {len(data)} bytes, the limit is {MAX_HEADER_BYTES}")
    return data


def unpack_header(data: bytes) -> Header:
    """Read a header back; ObjectError names the field that is wrong. Fields it does not know are passed over."""
    try:
        fields = unpack_bounded(data, bin_bytes=4 * MOST_FRAMES)
    except ValueError as error:
        raise ObjectError(f"damaged: its header is not readable ({error})") from error
    if not isinstance(fields, dict):
        raise ObjectError("damaged: its header is not a map")
    known: dict[str, Any] = {}
    for name, check in _CHECKS.items():
        value = fields.get(name)
        if not check(value):
            raise ObjectError(f"damaged: header field {name} is missing or wrong")
        known[name] = value
    known["frames"] = struct.unpack(f"<{len(known['frames']) // 4}I", known["frames"])
    header = Header(**known)
    if header.last_ns < header.first_ns:
        raise ObjectError("damaged: its time span ends before it begins")
    for number, length in enumerate(header.frames):
        if not MIN_SEALED_BYTES <= length <= MAX_SEALED_BYTES:
            raise ObjectError(f"damaged: frame {number} of {length} bytes, the limit is {MAX_SEALED_BYTES}")
    return header


def nonce(counter: int, *, last: bool) -> bytes:
    """The AES-GCM nonce of a frame: eleven bytes of big-endian counter, one byte that is 1 in the last frame."""
    return counter.to_bytes(11, "big") + (b"\x01" if last else b"\x00")


def _is_hash(value: object) -> bool:
    return isinstance(value, bytes) and len(value) == HASH_BYTES


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _U64


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_map(value: object) -> bool:
    return isinstance(value, dict)


def _is_directory(value: object) -> bool:
    return isinstance(value, bytes) and len(value) % 4 == 0 and 1 <= len(value) // 4 <= MOST_FRAMES


def _is_instance(value: object) -> bool:
    return isinstance(value, str) and len(value) == 2 * IDENTITY_BYTES and set(value) <= set("0123456789abcdef")


_CHECKS: Final = {
    "instance": _is_instance,
    "public_key": _is_hash,
    "host": _is_text,
    "boot": _is_text,
    "run": _is_text,
    "sequence": _is_number,
    "previous": _is_hash,
    "first_ns": _is_number,
    "last_ns": _is_number,
    "sealed_ns": _is_number,
    "clock": _is_map,
    "counts": _is_map,
    "ledger": _is_map,
    "software": _is_text,
    "content_key_hash": _is_hash,
    "frames": _is_directory,
}
