from __future__ import annotations

from tests.support import mysql_packets as mysql
from tests.support.talks import ONE_ROW, Case, Talk, prepared

LONG = b"INSERT INTO t VALUES ('" + b"x" * 3000 + b"')"

talk = Talk().log_in()
talk.client(mysql.query(b"SELECT 1")).server(ONE_ROW)
talk.segments(mysql.query(LONG), 500).server(mysql.ok(1))
talk.client(mysql.prepare(b"SELECT ?")).server(prepared(1, 0, 0))
talk.client(mysql.execute(1)).server(ONE_ROW).end()

CASE = Case(
    packets=talk.one_way(from_client=True),
    expected=[
        {"command": "connect", "status": "unknown", "user": "app"},
        {"command": "query", "sql": b"SELECT 1", "status": "unknown"},
        {"command": "query", "sql": LONG, "status": "unknown"},
        {"command": "stmt_prepare", "sql": b"SELECT ?", "status": "unknown"},
        {"command": "stmt_execute", "status": "unknown"},
    ],
)
