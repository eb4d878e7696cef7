from __future__ import annotations

import pytest

from collector.monitor.database.questions import QUESTIONS, Server, server_from

pytestmark = pytest.mark.either_build

MARIADB = server_from("10.11.6-MariaDB-log", 0, 0)
MYSQL57 = server_from("5.7.44-log", 1, 1)
MYSQL97 = server_from("9.7.0", 1, 1)


def asked(name: str, server: Server) -> str | None:
    return next(question.sql(server) for question in QUESTIONS if question.name == name)


def test_a_server_is_known_by_its_version() -> None:
    assert Server(True, (10, 11, 6), False, False) == MARIADB
    assert Server(False, (5, 7, 44), True, True) == MYSQL57
    assert server_from("5.5.5-10.4.2-MariaDB", 0, 0).version == (10, 4, 2)
    assert server_from("odd", 0, 0).version == ()


def test_replication_is_asked_for_by_the_words_of_the_server() -> None:
    assert asked("replication", MARIADB) == "SHOW ALL SLAVES STATUS"
    assert asked("replication", MYSQL57) == "SHOW SLAVE STATUS"
    assert asked("replication", MYSQL97) == "SHOW REPLICA STATUS"


def test_locks_and_threads_are_where_the_server_has_them() -> None:
    for older in (MARIADB, MYSQL57):
        assert "information_schema.INNODB_LOCK_WAITS" in (asked("lock waits", older) or "")
        assert "information_schema.PROCESSLIST" in (asked("threads", older) or "")
    assert "performance_schema.data_lock_waits" in (asked("lock waits", MYSQL97) or "")
    assert "performance_schema.processlist" in (asked("threads", MYSQL97) or "")
    without = server_from("9.7.0", 0, 1)
    assert asked("lock waits", without) is None
    assert "information_schema.PROCESSLIST" in (asked("threads", without) or "")


def test_binary_logs_are_asked_for_where_there_are_some() -> None:
    assert asked("binary logs", MARIADB) is None
    assert asked("binary logs", MYSQL97) == "SHOW BINARY LOGS"
