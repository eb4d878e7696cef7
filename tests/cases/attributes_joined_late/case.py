from __future__ import annotations

from tests.support import mysql_packets as mysql
from tests.support.mysql_packets import Bound
from tests.support.talks import ONE_ROW, Case, Talk

NAMED = Bound(mysql.VAR_STRING, mysql.counted(b"00-aa-bb-01"), name=b"traceparent")
LONG = b"INSERT INTO t VALUES ('" + b"x" * 4000 + b"')"

talk = Talk()
talk.client(mysql.query_with_attributes(b"SELECT 1")).server(ONE_ROW)
talk.client(mysql.query_with_attributes(b"SELECT 2", [NAMED])).server(ONE_ROW)
talk.segments(mysql.query_with_attributes(LONG)).server(mysql.ok(1))

JOINED = ("joined_late",)
CASE = Case(
    packets=talk.captured,
    cuts=False,  # in a connection joined late a segment must begin with a command
    expected=[
        {"command": "query", "sql": b"SELECT 1", "status": "result", "flags": JOINED},
        {"command": "query", "sql": b"SELECT 2", "status": "result", "flags": JOINED},
        {"command": "query", "sql": LONG, "affected_rows": 1, "flags": JOINED},
    ],
)
