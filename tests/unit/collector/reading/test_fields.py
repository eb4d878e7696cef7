from __future__ import annotations

from collector.reading.fields import FIELDS, shown
from tests.unit.collector.aggregator.making import START_NS
from tests.unit.collector.reading.making import statement


def test_a_statement_is_a_row_of_plain_types() -> None:
    row = {field.name: field.value(statement(rows=3)) for field in FIELDS}
    assert row["time"] == START_NS
    assert (row["client"], row["user"], row["sql"], row["rows"]) == ("10.0.0.1:4711", "app", "SELECT 1", 3)
    assert row["affected_rows"] is None
    assert all(value is None or isinstance(value, str | int) for value in row.values())


def test_what_is_not_known_is_shown_as_nothing() -> None:
    assert [shown(FIELDS[0], value) for value in (START_NS, None)] == ["2023-11-14T22:13:20.000000000Z", ""]
    assert shown(FIELDS[1], "x") == "x"
