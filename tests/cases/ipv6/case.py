from __future__ import annotations

from tests.support import mysql_packets as mysql
from tests.support.talks import ONE_ROW, Case, Record, Talk

talk = Talk(client="2001:db8::7", server="2001:db8::1").log_in()
talk.client(mysql.query(b"SELECT 1")).server(ONE_ROW)

ENDS: Record = {"client": "[2001:db8::7]:40000", "server": "[2001:db8::1]:3306"}
CASE = Case(
    packets=talk.captured,
    cuts=False,
    expected=[
        {"command": "connect", "user": "app", **ENDS},
        {"command": "query", "sql": b"SELECT 1", "status": "result", **ENDS},
    ],
)
