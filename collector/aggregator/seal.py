"""Seals a batch: wraps a content key for each recipient, encrypts the frames, signs. No I/O."""

from __future__ import annotations

import dataclasses
import hashlib
import secrets
from collections.abc import Iterable, Sequence

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from collector.archive.hashes import content_key_hash, head_hash
from collector.archive.layout import (
    END_SIGNATURE,
    HEADER_SIGNATURE,
    KEY_BYTES,
    KIND_CONTINUES,
    KIND_FOLLOWS,
    MAX_FRAME_BYTES,
    TAG_BYTES,
    Header,
    nonce,
    pack_header,
    pack_prefix,
    pack_stanza,
)
from collector.archive.stanzas import wrap


def seal(
    header: Header,
    groups: Iterable[tuple[int, bytes]],
    recipients: Sequence[bytes],
    key: Ed25519PrivateKey,
) -> bytes:
    """The whole object: *groups* are (kind, zstd frame), the summary first; *recipients* are raw public keys.

    The header's `frames` and `content_key_hash` are filled in here. A fresh content key is made and forgotten.
    """
    plaintexts = [plaintext for kind, group in groups for plaintext in split(kind, group)]
    lengths = tuple(len(plaintext) + TAG_BYTES for plaintext in plaintexts)
    content_key = secrets.token_bytes(KEY_BYTES)
    packed = pack_header(
        dataclasses.replace(header, frames=lengths, content_key_hash=content_key_hash(content_key)),
    )
    bound = head_hash(packed)
    stanzas = [pack_stanza(wrap(content_key, recipient, bound)) for recipient in recipients]
    cipher = AESGCM(content_key)
    running = hashlib.sha256()
    parts = [pack_prefix(len(stanzas), len(packed)), packed, *stanzas, key.sign(HEADER_SIGNATURE + bound)]
    last = len(plaintexts) - 1
    for number, plaintext in enumerate(plaintexts):
        frame = cipher.encrypt(nonce(number, last=number == last), plaintext, bound)
        running.update(frame)
        parts.append(frame)
    parts.append(key.sign(END_SIGNATURE + bound + running.digest()))
    return b"".join(parts)


def split(kind: int, group: bytes) -> list[bytes]:
    """The plaintexts of the frames that carry one zstd frame: a kind byte and a piece each."""
    step = MAX_FRAME_BYTES - 1
    pieces = [group[at : at + step] for at in range(0, len(group), step)] or [b""]
    last = len(pieces) - 1
    return [
        bytes([kind | (KIND_FOLLOWS if number else 0) | (KIND_CONTINUES if number < last else 0)]) + piece
        for number, piece in enumerate(pieces)
    ]
