"""What a server is asked, by what it is and what it can. Pure: SQL comes out, rows come in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from collector.monitor.database import innodb, replication, status, threads
from collector.monitor.database.status import Rows
from collector.monitor.families import Reading

Pace = Literal["each", "slow", "tables"]
"""At each poll, at monitor.slow_interval_s, at monitor.tables_interval_s."""

MOST_TABLES: Final = 100
_MOST_GROUPS: Final = 100
_MOST_WAITS: Final = 1000
_LONG_S: Final = 60

_NO_DATA: Final = "'information_schema', 'performance_schema', 'mysql', 'sys'"
_TRX: Final = "information_schema.INNODB_TRX"


@dataclass(frozen=True, slots=True)
class Server:
    """What a server says of itself when one connects."""

    mariadb: bool
    version: tuple[int, ...]
    performance_schema: bool
    binlog: bool


def server_from(version: str, performance_schema: object, binlog: object) -> Server:
    """Out of VERSION(), @@performance_schema and @@log_bin."""
    mariadb = "mariadb" in version.lower()
    if mariadb and version.startswith("5.5.5-"):
        version = version[6:]  # as old replicas want to hear it
    numbers = re.match(r"\d+(?:\.\d+)*", version)
    found = tuple(int(number) for number in numbers[0].split(".")) if numbers else ()
    return Server(mariadb, found, bool(performance_schema), bool(binlog))


@dataclass(frozen=True, slots=True)
class Question:
    """One statement that reads, and what its rows say."""

    name: str
    pace: Pace
    sql: Callable[[Server], str | None]
    """None: that server is not asked."""
    readings: Callable[[Rows], Iterable[Reading]]
    when: Callable[[Mapping[str, float]], bool] = lambda _: True
    """Whether it is worth asking, by what the same poll has found so far: metrics without more labels, by name."""


def _threads_of(server: Server) -> str:
    newer = not server.mariadb and server.performance_schema and server.version >= (8, 0, 22)
    return "performance_schema.processlist" if newer else "information_schema.PROCESSLIST"


def _by_state(server: Server) -> str:
    return (
        "SELECT COMMAND AS command, STATE AS state, COUNT(*) AS threads, SUM(TIME) AS seconds"
        f" FROM {_threads_of(server)} WHERE ID <> CONNECTION_ID()"
        f" GROUP BY COMMAND, STATE ORDER BY threads DESC LIMIT {_MOST_GROUPS}"
    )


def _by_user(server: Server) -> str:
    return (
        f"SELECT USER AS user, COUNT(*) AS threads FROM {_threads_of(server)} WHERE ID <> CONNECTION_ID()"
        f" GROUP BY USER ORDER BY threads DESC LIMIT {_MOST_GROUPS}"
    )


def _replicas(server: Server) -> str:
    if server.mariadb:
        return "SHOW ALL SLAVES STATUS"
    return "SHOW REPLICA STATUS" if server.version >= (8, 0, 22) else "SHOW SLAVE STATUS"


def _transactions(_: Server) -> str:
    return (
        "SELECT COUNT(*) AS total, SUM(trx_state = 'LOCK WAIT') AS waiting,"
        f" SUM(trx_started <= NOW() - INTERVAL {_LONG_S} SECOND) AS lasting,"
        " MAX(TIMESTAMPDIFF(SECOND, trx_started, NOW())) AS oldest_s,"
        f" SUM(trx_rows_locked) AS locked, SUM(trx_rows_modified) AS changed FROM {_TRX}"
    )


def _lock_waits(server: Server) -> str | None:
    older = server.mariadb or server.version < (8,)
    if not older and not server.performance_schema:
        return None
    table, waiter, blocker = (
        ("information_schema.INNODB_LOCK_WAITS", "requesting_trx_id", "blocking_trx_id")
        if older
        else (
            "performance_schema.data_lock_waits",
            "REQUESTING_ENGINE_TRANSACTION_ID",
            "BLOCKING_ENGINE_TRANSACTION_ID",
        )
    )
    return (
        "SELECT w.trx_mysql_thread_id AS waiter, b.trx_mysql_thread_id AS blocker,"
        f" TIMESTAMPDIFF(SECOND, w.trx_wait_started, NOW()) AS seconds FROM {table} l"
        f" JOIN {_TRX} w ON w.trx_id = l.{waiter} JOIN {_TRX} b ON b.trx_id = l.{blocker} LIMIT {_MOST_WAITS}"
    )


def _innodb_metrics(server: Server) -> str:
    counted = "ENABLED = 1" if server.mariadb and server.version >= (10, 5) else "STATUS = 'enabled'"
    return f"SELECT NAME, SUBSYSTEM, TYPE, COUNT FROM information_schema.INNODB_METRICS WHERE {counted}"


def _tables(_: Server) -> str:
    return (
        "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_ROWS, DATA_LENGTH, INDEX_LENGTH, DATA_FREE"
        f" FROM information_schema.TABLES WHERE TABLE_TYPE = 'BASE TABLE' AND TABLE_SCHEMA NOT IN ({_NO_DATA})"
        f" ORDER BY DATA_LENGTH + INDEX_LENGTH DESC LIMIT {MOST_TABLES}"
    )


QUESTIONS: Final = (
    Question("status", "each", lambda _: "SHOW GLOBAL STATUS", status.of_status),
    Question("replication", "each", _replicas, replication.of_replicas),
    Question("threads", "each", _by_state, threads.of_threads),
    Question("users", "each", _by_user, threads.of_users),
    Question("transactions", "each", _transactions, innodb.of_transactions),
    Question(
        "lock waits", "each", _lock_waits, threads.of_lock_waits,
        when=lambda found: found.get("querytap_mysql_transactions_waiting", 0) > 0,
    ),
    Question("variables", "slow", lambda _: "SHOW GLOBAL VARIABLES", status.of_variables),
    Question("innodb metrics", "slow", _innodb_metrics, innodb.of_metrics),
    Question("binary logs", "slow", lambda server: "SHOW BINARY LOGS" if server.binlog else None, innodb.of_binlogs),
    Question("tables", "tables", _tables, innodb.of_tables),
)  # fmt: skip
"""In the order in which they are asked."""
