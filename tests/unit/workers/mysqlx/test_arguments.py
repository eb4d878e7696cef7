from __future__ import annotations

import pytest

from tests.support import x_packets as x
from workers.mysql.errors import StreamViolation
from workers.mysql.values import Value, values
from workers.mysqlx.arguments import MOST_ARGUMENTS, bound_values


def read(*messages: bytes, scalars: bool = True) -> tuple[Value, ...]:
    """What a reader makes of these Scalars or Anys."""
    spans, at = [], 0
    for each in messages:
        spans.append((at, at + len(each)))
        at += len(each)
    bound = bound_values(b"".join(messages), spans, scalars=scalars)
    return values(bound, lambda data: data.decode("utf-8", "replace"))


@pytest.mark.parametrize(
    "value",
    [
        0,
        -1,
        -(1 << 63),
        (1 << 63) - 1,
        (1 << 64) - 1,
        0.1,
        None,
        True,
        False,
        "",
        "é" * 200,
        "x" * 70_000,
        b"",
        b"\0\xff",
    ],
    ids=repr,
)
def test_a_scalar_is_read_back(value: x.Value) -> None:
    (found,) = read(x.scalar(value))
    assert found == value
    assert type(found) is (int if isinstance(value, bool) else type(value))


def test_a_float_of_4_bytes_is_read_back() -> None:
    assert read(x.single(1.5)) == (1.5,)


def test_bytes_that_are_json_are_text() -> None:
    assert read(x.octets(b'{"a": 1}', 2), x.octets(b"\xff", 1)) == ('{"a": 1}', b"\xff")


def test_nulls_keep_their_places() -> None:
    sent = [None, 1, None, *range(9), None]
    assert read(*map(x.scalar, sent)) == tuple(sent)


def test_objects_and_arrays_are_json() -> None:
    assert read(x.anything({"a": [1.5, "\u20ac\x01"]}), x.anything([]), x.anything(3), scalars=False) == (
        '{"a": [1.5, "\u20ac\\u0001"]}',
        "[]",
        3,
    )


@pytest.mark.parametrize(
    "message",
    [b"", x.number(1, 9), x.number(1, 1), x.number(1, 8) + x.number(9, 1), b"\xff", x.number(1, 2) + x.part(3, b"x")],
)
def test_what_is_no_scalar_is_refused(message: bytes) -> None:
    with pytest.raises(StreamViolation):
        read(message)


@pytest.mark.parametrize("message", [b"", x.number(1, 1), x.number(1, 2), x.number(1, 4) + x.part(5, b"")])
def test_what_is_no_argument_is_refused(message: bytes) -> None:
    with pytest.raises(StreamViolation):
        read(message, scalars=False)


def test_too_deep_and_too_many_are_refused() -> None:
    nested: x.Nested = 1
    for _ in range(40):
        nested = [nested]
    with pytest.raises(StreamViolation):
        read(x.anything(nested), scalars=False)
    with pytest.raises(StreamViolation):
        read(*[x.scalar(1)] * (MOST_ARGUMENTS + 1))
    assert len(read(*[x.scalar(1)] * 1000)) == 1000


def test_a_thousand_levels_do_not_exhaust_the_stack() -> None:
    inside = x.anything(1)
    for _ in range(3000):
        inside = x.number(1, 3) + x.part(4, x.part(1, inside))
    with pytest.raises(StreamViolation):
        read(inside, scalars=False)
