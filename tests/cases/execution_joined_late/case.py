from __future__ import annotations

from tests.support import mysql_packets as mysql
from tests.support.mysql_packets import Bound
from tests.support.talks import Case, Talk

LONG = Bound(mysql.VAR_STRING, mysql.counted(b"x" * 11_000))

talk = Talk()
talk.segments(mysql.execute(0x2EC1, [LONG])).server(mysql.ok(1))
talk.client(mysql.query(b"COMMIT")).server(mysql.ok())

JOINED = ("joined_late",)
CASE = Case(
    packets=talk.captured,
    cuts=False,  # in a connection joined late a segment must begin with a command
    expected=[
        {"command": "stmt_execute", "statement_id": 0x2EC1, "status": "ok", "affected_rows": 1, "flags": JOINED},
        {"command": "query", "sql": b"COMMIT", "status": "ok", "flags": JOINED},
    ],
)
