"""Wraps a content key for a recipient and opens it again: HPKE (RFC 9180), bound to the header it stands under."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from collector.archive.keyfile import identity
from collector.archive.layout import STANZA_HPKE_HYBRID, STANZA_HPKE_X25519, STANZA_INFO, ObjectError, Stanza
from collector.archive.readerkeys import PrivateKey, public_key

SUITES: Final[Mapping[int, Suite]] = {
    STANZA_HPKE_X25519: Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM),
    STANZA_HPKE_HYBRID: Suite(KEM.MLKEM768_X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM),
}
"""By the type of a stanza."""


def wrap(content_key: bytes, recipient: bytes, bound: bytes) -> Stanza:
    """The content key for one recipient, a raw public key, *bound* to the header that has this head hash."""
    public = public_key(recipient)
    kind = STANZA_HPKE_X25519 if isinstance(public, X25519PublicKey) else STANZA_HPKE_HYBRID
    return Stanza(kind, identity(recipient), SUITES[kind].encrypt(content_key, public, STANZA_INFO + bound))


def unwrap(stanza: Stanza, private: PrivateKey, bound: bytes) -> bytes:
    """The content key in a stanza, which is to be checked against the header; ObjectError where it does not open."""
    kind = STANZA_HPKE_X25519 if isinstance(private, X25519PrivateKey) else STANZA_HPKE_HYBRID
    if stanza.kind != kind:
        raise ObjectError(f"its stanza for this key is of type {stanza.kind}, the key is for type {kind}: forged")
    try:
        return SUITES[kind].decrypt(stanza.body, private, STANZA_INFO + bound)
    except (InvalidTag, ValueError) as error:
        raise ObjectError("its stanza for this key does not open: sealed wrongly or forged") from error
