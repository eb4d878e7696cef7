from __future__ import annotations

import pytest

from collector.monitor.database.replication import of_replicas

pytestmark = pytest.mark.either_build

UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"


def test_newer_columns_have_the_older_names_and_each_source_is_told_apart() -> None:
    row = {
        "Source_Host": "10.0.0.1", "Source_UUID": UUID, "Channel_Name": "a", "Replica_IO_Running": "Yes",
        "Replica_SQL_Running": "No", "Seconds_Behind_Source": 12, "Read_Source_Log_Pos": 400, "Source_Log_File": "b.01",
        "Retrieved_Gtid_Set": f"{UUID}:1-10", "Executed_Gtid_Set": f"{UUID}:1-8", "Last_Error": "",
    }  # fmt: skip
    found = {reading.name: reading for reading in of_replicas([row])}
    assert found["mysql_slave_status_slave_io_running"].value == 1
    assert found["mysql_slave_status_slave_sql_running"].value == 0
    assert found["mysql_slave_status_seconds_behind_master"].value == 12
    assert found["mysql_slave_status_read_master_log_pos"].labels == ("10.0.0.1", UUID, "a", "")
    assert found["querytap_mysql_replica_gtid_behind"] == found["querytap_mysql_replica_gtid_behind"]._replace(
        value=2, labels=("a",)
    )
    assert "mysql_slave_status_master_log_file" not in found


def test_a_lag_that_is_not_known_is_left_out_and_so_are_ids_that_are_none() -> None:
    row = {
        "Connection_name": "m1", "Master_Host": "h", "Slave_IO_Running": "Connecting", "Seconds_Behind_Master": None,
        "Gtid_IO_Pos": "not one", "Gtid_Slave_Pos": "0-1-5",
    }  # fmt: skip
    assert [(reading.name, reading.value) for reading in of_replicas([row])] == [
        ("mysql_slave_status_slave_io_running", 0)
    ]
    behind = of_replicas([{**row, "Gtid_IO_Pos": "0-1-9"}])
    assert [(reading.value, reading.labels) for reading in behind][-1] == (4, ("m1",))
