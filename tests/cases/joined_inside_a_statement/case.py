from __future__ import annotations

from tests.support import mysql_packets as mysql
from tests.support.talks import ONE_ROW, Case, Talk

SENT = mysql.query(b"UPDATE t SET a = '" + b"x" * 5000 + b"'")

talk = Talk().segments(SENT[2000:]).server(mysql.ok(9))
talk.client(mysql.query(b"SELECT 1")).server(ONE_ROW)

CASE = Case(
    packets=talk.captured,
    cuts=False,  # a command is looked for where segments begin
    expected=[{"command": "query", "sql": b"SELECT 1", "status": "result", "flags": ("joined_late",)}],
)
