from __future__ import annotations

from tests.support import mysql_packets as mysql
from tests.support.talks import Case, Talk

INSERT = b"INSERT INTO t VALUES (" + b", ".join(b"'row %d'" % row for row in range(2000)) + b")"
SENT = mysql.query(INSERT)
BIG = [b"SELECT '" + bytes((0x61 + number,)) * 25_000 + b"'" for number in range(4)]

talk = Talk().log_in()
talk.client(SENT[:20_272], SENT[20_272:]).server(mysql.ok(2000))
talk.client(b"".join(map(mysql.query, BIG))).server(mysql.ok(1) + mysql.ok(2) + mysql.ok(3) + mysql.ok(4))

CASE = Case(
    packets=talk.captured,
    expected=[
        {"command": "connect"},
        {"command": "query", "sql": INSERT, "affected_rows": 2000},
        *[{"command": "query", "sql": text, "affected_rows": number} for number, text in enumerate(BIG, 1)],
    ],
)
