from __future__ import annotations

from tests.support import mysql_packets as mysql
from tests.support.talks import ONE_ROW, Case, Talk

talk = Talk().log_in()
talk.client(mysql.query(b"SELECT 1")).server(ONE_ROW).wait(3600)
talk.server(mysql.error(4031, b"The client was disconnected because of inactivity", b"HY000", sequence=0))
talk.client(mysql.query(b"SELECT 2")).end()

CASE = Case(
    packets=talk.captured,
    expected=[
        {"command": "connect"},
        {"command": "query", "sql": b"SELECT 1", "status": "result"},
        {"command": "query", "sql": b"SELECT 2", "status": "unknown", "error_code": None},
    ],
)
