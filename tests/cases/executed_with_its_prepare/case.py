from __future__ import annotations

import struct

from tests.support import mysql_packets as mysql
from tests.support.mysql_packets import Bound
from tests.support.talks import Case, Talk, prepared

SQL = b"INSERT INTO t VALUES (?)"
ONE = Bound(mysql.LONG, struct.pack("<i", 1))

talk = Talk().log_in()
talk.client(mysql.prepare(SQL) + mysql.execute(0xFFFFFFFF, [ONE])).server(prepared(2, 1, 0), mysql.ok(1))
talk.client(mysql.execute(2, [ONE])).server(mysql.ok(1))

CASE = Case(
    packets=talk.captured,
    responses=("first", "all"),  # how many values there are is in the answer to PREPARE, which comes behind
    expected=[
        {"command": "connect"},
        {"command": "stmt_prepare", "sql": SQL, "statement_id": 2},
        {"command": "stmt_execute", "sql": SQL, "parameters": (1,), "affected_rows": 1},
        {"command": "stmt_execute", "sql": SQL, "parameters": (1,), "statement_id": 2},
    ],
)
