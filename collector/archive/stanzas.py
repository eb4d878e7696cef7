"""Wraps a content key for a recipient and opens it again: HPKE (RFC 9180), bound to the header it stands under."""

from __future__ import annotations

from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from collector.archive.keyfile import identity
from collector.archive.layout import STANZA_HPKE_X25519, STANZA_INFO, ObjectError, Stanza

_SUITE: Final = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)


def wrap(content_key: bytes, recipient: bytes, bound: bytes) -> Stanza:
    """The content key for one recipient, a raw public key, *bound* to the header that has this head hash."""
    body = _SUITE.encrypt(content_key, X25519PublicKey.from_public_bytes(recipient), STANZA_INFO + bound)
    return Stanza(STANZA_HPKE_X25519, identity(recipient), body)


def unwrap(stanza: Stanza, private: X25519PrivateKey, bound: bytes) -> bytes:
    """The content key in a stanza, which is to be checked against the header; ObjectError where it does not open."""
    try:
        return _SUITE.decrypt(stanza.body, private, STANZA_INFO + bound)
    except (InvalidTag, ValueError) as error:
        raise ObjectError("its stanza for this key does not open: sealed wrongly or forged") from error
