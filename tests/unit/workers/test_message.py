from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.message import OVERHEAD_BYTES, join, split


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_head_and_body_come_back_as_they_were(head: bytes, body: bytes) -> None:
    message = join(head, body)
    assert len(message) == OVERHEAD_BYTES + len(head) + len(body)
    assert split(message) == (head, body)


@pytest.mark.parametrize("message", [b"", b"\x00\x00\x00", b"\x01\x00\x00\x00", b"\xff\xff\xff\xffhead"])
def test_a_message_that_is_shorter_than_its_head_is_refused(message: bytes) -> None:
    with pytest.raises(ValueError, match="a message of"):
        split(message)
