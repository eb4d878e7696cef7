"""What the monitor reads of a real MySQL 9.7, with the account that `querytap grant` prints for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymysql
import pytest

from collector.config.monitoring import MonitorOptions
from collector.monitor import reference
from collector.monitor.database.account import Account, option_file, statements
from collector.monitor.database.polled import PolledServer
from collector.monitor.database.questions import QUESTIONS
from tests.support import patience
from tests.support.debian import UnavailableError
from tests.support.mysql97 import MySQL97
from tests.support.namespaces import Namespace

pytestmark = [pytest.mark.integration, pytest.mark.either_build]

ACCOUNT = Account("mysql", "querytap", "localhost", "it's secret")
WAIT_S = patience.seconds(30)


@pytest.fixture(scope="module")
def server() -> Iterator[MySQL97]:
    options = (
        "--performance-schema=ON",
        "--log-bin=bin",
        "--server-id=1",
        "--gtid-mode=ON",
        "--enforce-gtid-consistency=ON",
    )
    try:
        with Namespace() as namespace, MySQL97(namespace, options) as made:
            with root(made) as connection:
                run(
                    connection,
                    *(line.partition("  --")[0] for line in statements(ACCOUNT)),
                    "CREATE DATABASE shop",
                    "CREATE TABLE shop.stock (id INT PRIMARY KEY, left_over INT)",
                    "INSERT INTO shop.stock VALUES (1, 10), (2, 20)",
                )
            yield made
    except UnavailableError as error:
        pytest.skip(str(error))


@pytest.fixture
def source(server: MySQL97, tmp_path: Path) -> Iterator[PolledServer]:
    file = tmp_path / "database.cnf"
    file.write_text("\n".join(option_file(ACCOUNT)))
    options = MonitorOptions(credentials_file=str(file))
    made = PolledServer(str(server.socket), lambda: options)
    yield made
    made.close()


def root(server: MySQL97) -> pymysql.Connection[Any]:
    return pymysql.connect(unix_socket=str(server.socket), user="root", autocommit=True)


def run(connection: pymysql.Connection[Any], *all_sql: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        for sql in all_sql:
            cursor.execute(sql)
        return list(cursor.fetchall())


def read(source: PolledServer) -> dict[tuple[str, ...], float]:
    return {(reading.name, *reading.labels[1:]): reading.value for reading in source.read()}


def test_the_account_that_is_printed_is_answered_all_and_what_is_told_is_declared(
    server: MySQL97, source: PolledServer
) -> None:
    found = read(source)
    assert found["mysql_up",] == 1
    assert {key[1]: value for key, value in found.items() if key[0] == "querytap_mysql_question_answered"} == {
        question.name: 1 for question in QUESTIONS
    }
    assert {reading.family.name for reading in source.read()} - reference.declared().keys() == set()
    assert found["mysql_info_schema_table_size", "shop", "stock", "data_length"] > 0
    assert ("mysql_info_schema_innodb_metrics_transaction_trx_rseg_history_len",) in found
    assert found["mysql_binlog_files",] >= 1
    with root(server) as connection:
        status = dict(run(connection, "SHOW GLOBAL STATUS"))
    assert float(status["Uptime"]) - 60 < found["mysql_global_status_uptime",] <= float(status["Uptime"])
    assert found["mysql_global_status_commands_total", "create_table"] == float(status["Com_create_table"])


def test_who_blocks_whom_is_told(server: MySQL97, source: PolledServer) -> None:
    holds, waits = root(server), root(server)
    update = "UPDATE shop.stock SET left_over = left_over - 1 WHERE id = 1"
    thread = threading.Thread(target=run, args=(waits, update))
    try:
        run(holds, "BEGIN", update)
        thread.start()
        deadline = time.monotonic() + WAIT_S
        while not (found := read(source)).get(("querytap_mysql_lock_waiters",)):
            assert time.monotonic() < deadline
            time.sleep(0.25)  # InnoDB tells the same until nobody has asked for 0.1 s
        ((number,),) = run(holds, "SELECT CONNECTION_ID()")
        assert found["querytap_mysql_lock_blocked", str(number)] == 1
    finally:
        run(holds, "ROLLBACK")
        thread.join()
        holds.close()
        waits.close()


def test_a_replica_that_reaches_no_source_is_told_with_its_state(server: MySQL97, source: PolledServer) -> None:
    with root(server) as connection:
        run(
            connection,
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = 1, SOURCE_USER = 'x',"
            " SOURCE_AUTO_POSITION = 1 FOR CHANNEL 'shop'",
            "START REPLICA FOR CHANNEL 'shop'",
        )
        try:
            found = read(source)
        finally:
            run(connection, "STOP REPLICA FOR CHANNEL 'shop'", "RESET REPLICA ALL FOR CHANNEL 'shop'")
    state = {key[0]: value for key, value in found.items() if key[3:4] == ("shop",)}
    assert state["mysql_slave_status_slave_sql_running"] == 1
    assert state["mysql_slave_status_slave_io_running"] == 0
    assert (
        "mysql_slave_status_seconds_behind_master" not in state
        or state["mysql_slave_status_seconds_behind_master"] == 0
    )
