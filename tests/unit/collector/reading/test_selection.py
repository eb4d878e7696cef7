from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.reading.search import Search, parse_client, parse_regex
from collector.reading.selection import Selection
from collector.reading.shapes import wanted_id
from tests.unit.collector.aggregator.making import SECOND, START_NS
from tests.unit.collector.reading.making import body, packed_session, planes
from workers import records
from workers.columns import BlockError, Columns

TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
TEXTS = st.sampled_from([
    b"SELECT 1", b"select 2", "SELECT 'größe'".encode(), "SELECT 'GRÖSSE'".encode(), b"SELECT '\xff'", b"", b"ping",
    b"SELECT ?", "\N{LATIN SMALL LETTER LONG S}elect 3".encode(), f"SELECT 1 /*traceparent='{TRACEPARENT}'*/".encode(),
])  # fmt: skip
STRINGS = [b"shop", b"SELECT ?", "größe".encode(), b"\xff"]
BOUND = b"\x01\0\0\xfd\0\x03abc"
ROW = st.fixed_dictionaries({
    "text": TEXTS, "session": st.integers(0, 1), "database": st.integers(0, 4), "command": st.sampled_from([1, 3, 23]),
    "status": st.integers(0, 5), "charset": st.sampled_from([0, 8, 28, 35, 45, 63]), "latency": st.integers(0, 4),
    "error_code": st.sampled_from([0, 1062, 1064]), "shared": st.integers(0, 4), "bound": st.booleans(),
})  # fmt: skip
SEARCHES = st.builds(
    Search,
    since_ns=st.none() | st.integers(START_NS - 1, START_NS + 3 * SECOND),
    until_ns=st.none() | st.integers(START_NS, START_NS + 9 * SECOND),
    user=st.none() | st.sampled_from(["app", "root", "nobody"]),
    database=st.none() | st.sampled_from(["shop", "größe", "\N{REPLACEMENT CHARACTER}", "x"]),
    client=st.none() | st.sampled_from([parse_client("10.0.0.0/24"), parse_client("10.0.0.1:4711")]),
    text=st.none() | st.sampled_from(["select", "SELECT", "GRÖSSE", "ABC", "1", "x", ""]),
    regex=st.none() | st.sampled_from([parse_regex("^SELECT"), parse_regex(r"\w+$"), parse_regex("")]),
    trace=st.none() | st.just(TRACEPARENT),
    commands=st.frozensets(st.sampled_from(["query", "quit", "stmt_execute"])),
    statuses=st.frozensets(st.sampled_from(["ok", "error", "unknown", "result"])),
    error_codes=st.frozensets(st.sampled_from([1062, 1])),
    min_latency_ns=st.none() | st.integers(0, 4),
    shape=st.none() | st.just(wanted_id("select 99")),
)
FEW = st.builds(
    lambda search, names: dataclasses.replace(Search(), **{field: getattr(search, field) for field in names}),
    SEARCHES,
    st.lists(st.sampled_from([field.name for field in dataclasses.fields(Search)]), max_size=3),
)


def block_of(rows: list[dict[str, Any]]) -> bytes:
    own = [row["text"] if not row["shared"] else None for row in rows]
    numbers = {name: planes([row[name] for row in rows]) for name in (
        "session", "database", "command", "status", "charset", "latency", "error_code",
    )}  # fmt: skip
    return body(
        *[text or b"" for text in own],
        strings=STRINGS,
        sessions=[packed_session(), packed_session(b"root", 0x0A01_0001)],
        parameters=b"".join(BOUND for row in rows if row["bound"]),
        columns={
            **numbers,
            "sql_size": planes([0 if text is None else len(text) + 1 for text in own]),
            "sql_string": planes([row["shared"] for row in rows]),
            "parameters_size": planes([len(BOUND) * row["bound"] for row in rows]),
        },
    )


@given(st.lists(ROW, max_size=8), SEARCHES | FEW)
def test_columns_give_the_rows_that_a_look_at_each_record_does(rows: list[dict[str, Any]], search: Search) -> None:
    made = block_of(rows)
    every = list(records.statements(made))
    expected = [number for number, statement in enumerate(every) if search.matches(statement)]
    selection = Selection(search)
    assert selection.rows(Columns(made)) == expected
    assert list(selection.statements(Columns(made))) == [every[number] for number in expected]


@pytest.mark.parametrize("search", [Search(user="app"), Search(client=parse_client("10.0.0.1")), Search()])
def test_a_row_of_no_session_is_damage(search: Search) -> None:
    with pytest.raises(BlockError, match="session 1 of 1"):
        list(Selection(search).statements(Columns(body(b"a", columns={"session": b"\x01"}))))
