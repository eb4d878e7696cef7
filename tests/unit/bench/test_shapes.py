from __future__ import annotations

from typing import Any

from bench.shapes import heaviest, table


def record(sql: str, latency_ns: int | None = None, command: str = "query") -> dict[str, Any]:
    found: dict[str, Any] = {"command": command, "sql": sql}
    return found if latency_ns is None else {**found, "latency_ns": latency_ns}


def test_statements_that_differ_in_literals_are_one_shape() -> None:
    (shape,) = heaviest([record("SELECT 'a' FROM t WHERE b = 1", 10), record("SELECT 'c' FROM t WHERE b = 25", 5)], 10)
    assert (shape.count, shape.latency_ns) == (2, 15)


def test_text_and_prepared_statements_are_one_shape() -> None:
    (shape,) = heaviest([record("SELECT 1", 10), record("SELECT ?", 5, "stmt_execute")], 10)
    assert shape.count == 2


def test_the_heaviest_comes_first_and_no_more_than_wanted() -> None:
    records = [record("SELECT a", 10), record("SELECT b", 30), record("SELECT b", 1), record("SELECT c", 20)]
    assert [shape.latency_ns for shape in heaviest(records, 2)] == [31, 20]


def test_only_what_runs_a_statement_counts() -> None:
    assert heaviest([record("SELECT ?", 10, "stmt_prepare"), {"command": "quit"}], 10) == []


def test_a_statement_without_latency_counts_as_no_time() -> None:
    (shape,) = heaviest([record("SELECT 1")], 10)
    assert shape.latency_ns == 0


def test_a_long_shape_is_cut_in_the_table() -> None:
    lines = table(heaviest([record("SELECT " + "a, " * 100 + "b", 1_500_000)], 1))
    assert len(lines) == 2
    assert lines[1].endswith("...")
    assert "1.5" in lines[1]
