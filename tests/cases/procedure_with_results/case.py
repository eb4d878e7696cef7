from __future__ import annotations

from tests.support import answer_packets as answers
from tests.support import mysql_packets as mysql
from tests.support.talks import Case, Talk

FIRST = answers.result([answers.text_row(b"1")], status=answers.MORE_RESULTS)
SECOND = answers.result([answers.text_row(b"x"), answers.text_row(None)], status=answers.MORE_RESULTS)

talk = Talk().log_in()
talk.client(mysql.query(b"CALL monthly(2024)"))
talk.server(answers.stream(FIRST), answers.stream(SECOND, sequence=6), mysql.packet(12, answers.ok(4)))
talk.client(mysql.query(b"SELECT nothing")).server(mysql.error(1054, b"Unknown column 'nothing'", b"42S22"))

CASE = Case(
    packets=talk.captured,
    expected=[
        {"command": "connect"},
        {"command": "query", "sql": b"CALL monthly(2024)", "status": "result", "rows": 3},
        {"command": "query", "sql": b"SELECT nothing", "status": "error", "error_code": 1054, "sqlstate": "42S22"},
    ],
)
