from __future__ import annotations

import pytest

from collector.reading.slowlog import render_slow_log
from tests.unit.collector.aggregator.making import START_NS
from tests.unit.collector.reading.making import statement
from workers.records import Statement


def render(made: Statement) -> list[str]:
    return render_slow_log(made).split("\n")


def test_an_entry_has_the_form_of_the_server_s_log() -> None:
    made = statement(latency_ns=1_500_000_000, duration_ns=2_000_001_999, rows=3, affected_rows=4, bytes_out=52)
    assert render(made) == [
        "# Time: 231114 22:13:20",
        "# User@Host: app[app] @  [10.0.0.1]  Id:    12",
        "# Query_time: 2.000001  Lock_time: 0.000000  Rows_sent: 3  Rows_examined: 0  Rows_affected: 4  Bytes_sent: 52"
        "  Last_errno: 0",
        "use shop;",
        f"SET timestamp={START_NS // 10**9};",
        "SELECT 1;",
    ]


def test_what_is_no_query_is_an_administrator_command() -> None:
    assert render(statement(command="ping", sql=None))[-1] == "# administrator command: Ping;"
    assert render(statement(command="stmt_close", sql=None, database=None))[-1] == "# administrator command: Close;"
    assert render(statement(command="init_db", sql=b"shop"))[-1] == "# administrator command: Init db;"


@pytest.mark.parametrize("sql", [b"SELECT 1;\n# Time: 2000-01-01T00:00:00Z\n# User@Host: evil", b"# User@Host: evil"])
def test_no_text_can_pass_for_the_head_of_an_entry(sql: bytes) -> None:
    entry = render_slow_log(statement(sql=sql))
    assert [line for line in entry.split("\n") if line.startswith("# User@Host")] == [
        "# User@Host: app[app] @  [10.0.0.1]  Id:    12"
    ]


def test_a_name_cannot_end_its_line() -> None:
    entry = render(statement(database="a b;\nSELECT 2"))
    assert "use a_b__SELECT_2;" in entry
    assert len(entry) == 6
