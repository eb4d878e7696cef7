from __future__ import annotations

from tests.support import answer_packets as answers
from tests.support import mysql_packets as mysql
from tests.support.talks import Case, Talk

DEPRECATE_EOF = 1 << 24
ROWS = [answers.text_row(b"a", None), answers.text_row(b"b" * 300, b"")]

talk = Talk().log_in(capabilities=mysql.CLIENT_CAPABILITIES | DEPRECATE_EOF)
talk.client(mysql.query(b"SELECT a, b FROM t"))
talk.server(answers.stream(answers.result(ROWS, columns=2, warnings=1, deprecated=True)))
talk.client(mysql.query(b"SELECT a FROM empty")).server(answers.stream(answers.result([], deprecated=True)))
talk.client(mysql.query(b"UPDATE t SET a = 1")).server(mysql.ok(2))

CASE = Case(
    packets=talk.captured,
    expected=[
        {"command": "connect"},
        {"command": "query", "sql": b"SELECT a, b FROM t", "status": "result", "rows": 2},
        {"command": "query", "sql": b"SELECT a FROM empty", "status": "result", "rows": 0},
        {"command": "query", "sql": b"UPDATE t SET a = 1", "status": "ok", "affected_rows": 2},
    ],
)
