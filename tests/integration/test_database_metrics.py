"""What the monitor reads of a real MariaDB: values, rights, locks, replication, and a server that is down or hangs."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pymysql
import pytest

from collector.config.monitoring import MonitorOptions
from collector.monitor import reference
from collector.monitor.database import session
from collector.monitor.database.account import Account, option_file, statements
from collector.monitor.database.polled import PolledServer
from collector.monitor.database.questions import QUESTIONS
from tests.support import patience
from tests.support.namespaces import Namespace
from tests.support.servers import MariaDB, free_port

pytestmark = [pytest.mark.integration, pytest.mark.either_build]

ACCOUNT = Account("mariadb", "querytap", "localhost", "it's secret")
REPLICATION = ("--log-bin=bin", "--gtid-strict-mode=1")
ANEW_S = 0.25
"""InnoDB tells the same of transactions and locks until nobody has asked for 0.1 s (trx0i_s.cc)."""
WAIT_S = patience.seconds(30)

Found = dict[tuple[str, ...], float]


@pytest.fixture(scope="module")
def namespace() -> Iterator[Namespace]:
    with Namespace() as made:
        yield made


@pytest.fixture(scope="module")
def server(namespace: Namespace) -> Iterator[MariaDB]:
    with MariaDB(namespace, (*REPLICATION, "--server-id=1")) as made:
        prepare(made)
        yield made


@pytest.fixture
def options(tmp_path: Path) -> MonitorOptions:
    file = tmp_path / "database.cnf"
    file.write_text("\n".join(option_file(ACCOUNT)))
    return MonitorOptions(credentials_file=str(file))


def root(server: MariaDB) -> pymysql.Connection[Any]:
    return pymysql.connect(unix_socket=str(server.socket), user="root", autocommit=True)


def run(connection: pymysql.Connection[Any], *all_sql: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        for sql in all_sql:
            cursor.execute(sql)
        return list(cursor.fetchall())


def thread_of(connection: pymysql.Connection[Any]) -> int:
    return int(run(connection, "SELECT CONNECTION_ID()")[0][0])


def prepare(server: MariaDB) -> None:
    with root(server) as connection:
        run(
            connection,
            *(line.partition("  --")[0] for line in statements(ACCOUNT)),
            "CREATE DATABASE shop",
            "CREATE TABLE shop.stock (id INT PRIMARY KEY, left_over INT) ENGINE = InnoDB",
            "INSERT INTO shop.stock VALUES (1, 10), (2, 20)",
        )


@contextmanager
def polled(server: MariaDB, options: MonitorOptions) -> Iterator[PolledServer]:
    made = PolledServer(str(server.socket), lambda: options)
    try:
        yield made
    finally:
        made.close()


def read(source: PolledServer) -> Found:
    """The readings by name and labels, without the server's own."""
    return {(reading.name, *reading.labels[1:]): reading.value for reading in source.read()}


def reason(found: Found) -> str:
    return next((key[1] for key in found if key[0] == "querytap_mysql_down"), "")


def test_the_account_that_is_printed_is_answered_all_and_may_read_no_row(
    server: MariaDB, options: MonitorOptions
) -> None:
    with polled(server, options) as source:
        found = read(source)
        assert {reading.family.name for reading in source.read()} - reference.declared().keys() == set()
    assert found["mysql_up",] == 1
    assert {key[1]: value for key, value in found.items() if key[0] == "querytap_mysql_question_answered"} == {
        question.name: 1 for question in QUESTIONS
    }
    assert found["mysql_info_schema_table_size", "shop", "stock", "data_length"] > 0
    assert found["mysql_binlog_files",] == 1
    with (
        pymysql.connect(
            unix_socket=str(server.socket), user=ACCOUNT.user, password=ACCOUNT.password or ""
        ) as connection,
        pytest.raises(pymysql.err.OperationalError, match="denied"),
    ):
        run(connection, "SELECT * FROM shop.stock")


def test_values_are_those_of_show_status_and_show_variables(server: MariaDB, options: MonitorOptions) -> None:
    with root(server) as connection, polled(server, options) as source:
        run(connection, *["SELECT 1"] * 7)
        before = dict(run(connection, "SHOW GLOBAL STATUS"))
        found = read(source)
        after = dict(run(connection, "SHOW GLOBAL STATUS"))
        variables = dict(run(connection, "SHOW GLOBAL VARIABLES"))
    for name in ("Queries", "Bytes_sent", "Uptime", "Created_tmp_tables", "Sort_rows", "Select_scan", "Connections"):
        assert float(before[name]) <= found[f"mysql_global_status_{name.lower()}",] <= float(after[name]), name
    selects = found["mysql_global_status_commands_total", "select"]
    assert float(before["Com_select"]) <= selects <= float(after["Com_select"])
    for name in ("max_connections", "innodb_buffer_pool_size", "server_id"):
        assert found[f"mysql_global_variables_{name}",] == float(variables[name])


