"""The commands that options can name; a test holds them beside those that workers know."""

from __future__ import annotations

COMMANDS = frozenset(
    {
        "binlog_dump", "binlog_dump_gtid", "change_user", "clone", "connect", "connect_out", "create_db",
        "daemon", "debug", "delayed_insert", "drop_db", "field_list", "init_db", "ping", "process_info",
        "process_kill", "query", "quit", "refresh", "register_slave", "reset_connection", "set_option",
        "shutdown", "sleep", "statistics", "stmt_bulk_execute", "stmt_close", "stmt_execute", "stmt_fetch",
        "stmt_prepare", "stmt_reset", "table_dump", "time", "x_admin", "x_connection_close", "x_create_view",
        "x_cursor_close", "x_cursor_fetch", "x_cursor_open", "x_deallocate", "x_delete", "x_drop_view",
        "x_execute", "x_expect_close", "x_expect_open", "x_find", "x_insert", "x_modify_view", "x_prepare",
        "x_session_close", "x_session_reset", "x_update",
    }
)  # fmt: skip
"""The names that records give commands, of both protocols."""
