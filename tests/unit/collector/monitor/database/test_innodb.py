from __future__ import annotations

import pytest

from collector.monitor.database import innodb

pytestmark = pytest.mark.either_build


def test_counters_and_levels_of_innodb_are_named_by_subsystem() -> None:
    listed = [
        ("trx_rseg_history_len", "transaction", "value", 5),
        ("buffer_data_reads", "buffer", "status_counter", 6),
        ("buffer_pool_pages_free", "buffer", "value", 7),
        ("buffer_pool_pages_dirty", "buffer", "value", 8),
        ("buffer_pool_pages_total", "buffer", "value", 9),
        ("buffer_page_read_index_leaf", "buffer_page_io", "counter", 10),
        ("buffer_page_written_undo_log", "buffer_page_io", "counter", 11),
    ]
    rows = [dict(zip(("NAME", "SUBSYSTEM", "TYPE", "COUNT"), row, strict=True)) for row in listed]
    prefix = "mysql_info_schema_innodb_metrics_"
    assert {(reading.name, *reading.labels): reading.value for reading in innodb.of_metrics(rows)} == {
        (f"{prefix}transaction_trx_rseg_history_len",): 5,
        (f"{prefix}buffer_buffer_data_reads_total",): 6,
        (f"{prefix}buffer_pool_pages", "free"): 7,
        (f"{prefix}buffer_pool_dirty_pages",): 8,
        (f"{prefix}buffer_page_read_total", "index_leaf"): 10,
        (f"{prefix}buffer_page_written_total", "undo_log"): 11,
    }


def test_no_transaction_is_none_of_any_kind() -> None:
    nothing = {"total": 0, "waiting": None, "lasting": None, "oldest_s": None, "locked": None, "changed": None}
    assert {reading.value for reading in innodb.of_transactions([nothing])} == {0}


def test_binary_logs_have_a_number_a_size_and_the_number_of_the_last() -> None:
    rows = [{"Log_name": "bin.000007", "File_size": 10}, {"Log_name": "bin.000008", "File_size": 5}]
    assert [reading.value for reading in innodb.of_binlogs(rows)] == [2, 15, 8]
    assert [reading.value for reading in innodb.of_binlogs([])] == [0, 0]
