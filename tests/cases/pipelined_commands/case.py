from __future__ import annotations

from tests.support import answer_packets as answers
from tests.support import mysql_packets as mysql
from tests.support.talks import Case, Talk

talk = Talk().log_in()
talk.client(mysql.query(b"SET autocommit = 0") + mysql.query(b"INSERT INTO t VALUES (1)") + mysql.query(b"COMMIT"))
talk.server(mysql.ok() + mysql.ok(1, 77) + mysql.error(1213, b"Deadlock found", b"40001"))
talk.client(mysql.query(b"SELECT 1")).server(answers.stream(answers.result([answers.text_row(b"1")])))

CASE = Case(
    packets=talk.captured,
    expected=[
        {"command": "connect"},
        {"command": "query", "sql": b"SET autocommit = 0", "status": "ok"},
        {"command": "query", "sql": b"INSERT INTO t VALUES (1)", "status": "ok", "last_insert_id": 77},
        {"command": "query", "sql": b"COMMIT", "status": "error", "error_code": 1213},
        {"command": "query", "sql": b"SELECT 1", "status": "result"},
    ],
)
