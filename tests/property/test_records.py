"""A block may come from anyone: reading it raises BlockError or nothing, in bounded memory."""

from __future__ import annotations

import tracemalloc

import msgpack
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.packets import Connection
from tests.support.pipeline import Capture
from tests.support.play import C
from tests.support.strategies import Turn, conversations, damaged, script
from workers import records
from workers.settings import Settings

SLOW = settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
MOST_MEMORY = 64 << 20
"""A body of some KiB may take so much: a column of the most rows that can be is 2 MiB, and there are 20."""
TEXTS = ("sql", "parameters", "query_attributes", "error", "strings", "sessions", "columns")
PARTS = ("format", "rows", "base_ns", *TEXTS)


def body_of(turns: list[Turn]) -> bytes:
    capture, connection = Capture(Settings(ports=(3306,))), Connection()
    capture.feed(*connection.open())
    for side, data in script(turns):
        assert isinstance(data, bytes)
        capture.feed((connection.client if side == C else connection.server)(data[:60_000]))
    return capture.pipeline.take_block(capture.now_ns, final=True)[1]


def read(body: bytes) -> None:
    """Read the body to its end, or up to a BlockError."""
    tracemalloc.start()
    try:
        for statement in records.statements(body):
            records.decode_sql(statement)
            assert statement.traceparent is None or len(statement.traceparent) == 55
    except records.BlockError:
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < MOST_MEMORY + 20 * len(body)


@SLOW
@given(conversations(), st.data())
def test_a_damaged_body_raises_nothing_but_block_errors(turns: list[Turn], data: st.DataObject) -> None:
    read(data.draw(damaged(body_of(turns))))


@SLOW
@given(conversations(), st.data())
def test_a_body_with_a_damaged_part_raises_nothing_but_block_errors(turns: list[Turn], data: st.DataObject) -> None:
    parts = msgpack.unpackb(body_of(turns))
    name = data.draw(st.sampled_from(TEXTS))
    whole = parts[name]
    if isinstance(whole, bytes):
        parts[name] = data.draw(damaged(whole))
    elif isinstance(whole, list) and whole:
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(damaged(whole[0]))
    elif isinstance(whole, dict):
        column = data.draw(st.sampled_from(sorted(whole)))
        flips = data.draw(st.lists(st.integers(0, len(whole[column]) - 1), min_size=1, max_size=5))
        changed = bytearray(whole[column])
        for at in flips:
            changed[at] ^= data.draw(st.integers(1, 255))
        whole[column] = bytes(changed)
    read(msgpack.packb(parts))


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(1 << 63), (1 << 64) - 1),
    st.floats(),
    st.text(max_size=5),
    st.binary(max_size=40),
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


@SLOW
@given(st.dictionaries(st.sampled_from(PARTS), ANYTHING), st.integers(0, 3))
def test_a_body_of_anything_raises_nothing_but_block_errors(parts: dict[str, object], rows: int) -> None:
    read(msgpack.packb({"format": 1, "rows": rows, "base_ns": 0} | parts))


@SLOW
@given(st.binary(max_size=300))
def test_random_bytes_raise_nothing_but_block_errors(body: bytes) -> None:
    read(body)


@settings(max_examples=10, deadline=None)
@given(st.integers(records.MOST_ROWS - 3, records.MOST_ROWS + 3))
def test_a_body_that_claims_very_many_rows_takes_bounded_memory(rows: int) -> None:
    whole = {"format": 1, "rows": rows, "base_ns": 0, "columns": {}, "strings": [], "sessions": []}
    tracemalloc.start()
    try:
        next(records.statements(msgpack.packb(whole | {"sql": b"", "parameters": b"", "error": b""})))
    except records.BlockError:
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < MOST_MEMORY
