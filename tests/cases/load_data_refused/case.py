from __future__ import annotations

from tests.support import mysql_packets as mysql
from tests.support.talks import ONE_ROW, Case, Talk

LOCAL = b"LOAD DATA LOCAL INFILE 'x' INTO TABLE t"

talk = Talk().log_in()
talk.client(mysql.query(LOCAL)).server(mysql.local_infile(b"x")).client(mysql.packet(2, b""))
talk.server(mysql.error(1148, b"File not found", b"42000", sequence=3))
talk.client(mysql.query(LOCAL)).server(mysql.error(3948, b"Loading local data is disabled"))
talk.client(mysql.query(b"LOAD DATA INFILE 'x' INTO TABLE t")).server(mysql.ok(5))
talk.client(mysql.query(b"SELECT 1")).server(ONE_ROW)

CASE = Case(
    packets=talk.captured,
    expected=[
        {"command": "connect"},
        {"command": "query", "sql": LOCAL, "status": "error", "error_code": 1148},
        {"command": "query", "sql": LOCAL, "status": "error", "error_code": 3948},
        {"command": "query", "sql": b"LOAD DATA INFILE 'x' INTO TABLE t", "status": "ok", "affected_rows": 5},
        {"command": "query", "sql": b"SELECT 1", "status": "result"},
    ],
    counters={"resyncs": 0},
)
