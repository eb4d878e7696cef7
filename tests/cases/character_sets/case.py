from __future__ import annotations

from tests.support import mysql_packets as mysql
from tests.support.talks import ONE_ROW, Case, Talk

GBK = b"SELECT '\x81\x5c\xb0\xa1'"

talk = Talk().log_in(charset=mysql.LATIN1)
talk.client(mysql.query(b"SELECT '\xe9'")).server(ONE_ROW)
talk.client(mysql.query(b"SET NAMES gbk")).server(mysql.ok())
talk.client(mysql.query(GBK)).server(ONE_ROW)

CASE = Case(
    packets=talk.captured,
    expected=[
        {"command": "connect"},
        {"command": "query", "sql": b"SELECT '\xe9'", "charset": "latin1"},
        {"command": "query", "sql": b"SET NAMES gbk"},
        {"command": "query", "sql": GBK, "charset": "gbk", "status": "result"},
    ],
)
