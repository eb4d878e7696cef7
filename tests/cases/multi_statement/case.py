from __future__ import annotations

from tests.support import answer_packets as answers
from tests.support import mysql_packets as mysql
from tests.support.talks import Case, Talk

BOTH = answers.stream(
    [
        *answers.result([answers.text_row(b"1")], status=answers.MORE_RESULTS | 2),
        *answers.result([answers.text_row(b"2"), answers.text_row(b"3")]),
    ]
)

talk = Talk().log_in()
talk.client(mysql.query(b"select 1;select * from n")).server(BOTH)
talk.client(mysql.query(b"delete from n")).server(mysql.ok(2))

CASE = Case(
    packets=talk.captured,
    expected=[
        {"command": "connect"},
        {"command": "query", "sql": b"select 1;select * from n", "status": "result", "rows": 3},
        {"command": "query", "sql": b"delete from n", "status": "ok", "affected_rows": 2},
    ],
)
