from __future__ import annotations

from collector.reading.load import REST, Load, Loads
from collector.reading.tables import digest_record, digest_table
from tests.unit.collector.aggregator.making import SECOND, START_NS


def load(count: int, total_ns: int) -> Load:
    made = Load(count=count, timed=count, total_ns=total_ns, slowest_ns=total_ns, slowest_at_ns=START_NS,
                sample=b"SELECT '\xff'", rows=5, errors=1, first_ns=START_NS, last_ns=START_NS + SECOND)  # fmt: skip
    made.times.update({31: count})
    return made


def loads() -> Loads:
    made = Loads()
    made.add(("", "select ?"), load(3, 3_000_000))
    made.add(("stmt_prepare", "select \udcff\x1b"), load(1, 1_000_000))
    made.add(REST, load(1, 0))
    return made


def test_the_table_says_what_took_the_time() -> None:
    assert list(digest_table(loads(), "shape", "time", 2)) == [
        "5 statements, 4.0ms of answering, 3 errors, 2023-11-14T22:13:20.000000000Z to 2023-11-14T22:13:21.000000000Z",
        "     time  share     count     mean      p50      p95      p99      max       rows  errors"
        "  id                shape",
        "    3.0ms  75.0%         3    1.0ms    0.0us    0.0us    0.0us    3.0ms          5       1"
        "  e1c71d1661ae46e0  select ?",
        "    1.0ms  25.0%         1    1.0ms    0.0us    0.0us    0.0us    1.0ms          5       1"
        "  a48e01d0391834ef  (stmt_prepare) select \\udcff\\x1b",
        "1 more are not shown: see --top",
    ]


def test_a_line_is_no_wider_than_the_terminal() -> None:
    assert {len(line) for line in list(digest_table(loads(), "shape", "time", 1, 100))[2:3]} == {100}


def test_without_a_statement_it_says_so() -> None:
    assert list(digest_table(Loads(), "shape", "time", 9)) == ["no statement is what was asked for"]
    assert digest_record(Loads(), "shape", "time", 9)["groups"] == []


def test_times_that_are_not_known_are_told() -> None:
    made = Loads()
    made.add(("app",), Load(count=2, first_ns=START_NS, last_ns=START_NS))
    lines = list(digest_table(made, "user", "count", 9))
    assert lines[1].startswith("of 2 of them the time is not known")
    assert lines[-1].split() == ["0.0us", "0.0%", "2", "-", "-", "-", "-", "-", "0", "0", "app"]


def test_programs_get_names_and_numbers() -> None:
    record = digest_record(loads(), "shape", "time", 9)
    first, second, rest = record["groups"]
    assert (first["id"], first["shape"], first["time_ns"], first["p95_ns"]) == (
        "e1c71d1661ae46e0", "select ?", 3_000_000, 31,
    )  # fmt: skip
    assert second["command"] == "stmt_prepare"
    assert "\N{REPLACEMENT CHARACTER}" in second["shape"]
    assert first["slowest"] == {"time": "2023-11-14T22:13:20.000000000Z", "sql": "SELECT '\N{REPLACEMENT CHARACTER}'"}
    assert rest["rest"] is True
    assert record["total"]["count"] == 5
