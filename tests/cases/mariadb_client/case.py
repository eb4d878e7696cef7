from __future__ import annotations

import struct

from tests.support import answer_packets as answers
from tests.support import mysql_packets as mysql
from tests.support.talks import Case, Talk, prepared

LOGIN = bytearray(mysql.login(b"maria", capabilities=mysql.CLIENT_CAPABILITIES & ~1))
LOGIN[4 + 28 : 4 + 32] = struct.pack("<I", 0x1C)  # the upper half of MariaDB's capabilities
BULK = mysql.command(0xFA, struct.pack("<IH", 1, 128) + b"\x03\0" + b"\0\x01\0\0\0" + b"\0\x02\0\0\0")
SQL = b"INSERT INTO t VALUES (?)"

GREETING = mysql.greeting(version=b"5.5.5-10.11.6-MariaDB", capabilities=mysql.SERVER_CAPABILITIES & ~1)

talk = Talk().open().server(GREETING)
talk.client(bytes(LOGIN)).server(mysql.ok(sequence=2))
talk.client(mysql.prepare(SQL)).server(prepared(1, 1, 0))
talk.client(BULK).server(mysql.ok(2))
talk.client(mysql.query(b"SELECT 1")).server(mysql.packet(1, b"\x01\x00") + mysql.packet(2, answers.eof()))

CASE = Case(
    packets=talk.captured,
    expected=[
        {"command": "connect", "user": "maria", "server_version": "5.5.5-10.11.6-MariaDB", "status": "ok"},
        {"command": "stmt_prepare", "sql": SQL},
        {
            "command": "stmt_bulk_execute",
            "sql": SQL,
            "statement_id": 1,
            "affected_rows": 2,
            "parameters": None,
            "parameter_rows": ((1,), (2,)),
        },
        {"command": "query", "sql": b"SELECT 1", "status": "result"},
    ],
)
