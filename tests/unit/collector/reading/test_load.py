from __future__ import annotations

import random
from collections import Counter

import pytest

from collector.reading import load as loading
from collector.reading.load import BY, RANKS, REST, Grouping, Load, Loads, group_id, ranked
from collector.reading.shapes import wanted_id
from tests.unit.collector.aggregator.making import SECOND, START_NS
from tests.unit.collector.reading.making import body, packed_session, planes
from workers.columns import Columns

LINES = (b"SELECT 1", b"SELECT 2", b"DELETE FROM t", b"shop", b"SELECT 3")
COLUMNS = {
    "command": planes([3, 3, 3, 2, 22]),
    "status": planes([3, 3, 2, 1, 0]),
    "latency": planes([11, 21, 5, 2, 9]),
    "duration": planes([0, 101, 0, 0, 0]),
    "rows": planes([3, 4, 0, 0, 0]),
    "affected_rows": planes([0, 0, 7, 0, 0]),
    "session": planes([0, 1, 0, 0, 0]),
    "bytes_out": planes([5, 6, 7, 8, 0]),
}
SESSIONS = [packed_session(), packed_session(b"root", 0x0A00_0002)]


def loads(by: str) -> dict[tuple[str, ...], Load]:
    columns = Columns(body(*LINES, columns=COLUMNS, sessions=SESSIONS))
    return Grouping(by).loads(columns, range(len(LINES)), "db1")


def test_statements_are_summed_by_their_shape() -> None:
    found = loads("shape")
    assert set(found) == {("", "select ?"), ("", "delete from t"), ("init_db", ""), ("stmt_prepare", "select ?")}
    select = found["", "select ?"]
    assert (select.count, select.timed, select.total_ns, select.rows, select.errors) == (2, 2, 110, 5, 0)
    assert (select.slowest_ns, select.slowest_at_ns, select.sample) == (100, START_NS + SECOND, b"SELECT 2")
    assert (select.first_ns, select.last_ns, select.bytes_out) == (START_NS, START_NS + SECOND, 11)
    assert (select.percentile(50), select.percentile(99)) == (10, 100)
    delete = found["", "delete from t"]
    assert (delete.errors, delete.affected_rows, delete.total_ns) == (1, 7, 4)
    prepared = found["stmt_prepare", "select ?"]
    assert (prepared.count, prepared.timed, prepared.percentile(50)) == (1, 0, None)


@pytest.mark.parametrize(
    ("by", "counts"),
    [
        ("user", {"app": 4, "root": 1}),
        ("client", {"10.0.0.1": 4, "10.0.0.2": 1}),
        ("database", {"shop": 5}),
        ("host", {"db1": 5}),
        ("command", {"query": 3, "init_db": 1, "stmt_prepare": 1}),
    ],
)
def test_statements_are_summed_by_what_else_they_have_in_common(by: str, counts: dict[str, int]) -> None:
    assert by in BY
    assert {group[0]: load.count for group, load in loads(by).items()} == counts


def test_an_id_finds_the_statements_of_a_shape() -> None:
    assert group_id(("", "select ?")) == wanted_id("SELECT 1")
    assert group_id(("init_db", "")) is None
    assert group_id(("app",)) is None


def test_sums_of_parts_are_that_of_the_whole_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "MOST_GROUPS", 8)
    drawn = random.Random(1)
    numbers = [drawn.randrange(30) for _ in range(500)]
    kept = Loads()
    for number in numbers:
        kept.add((str(number),), Load(count=1, timed=1, total_ns=number, slowest_ns=number))
        assert len(kept.groups) <= 9
    whole = kept.total()
    assert (whole.count, whole.total_ns, whole.slowest_ns) == (500, sum(numbers), max(numbers))
    assert REST in kept.groups
    both = Loads()
    both.merge(kept)
    assert both.total().count == 500
    counted = Counter(numbers)
    heaviest = ranked(kept.groups, "time")[0]
    assert heaviest[1].total_ns <= max(number * count for number, count in counted.items())


@pytest.mark.parametrize("rank", RANKS)
def test_groups_are_ranked_and_the_rest_comes_last(rank: str) -> None:
    one = Load(count=1, timed=1, total_ns=5, slowest_ns=5, rows=1, errors=0)
    one.times.update({5: 1})
    two = Load(count=2, timed=2, total_ns=20, slowest_ns=10, rows=3, errors=2)
    two.times.update({10: 2})
    order = [group for group, _ in ranked({("a",): one, ("b",): two, REST: Load(count=99, rows=99, errors=99)}, rank)]
    assert order == [("b",), ("a",), REST]
