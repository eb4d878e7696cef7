from __future__ import annotations

import struct

from tests.support import mysql_packets as mysql
from tests.support.mysql_packets import Bound
from tests.support.talks import ONE_ROW, Case, Talk, prepared

TEXT = Bound(mysql.VAR_STRING, mysql.counted(b"42"))
BARE = mysql.command(0x17, struct.pack("<IBI", 2, 0, 1) + b"\x01")

talk = Talk().log_in(user=b"www", charset=mysql.LATIN1)
talk.client(mysql.command(2, b"wiki")).server(mysql.ok())
talk.client(mysql.prepare(b"SELECT * FROM page WHERE id = ?")).server(prepared(1, 1, 3))
talk.client(mysql.execute(1, [TEXT])).server(ONE_ROW)
talk.client(mysql.prepare(b"SELECT 1")).server(prepared(2, 0, 1))
talk.client(BARE).server(ONE_ROW)
talk.client(mysql.of_statement(0x19, 1) + mysql.of_statement(0x19, 2) + mysql.command(1)).end()

CASE = Case(
    packets=talk.captured,
    expected=[
        {"command": "connect", "user": "www"},
        {"command": "init_db", "sql": b"wiki", "status": "ok"},
        {"command": "stmt_prepare", "sql": b"SELECT * FROM page WHERE id = ?", "database": "wiki"},
        {"command": "stmt_execute", "sql": b"SELECT * FROM page WHERE id = ?", "parameters": ("42",)},
        {"command": "stmt_prepare", "sql": b"SELECT 1"},
        {"command": "stmt_execute", "sql": b"SELECT 1", "status": "result"},
        {"command": "stmt_close", "statement_id": 1},
        {"command": "stmt_close", "statement_id": 2},
        {"command": "quit"},
    ],
)
