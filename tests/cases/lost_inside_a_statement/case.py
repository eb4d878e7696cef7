from __future__ import annotations

from tests.support import mysql_packets as mysql
from tests.support.talks import ONE_ROW, Case, Talk

LONG = b"INSERT INTO t VALUES ('" + b"x" * 4000 + b"')"
SENT = mysql.query(LONG)

talk = Talk().log_in()
talk.client(SENT[:1448]).lose_client(1448).client(SENT[2896:]).wait(2)
talk.client(mysql.query(b"SELECT 1")).server(ONE_ROW)

CASE = Case(
    packets=talk.captured,
    expected=[
        {"command": "connect"},
        {
            "command": "query",
            "sql": LONG[: 1448 - 5],
            "original_length": len(LONG),
            "flags": ("truncated", "after_gap"),
        },
        {"command": "query", "sql": b"SELECT 1"},
    ],
    counters={"gaps": 1, "gap_bytes": 1448},
)
