from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from collector.archive.layout import ObjectError
from collector.archive.stanzas import unwrap, wrap
from tests.unit.collector.aggregator.making import OTHER_RAW, READER_PUBLIC_RAW, READER_RAW

PRIVATE = X25519PrivateKey.from_private_bytes(READER_RAW)


def test_a_recipient_finds_the_key_that_was_wrapped_for_him() -> None:
    assert unwrap(wrap(b"k" * 32, READER_PUBLIC_RAW, b"h" * 32), PRIVATE, b"h" * 32) == b"k" * 32


@pytest.mark.parametrize(("private", "bound"), [(READER_RAW, b"i" * 32), (OTHER_RAW, b"h" * 32)])
def test_another_key_or_another_header_opens_nothing(private: bytes, bound: bytes) -> None:
    stanza = wrap(b"k" * 32, READER_PUBLIC_RAW, b"h" * 32)
    with pytest.raises(ObjectError, match="does not open"):
        unwrap(stanza, X25519PrivateKey.from_private_bytes(private), bound)