def test_who_blocks_whom_is_a_tree(server: MariaDB, options: MonitorOptions) -> None:
    holds_first, holds_second, waits = root(server), root(server), root(server)
    update = "UPDATE shop.stock SET left_over = left_over - 1 WHERE id = {}"
    threads = [
        threading.Thread(target=run, args=(connection, update.format(number)))
        for connection, number in ((holds_second, 1), (waits, 2))
    ]
    with polled(server, options) as source:
        try:
            run(holds_first, "BEGIN", update.format(1))
            run(holds_second, "BEGIN", update.format(2))
            for thread in threads:
                thread.start()
            deadline = time.monotonic() + WAIT_S
            while read(source)["querytap_mysql_lock_waiters",] < 2:
                assert time.monotonic() < deadline
                time.sleep(ANEW_S)
            found = read(source)
        finally:
            run(holds_first, "ROLLBACK")
            threads[0].join()
            run(holds_second, "ROLLBACK")
            threads[1].join()
        assert found["querytap_mysql_lock_blocked", str(thread_of(holds_first))] == 2
        assert found["querytap_mysql_lock_depth",] == 2
        assert found["querytap_mysql_transactions_waiting",] == 2
        assert found["querytap_mysql_transactions",] == 3
        time.sleep(ANEW_S)
        while read(source)["querytap_mysql_lock_waiters",]:
            assert time.monotonic() < deadline
            time.sleep(ANEW_S)
    for connection in (holds_first, holds_second, waits):
        connection.close()


def test_a_wrong_password_is_a_reason_and_the_right_one_is_taken_when_it_is_there(
    server: MariaDB, options: MonitorOptions
) -> None:
    file = Path(options.credentials_file)
    right = file.read_text()
    file.write_text("[client]\nuser = querytap\npassword = other\n")
    with polled(server, options) as source:
        found = read(source)
        assert (found["mysql_up",], reason(found)) == (0, "denied")
        file.unlink()
        assert reason(read(source)) == "denied"
        file.write_text(right)
        assert read(source)["mysql_up",] == 1


def test_a_server_that_hangs_is_given_up_in_time_and_found_again(
    server: MariaDB, options: MonitorOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "ANSWER_S", 1)
    pid = int((server.folder / "pid").read_text())
    with polled(server, options) as source:
        assert read(source)["mysql_up",] == 1
        os.kill(pid, signal.SIGSTOP)
        try:
            found = read(source)
            assert (found["mysql_up",], reason(found)) == (0, "timeout")
            assert reason(read(source)) == "timeout", "a new connection is not answered either"
        finally:
            os.kill(pid, signal.SIGCONT)
        assert read(source)["mysql_up",] == 1


def test_rights_that_are_missing_cost_only_what_they_are_for(server: MariaDB, options: MonitorOptions) -> None:
    with root(server) as connection:
        run(connection, "REVOKE PROCESS ON *.* FROM querytap@localhost")
    try:
        with polled(server, options) as source:
            found = read(source)
    finally:
        with root(server) as connection:
            run(connection, "GRANT PROCESS ON *.* TO querytap@localhost")
    assert found["mysql_up",] == 1
    assert found["querytap_mysql_question_answered", "transactions"] == 0
    assert found["querytap_mysql_question_answered", "status"] == 1
    assert ("mysql_global_status_queries",) in found


def test_a_replica_has_state_lag_and_transactions_that_are_behind(
    namespace: Namespace, server: MariaDB, options: MonitorOptions
) -> None:
    source = (
        f"MASTER_HOST = '127.0.0.1', MASTER_PORT = {server.port}, MASTER_USER = 'app', MASTER_PASSWORD = 'app secret',"
        " MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1"
    )
    with MariaDB(namespace, (*REPLICATION, "--server-id=2", "--skip-slave-start")) as replica, root(replica) as there:
        run(there, "RESET MASTER", f"CHANGE MASTER 'shop' TO {source}", "START SLAVE 'shop'")
        labels = ("127.0.0.1", "", "", "shop")
        with polled(replica, options) as polling:
            deadline = time.monotonic() + WAIT_S
            while True:  # its account comes from the source
                found = read(polling)
                if found.get(("mysql_slave_status_seconds_behind_master", *labels)) == 0:
                    break
                assert time.monotonic() < deadline, found
                time.sleep(0.1)
            assert found["mysql_slave_status_slave_io_running", *labels] == 1
            assert found["mysql_slave_status_slave_sql_running", *labels] == 1
            run(there, "STOP SLAVE 'shop' SQL_THREAD")
            with root(server) as here:
                run(here, *["UPDATE shop.stock SET left_over = left_over + 1 WHERE id = 2"] * 3)
            while read(polling).get(("querytap_mysql_replica_gtid_behind", "shop")) != 3:
                assert time.monotonic() < deadline
                time.sleep(0.1)
            found = read(polling)
            assert found["mysql_slave_status_slave_sql_running", *labels] == 0
            assert ("mysql_slave_status_seconds_behind_master", *labels) not in found, "nobody knows it now"
            run(there, "START SLAVE 'shop' SQL_THREAD")
            while read(polling).get(("querytap_mysql_replica_gtid_behind", "shop")) != 0:
                assert time.monotonic() < deadline
                time.sleep(0.1)


def test_a_server_that_ends_is_down_with_nothing_of_before_and_up_again_when_it_is_back(
    namespace: Namespace, server: MariaDB, options: MonitorOptions
) -> None:
    with polled(server, options) as source:
        assert ("mysql_global_status_queries",) in read(source)
        server.stop()
        found = read(source)
        assert found["mysql_up",] == 0
        assert reason(found) in {"lost", "stopping", "absent", "refused"}
        assert not [key for key in found if key[0].startswith(("mysql_global", "mysql_info"))]
        assert reason(read(source)) in {"absent", "refused"}
        server.start_again(namespace, free_port())
        assert read(source)["mysql_up",] == 1
    with contextlib.suppress(FileNotFoundError):
        Path(options.credentials_file).unlink()
