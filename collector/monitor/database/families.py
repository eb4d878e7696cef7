"""The metrics of servers, by the names that mysqld_exporter gives them; what it has not is named `querytap_mysql_`."""

from __future__ import annotations

from typing import Final

from collector.monitor.families import Family, Kind


def _of_server(name: str, kind: Kind, text: str, *labels: str) -> Family:
    return Family(name, kind, text, ("server", *labels))


UP: Final = _of_server("mysql_up", "gauge", "1: the server answers.")
DOWN: Final = _of_server("querytap_mysql_down", "gauge", "1: the server does not answer, for this reason.", "reason")
POLL_SECONDS: Final = _of_server("querytap_mysql_poll_seconds", "gauge", "Time that the last poll took.")
POLL_TIME: Final = _of_server("querytap_mysql_poll_time_seconds", "gauge", "When that poll began, as Unix time.")
ANSWERED: Final = _of_server(
    "querytap_mysql_question_answered", "gauge", "0: the server refused this question; the log says why.", "question"
)

VERSION: Final = _of_server("mysql_version_info", "gauge", "Always 1.", "innodb_version", "version", "version_comment")
STATUS: Final = _of_server("mysql_global_status_*", "unknown", "A number of SHOW GLOBAL STATUS.")
COMMANDS: Final = _of_server(
    "mysql_global_status_commands_total", "counter", "Statements of a kind (Com_...).", "command"
)
HANDLERS: Final = _of_server(
    "mysql_global_status_handlers_total", "counter", "Calls of the storage engine: scans, sorts, lookups.", "handler"
)
CONNECTION_ERRORS: Final = _of_server(
    "mysql_global_status_connection_errors_total", "counter", "Connections that failed, by cause.", "error"
)
POOL_PAGES: Final = _of_server("mysql_global_status_buffer_pool_pages", "gauge", "Pages of a state.", "state")
POOL_DIRTY: Final = _of_server("mysql_global_status_buffer_pool_dirty_pages", "gauge", "Pages to be written.")
POOL_CHANGES: Final = _of_server(
    "mysql_global_status_buffer_pool_page_changes_total", "counter", "Changes of pages.", "operation"
)
ROW_OPERATIONS: Final = _of_server(
    "mysql_global_status_innodb_row_ops_total", "counter", "Rows read and changed.", "operation"
)
INSTRUMENTS_LOST: Final = _of_server(
    "mysql_global_status_performance_schema_lost_total", "counter", "What did not fit.", "instrumentation"
)
ISOLATION: Final = _of_server("mysql_transaction_isolation", "gauge", "Always 1.", "level")
VARIABLES: Final = _of_server("mysql_global_variables_*", "gauge", "A number of SHOW GLOBAL VARIABLES.")

INNODB_GAUGE: Final = _of_server("mysql_info_schema_innodb_metrics_*", "gauge", "Of INNODB_METRICS, a level.")
INNODB_COUNTER: Final = _of_server(
    "mysql_info_schema_innodb_metrics_*_total", "counter", "Of INNODB_METRICS, a counter."
)
INNODB_POOL_PAGES: Final = _of_server(
    "mysql_info_schema_innodb_metrics_buffer_pool_pages", "gauge", "Pages of a state.", "state"
)
INNODB_POOL_DIRTY: Final = _of_server(
    "mysql_info_schema_innodb_metrics_buffer_pool_dirty_pages", "gauge", "Pages to be written."
)
PAGES_READ: Final = _of_server(
    "mysql_info_schema_innodb_metrics_buffer_page_read_total", "counter", "Pages read, by type.", "type"
)
PAGES_WRITTEN: Final = _of_server(
    "mysql_info_schema_innodb_metrics_buffer_page_written_total", "counter", "Pages written, by type.", "type"
)

REPLICATION: Final = _of_server(
    "mysql_slave_status_*", "unknown", "A number of SHOW REPLICA STATUS, by the names it had as SHOW SLAVE STATUS.",
    "master_host", "master_uuid", "channel_name", "connection_name",
)  # fmt: skip
GTID_BEHIND: Final = _of_server(
    "querytap_mysql_replica_gtid_behind", "gauge", "Transactions that were received and are not executed.", "channel"
)

THREADS: Final = _of_server(
    "mysql_info_schema_processlist_threads", "gauge", "Threads of a command and a state.", "command", "state"
)
THREAD_SECONDS: Final = _of_server(
    "mysql_info_schema_processlist_seconds", "gauge", "Seconds these have been in it, together.", "command", "state"
)
BY_USER: Final = _of_server(
    "mysql_info_schema_processlist_processes_by_user", "gauge", "Connections of a user.", "mysql_user"
)

TRANSACTIONS: Final = _of_server("querytap_mysql_transactions", "gauge", "Transactions of InnoDB that are open.")
TRANSACTIONS_LONG: Final = _of_server(
    "querytap_mysql_transactions_long", "gauge", "Of them, those open for a minute or longer."
)
TRANSACTIONS_WAITING: Final = _of_server(
    "querytap_mysql_transactions_waiting", "gauge", "Of them, those that wait for a lock."
)
OLDEST_TRANSACTION: Final = _of_server(
    "querytap_mysql_oldest_transaction_seconds", "gauge", "How long the oldest of them has been open."
)
ROWS_LOCKED: Final = _of_server("querytap_mysql_transactions_rows_locked", "gauge", "Rows that they have locked.")
ROWS_CHANGED: Final = _of_server("querytap_mysql_transactions_rows_changed", "gauge", "Rows that they have changed.")

LOCK_WAITERS: Final = _of_server("querytap_mysql_lock_waiters", "gauge", "Connections that wait for a row lock.")
LOCK_DEPTH: Final = _of_server(
    "querytap_mysql_lock_depth", "gauge", "The longest chain of connections of which each waits for the next one."
)
LOCK_LONGEST: Final = _of_server("querytap_mysql_lock_wait_seconds", "gauge", "How long the longest wait has lasted.")
LOCK_BLOCKED: Final = _of_server(
    "querytap_mysql_lock_blocked",
    "gauge",
    "Connections that wait, directly or not, for one that waits for none; of the ten worst ones.",
    "connection_id",
)

BINLOGS: Final = _of_server("mysql_binlog_files", "gauge", "Binary logs there are.")
BINLOG_BYTES: Final = _of_server("mysql_binlog_size_bytes", "gauge", "Their size.")
BINLOG_NUMBER: Final = _of_server("mysql_binlog_file_number", "gauge", "The number of the last one.")

TABLE_ROWS: Final = _of_server(
    "mysql_info_schema_table_rows", "gauge", "Rows of a table, estimated; of the largest tables.", "schema", "table"
)
TABLE_SIZE: Final = _of_server(
    "mysql_info_schema_table_size", "gauge", "Bytes of a table.", "schema", "table", "component"
)
