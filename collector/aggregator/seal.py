"""Seals a batch: wraps a content key for each recipient, encrypts the frames, signs. No I/O."""

from __future__ import annotations

import dataclasses
import hashlib
import secrets
from collections.abc import Iterable, Sequence
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from collector.archive.keyfile import identity
from collector.archive.layout import (
    END_SIGNATURE,
    HEADER_SIGNATURE,
    KEY_BYTES,
    KIND_CONTINUES,
    KIND_FOLLOWS,
    MAX_FRAME_BYTES,
    STANZA_HPKE_X25519,
    STANZA_INFO,
    TAG_BYTES,
    Header,
    Stanza,
    nonce,
    pack_header,
    pack_prefix,
    pack_stanza,
)

_SUITE: Final = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)


def seal(
    header: Header,
    groups: Iterable[tuple[int, bytes]],
    recipients: Sequence[bytes],
    key: Ed25519PrivateKey,
) -> bytes:
    """The whole object: *groups* are (kind, zstd frame), the summary first; *recipients* are raw X25519 public keys.

    The header's `frames` is filled in here. A fresh content key is made and forgotten.
    """
    plaintexts = [plaintext for kind, group in groups for plaintext in split(kind, group)]
    lengths = tuple(len(plaintext) + TAG_BYTES for plaintext in plaintexts)
    packed = pack_header(dataclasses.replace(header, frames=lengths))
    head = pack_prefix(len(recipients), len(packed)) + packed
    content_key = secrets.token_bytes(KEY_BYTES)
    stanzas = b"".join(pack_stanza(wrap(content_key, recipient, head)) for recipient in recipients)
    header_hash = hashlib.sha256(head + stanzas).digest()
    cipher = AESGCM(content_key)
    running = hashlib.sha256()
    parts = [head, stanzas, key.sign(HEADER_SIGNATURE + header_hash)]
    last = len(plaintexts) - 1
    for number, plaintext in enumerate(plaintexts):
        frame = cipher.encrypt(nonce(number, last=number == last), plaintext, header_hash)
        running.update(frame)
        parts.append(frame)
    parts.append(key.sign(END_SIGNATURE + header_hash + running.digest()))
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


def wrap(content_key: bytes, recipient: bytes, head: bytes) -> Stanza:
    """The content key for one recipient, bound to the prefix and header it stands under."""
    info = STANZA_INFO + hashlib.sha256(head).digest()
    body = _SUITE.encrypt(content_key, X25519PublicKey.from_public_bytes(recipient), info)
    return Stanza(STANZA_HPKE_X25519, identity(recipient), body)
