"""Raw keys of readers, of either kind: X25519 alone, or with ML-KEM-768 (FIPS 203) beside it; their length tells which.

A hybrid public key is that of ML-KEM and that of X25519 behind it; a private one is ML-KEM's seed and X25519's scalar.
Who is to break what was sealed for it has to break both.
"""

from __future__ import annotations

from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey, MLKEM768PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import MLKEM768X25519PrivateKey, MLKEM768X25519PublicKey

from collector.archive.layout import (
    HYBRID_PRIVATE_BYTES,
    HYBRID_PUBLIC_BYTES,
    MLKEM_PUBLIC_BYTES,
    MLKEM_SEED_BYTES,
)

PublicKey = X25519PublicKey | MLKEM768X25519PublicKey
PrivateKey = X25519PrivateKey | MLKEM768X25519PrivateKey


def public_key(raw: bytes) -> PublicKey:
    """The public key of those bytes. Raises ValueError where they are none."""
    if len(raw) != HYBRID_PUBLIC_BYTES:
        return X25519PublicKey.from_public_bytes(raw)
    lattice, curve = raw[:MLKEM_PUBLIC_BYTES], raw[MLKEM_PUBLIC_BYTES:]
    return MLKEM768X25519PublicKey(
        MLKEM768PublicKey.from_public_bytes(lattice), X25519PublicKey.from_public_bytes(curve)
    )


def private_key(raw: bytes) -> PrivateKey:
    """The private key of those bytes. Raises ValueError where they are none."""
    if len(raw) != HYBRID_PRIVATE_BYTES:
        return X25519PrivateKey.from_private_bytes(raw)
    return MLKEM768X25519PrivateKey(*_halves(raw))


def public_of(raw: bytes) -> bytes:
    """The raw public key of a raw private one. Raises ValueError where it is none."""
    if len(raw) != HYBRID_PRIVATE_BYTES:
        return X25519PrivateKey.from_private_bytes(raw).public_key().public_bytes_raw()
    lattice, curve = _halves(raw)
    return lattice.public_key().public_bytes_raw() + curve.public_key().public_bytes_raw()


def generate(*, hybrid: bool) -> bytes:
    """A new raw private key."""
    curve = X25519PrivateKey.generate().private_bytes_raw()
    return MLKEM768PrivateKey.generate().private_bytes_raw() + curve if hybrid else curve


def _halves(raw: bytes) -> tuple[MLKEM768PrivateKey, X25519PrivateKey]:
    seed, scalar = raw[:MLKEM_SEED_BYTES], raw[MLKEM_SEED_BYTES:]
    return MLKEM768PrivateKey.from_seed_bytes(seed), X25519PrivateKey.from_private_bytes(scalar)
