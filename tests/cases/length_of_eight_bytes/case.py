from __future__ import annotations

import struct

from tests.support import mysql_packets as mysql
from tests.support.mysql_packets import Bound
from tests.support.talks import ONE_ROW, Case, Talk, prepared

TEXT = Bound(mysql.VAR_STRING, b"\xfe" + struct.pack("<II", 5, 0) + b"hello")
ODD = Bound(mysql.VAR_STRING, b"\xfe" + struct.pack("<II", 5, 0xDEADBEEF) + b"world")
NUMBER = Bound(mysql.LONG, struct.pack("<i", 42))

talk = Talk().log_in()
talk.client(mysql.prepare(b"SELECT ?, ?, ?")).server(prepared(1, 3, 0))
talk.client(mysql.execute(1, [TEXT, ODD, NUMBER])).server(ONE_ROW)

CASE = Case(
    packets=talk.captured,
    expected=[
        {"command": "connect"},
        {"command": "stmt_prepare", "sql": b"SELECT ?, ?, ?"},
        {"command": "stmt_execute", "sql": b"SELECT ?, ?, ?", "parameters": ("hello", "world", 42), "status": "result"},
    ],
)
