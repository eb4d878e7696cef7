from __future__ import annotations

from tests.support import mysql_packets as mysql
from tests.support.talks import ONE_ROW, Case, Talk

talk = Talk().log_in()
talk.client(mysql.query(b"/* nightly */ load data local infile 'rows' into table t")).server(mysql.local_infile())
talk.client(mysql.packet(2, b"\x03DROP TABLE t;\n") + mysql.packet(3, b"1,2\n") + mysql.packet(4, b""))
talk.server(mysql.ok(2, sequence=5))
talk.client(mysql.query(b"SELECT 1")).server(ONE_ROW)

CASE = Case(
    packets=talk.one_way(from_client=True),
    expected=[
        {"command": "connect", "status": "unknown", "user": "app"},
        {"command": "query", "sql": b"/* nightly */ load data local infile 'rows' into table t", "status": "unknown"},
        {"command": "query", "sql": b"SELECT 1", "status": "unknown"},
    ],
)
