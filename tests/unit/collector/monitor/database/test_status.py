from __future__ import annotations

import pytest

from collector.monitor.database.status import of_status, of_variables

pytestmark = pytest.mark.either_build


def rows(**values: str) -> list[dict[str, str]]:
    return [{"Variable_name": name, "Value": value} for name, value in values.items()]


def test_counters_of_a_group_are_one_family_with_a_label() -> None:
    found = of_status(
        rows(
            Com_select="3", Handler_read_rnd_next="4", Connection_errors_internal="5", Innodb_rows_read="6",
            Performance_schema_digest_lost="7", Innodb_buffer_pool_pages_data="8", Innodb_buffer_pool_pages_dirty="9",
            Innodb_buffer_pool_pages_total="10", Innodb_buffer_pool_pages_flushed="11", Queries="12",
        )
    )  # fmt: skip
    assert {(reading.name, *reading.labels): reading.value for reading in found} == {
        ("mysql_global_status_commands_total", "select"): 3,
        ("mysql_global_status_handlers_total", "read_rnd_next"): 4,
        ("mysql_global_status_connection_errors_total", "internal"): 5,
        ("mysql_global_status_innodb_row_ops_total", "read"): 6,
        ("mysql_global_status_performance_schema_lost_total", "digest_lost"): 7,
        ("mysql_global_status_buffer_pool_pages", "data"): 8,
        ("mysql_global_status_buffer_pool_dirty_pages",): 9,
        ("mysql_global_status_buffer_pool_page_changes_total", "flushed"): 11,
        ("mysql_global_status_queries",): 12,
    }


def test_what_is_no_number_is_left_out() -> None:
    assert list(of_status(rows(Ssl_cipher="", Rsa_public_key="-----BEGIN"))) == []
    found = [(reading.name, reading.value) for reading in of_variables(rows(Log_bin="ON", Datadir="/x", Port="3306"))]
    (isolation,) = of_variables(rows(transaction_isolation="REPEATABLE-READ"))
    assert (isolation.name, isolation.labels) == ("mysql_transaction_isolation", ("REPEATABLE-READ",))
    assert found == [("mysql_global_variables_log_bin", 1), ("mysql_global_variables_port", 3306)]
