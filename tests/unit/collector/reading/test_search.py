from __future__ import annotations

import pytest

from collector.reading.search import Search, SearchError, parse_client, parse_regex, parse_time, parse_trace
from tests.unit.collector.aggregator.making import START_NS
from tests.unit.collector.reading.making import statement

SECOND = 1_000_000_000
NOW_NS = 1_700_000_000 * SECOND
TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
TRACEPARENT = f"00-{TRACE_ID}-b7ad6b7169203331-01"


@pytest.mark.parametrize(
    ("text", "expected_ns"),
    [
        ("2023-11-14T22:13:20Z", NOW_NS),
        ("2023-11-14t22:13:20z", NOW_NS),
        ("2023-11-14 22:13:20.123456789Z", NOW_NS + 123_456_789),
        ("2023-11-14T22:13:20.5Z", NOW_NS + 500_000_000),
        ("2023-11-15T00:13:20+02:00", NOW_NS),
        ("2023-11-14T22:13:20", NOW_NS),
        ("2023-11-14T22:13", NOW_NS - 20 * SECOND),
        ("2023-11-14", NOW_NS - (22 * 3600 + 13 * 60 + 20) * SECOND),
        ("10m", NOW_NS - 600 * SECOND),
        ("1.5h", NOW_NS - 5400 * SECOND),
        ("2 d", NOW_NS - 2 * 86_400 * SECOND),
        ("0s", NOW_NS),
    ],
)
def test_a_time_is_a_moment_a_date_or_an_age(text: str, expected_ns: int) -> None:
    assert parse_time(text, NOW_NS) == expected_ns


@pytest.mark.parametrize("text", ["", "yesterday", "10", "10x", "2023-13-01", "2023-11-14T25:00:00Z", "-5m"])
def test_what_is_no_time_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(SearchError, match=r"write 2026-01-31|must be in"):
        parse_time(text, NOW_NS)


@pytest.mark.parametrize(
    ("wanted", "client", "found"),
    [
        ("10.0.0.1", "10.0.0.1:4711", True),
        ("10.0.0.1:4711", "10.0.0.1:4711", True),
        ("10.0.0.1:4712", "10.0.0.1:4711", False),
        ("10.0.0.0/24", "10.0.0.1:4711", True),
        ("10.0.1.0/24", "10.0.0.1:4711", False),
        ("10.0.0.1", "10.0.0.11:4711", False),
        ("::1", "[::1]:4711", True),
        ("[::1]:4711", "[::1]:4711", True),
        ("2001:db8::/32", "[2001:db8::7]:1", True),
        ("::1", "10.0.0.1:4711", False),
        ("10.0.0.1", "", False),
    ],
)
def test_a_client_is_found_by_address_port_or_network(wanted: str, client: str, found: bool) -> None:
    assert parse_client(wanted)(client) is found


def test_what_is_no_client_or_regular_expression_is_refused() -> None:
    with pytest.raises(SearchError, match="'host' is no address"):
        parse_client("host")
    with pytest.raises(SearchError, match="no regular expression"):
        parse_regex("(")


@pytest.mark.parametrize("text", [TRACEPARENT, TRACE_ID])
def test_a_trace_is_a_traceparent_or_its_id(text: str) -> None:
    assert parse_trace(text) == parse_trace(text.upper()) == text


@pytest.mark.parametrize(
    "text",
    ["", "b7ad6b7169203331", "0" * 32, TRACE_ID[:-1], "g" + TRACE_ID[1:], TRACEPARENT[:-1], "ff" + TRACEPARENT[2:]],
)
def test_what_is_no_trace_is_refused_with_its_form(text: str) -> None:
    with pytest.raises(SearchError, match=f"^'{text}' is no traceparent and no trace id: write 00-<32 digits>"):
        parse_trace(text)


@pytest.mark.parametrize(
    ("search", "found"),
    [
        (Search(trace=TRACEPARENT), (True, True, False)),
        (Search(trace=TRACE_ID), (True, True, True)),
        (Search(trace="1" + TRACE_ID[1:]), (False, False, False)),
        (Search(trace=TRACE_ID, text="SELECT 2"), (False, True, False)),
    ],
)
def test_a_statement_is_found_by_its_trace_wherever_that_is(search: Search, found: tuple[bool, ...]) -> None:
    other = TRACEPARENT.replace("b7", "c8")
    assert found == tuple(
        map(
            search.matches,
            (
                statement(query_attributes=(("traceparent", TRACEPARENT),)),
                statement(sql=f"SELECT 2 -- traceparent={TRACEPARENT}".encode()),
                statement(sql=f"/*traceparent='{other}'*/ SELECT 3".encode()),
            ),
        )
    )
    assert not search.matches(statement())


@pytest.mark.parametrize(
    ("search", "found"),
    [
        (Search(), True),
        (Search(since_ns=START_NS, until_ns=START_NS), True),
        (Search(since_ns=START_NS + 1), False),
        (Search(until_ns=START_NS - 1), False),
        (Search(user="app"), True),
        (Search(user="ap"), False),
        (Search(database="shop"), True),
        (Search(database="SHOP"), False),
        (Search(commands=frozenset({"query", "ping"})), True),
        (Search(commands=frozenset({"ping"})), False),
        (Search(statuses=frozenset({"ok"})), True),
        (Search(statuses=frozenset({"error"})), False),
        (Search(text="from ORDERS"), True),
        (Search(text="Müller"), True),
        (Search(text="nothing"), False),
        (Search(regex=parse_regex(r"WHERE\s+name = \?$")), True),
        (Search(regex=parse_regex(r"^where")), False),
        (Search(client=parse_client("10.0.0.0/8")), True),
        (Search(client=parse_client("11.0.0.0/8"), user="app"), False),
    ],
)
def test_a_statement_is_found_when_all_that_is_asked_holds(search: Search, found: bool) -> None:
    made = statement(sql=b"SELECT * FROM orders\nWHERE name = ?", parameters=(5, None, "MÜLLER", b"\xff"))
    assert search.matches(made) is found


def test_a_statement_without_text_is_found_by_what_else_it_has() -> None:
    made = statement(command="ping", sql=None)
    assert Search(commands=frozenset({"ping"})).matches(made)
    assert not Search(text="x").matches(made)
    assert not Search(regex=parse_regex("x")).matches(made)
