from __future__ import annotations

from tests.support import mysql_packets as mysql
from tests.support.talks import ONE_ROW, Case, Talk

LONG = b"INSERT INTO t VALUES ('" + b"x" * 4000 + b"')"

talk = Talk(client_first=2**32 - 1500, server_first=2**32 - 60).log_in()
talk.client(mysql.query(b"SELECT 1")).server(ONE_ROW).wait(7200)
talk.connection.client_next -= 1
talk.client(b"\xff").server()
talk.segments(mysql.query(LONG)).server(mysql.ok(1))
talk.connection.client_next -= 1
talk.client(b"\0").client(mysql.query(b"SELECT 2")).server(ONE_ROW)

CASE = Case(
    packets=talk.captured,
    expected=[
        {"command": "connect", "status": "ok"},
        {"command": "query", "sql": b"SELECT 1", "status": "result"},
        {"command": "query", "sql": LONG, "status": "ok", "affected_rows": 1},
        {"command": "query", "sql": b"SELECT 2", "status": "result"},
    ],
    counters={"gaps": 0, "resyncs": 0},
)
