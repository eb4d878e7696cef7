from __future__ import annotations

from tests.support import answer_packets as answers
from tests.support import mysql_packets as mysql
from tests.support.talks import ONE_ROW, Case, Talk

ANSWER = answers.stream([answers.ok(3, status=answers.MORE_RESULTS | 2)]) + mysql.error(1146, b"no table", sequence=2)

talk = Talk().log_in()
talk.client(mysql.query(b"DELETE FROM a; DELETE FROM b")).server(ANSWER)
talk.client(mysql.query(b"SELECT 1")).server(ONE_ROW)

CASE = Case(
    packets=talk.captured,
    responses=("all",),
    expected=[
        {"command": "connect"},
        {"command": "query", "sql": b"DELETE FROM a; DELETE FROM b", "status": "error", "error_code": 1146},
        {"command": "query", "sql": b"SELECT 1", "status": "result"},
    ],
)
