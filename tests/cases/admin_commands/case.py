from __future__ import annotations

import struct

from tests.support import answer_packets as answers
from tests.support import mysql_packets as mysql
from tests.support.talks import Case, Talk, prepared

talk = Talk().log_in()
talk.client(mysql.prepare(b"SELECT 1")).server(prepared(1, 0, 1))
for number, argument, answer in (
    (0x05, b"fresh", mysql.ok(1)),
    (0x06, b"stale", mysql.error(1008, b"Can't drop database", b"HY000")),
    (0x07, b"\x01", mysql.ok()),
    (0x09, b"", mysql.packet(1, b"Uptime: 12  Threads: 1  Questions: 6")),
    (0x0A, b"", answers.stream(answers.result([answers.text_row(*[b"1"] * 8)], columns=8))),
    (0x0C, struct.pack("<I", 99), mysql.error(1094, b"Unknown thread id: 99", b"HY000")),
    (0x0D, b"", mysql.eof()),
    (0x0E, b"", mysql.ok()),
    (0x1B, b"\0\0", mysql.eof()),
    (0x1F, b"", mysql.ok()),
):
    talk.client(mysql.command(number, argument)).server(answer)
talk.client(mysql.execute(1)).server(mysql.error(1243, b"Unknown prepared statement handler", b"HY000"))
talk.client(mysql.command(0x08, b"\0")).server(mysql.ok()).end()

CASE = Case(
    packets=talk.captured,
    expected=[
        {"command": "connect"},
        {"command": "stmt_prepare", "sql": b"SELECT 1", "status": "ok"},
        {"command": "create_db", "sql": b"fresh", "status": "ok"},
        {"command": "drop_db", "sql": b"stale", "status": "error", "error_code": 1008},
        {"command": "refresh", "status": "ok"},
        {"command": "statistics", "status": "ok"},
        {"command": "process_info", "status": "result"},
        {"command": "process_kill", "status": "error", "error_code": 1094},
        {"command": "debug", "status": "ok"},
        {"command": "ping", "status": "ok"},
        {"command": "set_option", "status": "ok"},
        {"command": "reset_connection", "status": "ok"},
        {"command": "stmt_execute", "sql": None, "status": "error"},
        {"command": "shutdown", "status": "ok"},
    ],
)
