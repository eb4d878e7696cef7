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
    packets=talk.twice(30_000),
    expected=[
        {"command": "connect", "status": "ok"},
        {"command": "query", "sql": b"SELECT 1", "status": "result"},
        {"command": "query", "sql": LONG, "status": "ok", "affected_rows": 1},
        {"command": "stmt_prepare", "sql": b"SELECT ?", "status": "ok"},
        {"command": "stmt_execute", "sql": b"SELECT ?", "status": "result"},
    ],
)
