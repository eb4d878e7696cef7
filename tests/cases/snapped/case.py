from __future__ import annotations

from tests.support import mysql_packets as mysql
from tests.support.talks import ONE_ROW, Case, Talk, snapped

LONG = b"SELECT '" + b"x" * 1000 + b"'"
KEPT = 200 - 40  # behind the headers

talk = Talk().log_in()
talk.client(mysql.query(b"SELECT 1")).server(ONE_ROW)
talk.client(mysql.query(LONG)).server(mysql.error(1054, b"Unknown column"))
talk.client(mysql.query(b"SELECT 2")).server(ONE_ROW)

CASE = Case(
    packets=snapped(talk.captured, 200),
    cuts=False,
    expected=[
        {"command": "connect", "status": "ok"},
        {"command": "query", "sql": b"SELECT 1", "status": "result"},
        {
            "command": "query",
            "sql": LONG[: KEPT - 5],
            "original_length": len(LONG),
            "flags": ("truncated", "after_gap"),
            "error_code": 1054,
        },
        {"command": "query", "sql": b"SELECT 2", "status": "result"},
    ],
)
