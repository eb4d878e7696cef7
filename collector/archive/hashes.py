"""What an object is known by: hashes that leave its stanzas out, so that these can be written anew. Pure."""

from __future__ import annotations

import hashlib
from typing import Final

from collector.archive.layout import PREFIX, STANZA, ObjectError, pack_prefix, unpack_prefix, unpack_stanza_head

_CONTENT_KEY: Final = b"querytap object v1 content key hash\x00"


def head_hash(header: bytes) -> bytes:
    """Of the packed header and a prefix without stanzas: what signatures, frames and stanzas are bound to."""
    return hashlib.sha256(pack_prefix(0, len(header)) + header).digest()


def content_key_hash(content_key: bytes) -> bytes:
    """What the signed header says of the content key, which nobody can find another key for."""
    return hashlib.sha256(_CONTENT_KEY + content_key).digest()


def begin_object_hash(header: bytes, signature: bytes) -> hashlib._Hash:
    """Up to the header signature; frames and end signature are to be added."""
    return hashlib.sha256(pack_prefix(0, len(header)) + header + signature)


def object_hash(data: bytes) -> bytes:
    """Of a whole object without its stanzas: what the next one names, and its own name begins with.

    Raises ObjectError where *data* ends before its stanzas do.
    """
    stanzas, header_bytes = unpack_prefix(data[: PREFIX.size])
    start = at = PREFIX.size + header_bytes
    for _ in range(stanzas):
        at += STANZA.size + unpack_stanza_head(data[at : at + STANZA.size])[1]
    if len(data) < at:
        raise ObjectError("truncated in its stanzas")
    found = hashlib.sha256(pack_prefix(0, header_bytes))
    found.update(memoryview(data)[PREFIX.size : start])
    found.update(memoryview(data)[at:])
    return found.digest()
