from __future__ import annotations

import struct

from tests.support import mysql_packets as mysql
from tests.support.mysql_packets import Bound
from tests.support.talks import ONE_ROW, Case, Talk, prepared

ONE = Bound(mysql.LONG, struct.pack("<i", 1))

talk = Talk()
talk.client(mysql.execute(7, [ONE])).server(mysql.ok(1))
talk.client(mysql.of_statement(0x19, 7) + mysql.prepare(b"SELECT ?")).server(prepared(7, 1, 0))
talk.client(mysql.execute(7, [ONE])).server(ONE_ROW)

JOINED = ("joined_late",)
CASE = Case(
    packets=talk.captured,
    cuts=False,  # in a connection joined late a segment must begin with a command
    expected=[
        {"command": "stmt_execute", "sql": None, "statement_id": 7, "affected_rows": 1, "flags": JOINED},
        {"command": "stmt_close", "statement_id": 7, "flags": JOINED},
        {"command": "stmt_prepare", "sql": b"SELECT ?", "statement_id": 7, "flags": JOINED},
        {"command": "stmt_execute", "sql": b"SELECT ?", "parameters": (1,), "status": "result", "flags": JOINED},
    ],
)
