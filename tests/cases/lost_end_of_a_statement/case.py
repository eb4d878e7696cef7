from __future__ import annotations

from tests.support import mysql_packets as mysql
from tests.support.talks import ONE_ROW, Case, Talk

LONG = b"UPDATE t SET a = '" + b"x" * 2000 + b"'"
SENT = mysql.query(LONG)

talk = Talk().log_in()
talk.client(SENT[:1448]).lose_client(len(SENT) - 1448 + 20).wait(2)
talk.client(mysql.query(b"SELECT 3")).wait(2).server(ONE_ROW)
talk.client(mysql.query(b"SELECT 4")).server(ONE_ROW)

CASE = Case(
    packets=talk.captured,
    cuts=False,  # a command is looked for where segments begin
    expected=[
        {"command": "connect"},
        {
            "command": "query",
            "sql": LONG[: 1448 - 5],
            "original_length": len(LONG),
            "flags": ("truncated", "after_gap"),
        },
        {"command": "query", "sql": b"SELECT 3", "flags": ("after_gap",)},
        {"command": "query", "sql": b"SELECT 4", "status": "result"},
    ],
    counters={"gaps": 1, "resyncs": 1},
)
