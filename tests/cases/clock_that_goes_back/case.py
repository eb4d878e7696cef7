from __future__ import annotations

from tests.support import mysql_packets as mysql
from tests.support.talks import ONE_ROW, STEP_NS, Case, Talk

talk = Talk().log_in().client(mysql.query(b"SELECT 1"))
talk.wait(-3600).server(ONE_ROW).wait(7200)
talk.client(mysql.query(b"SELECT 2")).server(ONE_ROW)

CASE = Case(
    packets=talk.captured,
    expected=[
        {"command": "connect"},
        {"command": "query", "sql": b"SELECT 1", "status": "result"},
        {"command": "query", "sql": b"SELECT 2", "status": "result", "latency_ns": STEP_NS},
    ],
    responses=("first", "all"),
)
