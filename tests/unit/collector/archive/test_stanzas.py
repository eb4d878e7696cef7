from __future__ import annotations

import pytest

from collector.archive.layout import MAX_STANZA_BYTES, ObjectError
from collector.archive.readerkeys import generate, private_key, public_of
from collector.archive.stanzas import unwrap, wrap

CONTENT_KEY, BOUND = b"k" * 32, b"h" * 32
KINDS = pytest.mark.parametrize("hybrid", [False, True])


@KINDS
def test_a_recipient_finds_the_key_that_was_wrapped_for_him(hybrid: bool) -> None:
    raw = generate(hybrid=hybrid)
    stanza = wrap(CONTENT_KEY, public_of(raw), BOUND)
    assert unwrap(stanza, private_key(raw), BOUND) == CONTENT_KEY
    assert len(stanza.body) == (1168 if hybrid else 80) < MAX_STANZA_BYTES


@KINDS
def test_another_key_or_another_header_opens_nothing(hybrid: bool) -> None:
    raw, other = generate(hybrid=hybrid), generate(hybrid=hybrid)
    stanza = wrap(CONTENT_KEY, public_of(raw), BOUND)
    for opener, bound in ((raw, b"i" * 32), (other, BOUND)):
        with pytest.raises(ObjectError, match="does not open"):
            unwrap(stanza, private_key(opener), bound)


@KINDS
def test_half_of_a_hybrid_key_opens_nothing(hybrid: bool) -> None:
    raw, other = generate(hybrid=True), generate(hybrid=True)
    stanza = wrap(CONTENT_KEY, public_of(raw), BOUND)
    halves = raw[:64] + other[64:] if hybrid else other[:64] + raw[64:]
    with pytest.raises(ObjectError, match="does not open"):
        unwrap(stanza, private_key(halves), BOUND)


@KINDS
def test_a_stanza_of_the_other_type_is_told(hybrid: bool) -> None:
    stanza = wrap(CONTENT_KEY, public_of(generate(hybrid=hybrid)), BOUND)
    with pytest.raises(ObjectError, match="is of type"):
        unwrap(stanza, private_key(generate(hybrid=not hybrid)), BOUND)
