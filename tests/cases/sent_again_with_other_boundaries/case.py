from __future__ import annotations

from tests.support import mysql_packets as mysql
from tests.support.talks import Case, Talk

TEXT = b"INSERT INTO t VALUES ('" + bytes(range(1, 256)) * 12 + b"')"
SENT = mysql.query(TEXT)

talk = Talk().log_in()
start = talk.connection.client_next
for begin, end in ((0, 1000), (2000, 2500), (1500, 2200), (500, 1500), (0, 2500), (2500, len(SENT)), (1000, len(SENT))):
    talk.connection.client_next = start + begin
    talk.client(SENT[begin:end])
talk.server(mysql.ok(1))
talk.client(mysql.query(b"COMMIT")).server(mysql.ok())

CASE = Case(
    packets=talk.captured,
    expected=[
        {"command": "connect"},
        {"command": "query", "sql": TEXT, "affected_rows": 1},
        {"command": "query", "sql": b"COMMIT", "status": "ok"},
    ],
    counters={"gaps": 0, "segments_disagreeing": 0},
)
