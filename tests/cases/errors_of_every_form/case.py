from __future__ import annotations

from tests.support import answer_packets as answers
from tests.support import mysql_packets as mysql
from tests.support.talks import ONE_ROW, Case, Talk

ERRORS = [
    (mysql.error(1146, b"Table 'a.b' doesn't exist", b"42S02"), (1146, "42S02", "Table 'a.b' doesn't exist")),
    (mysql.error(1644, b"my own", b"45000"), (1644, "45000", "my own")),
    (mysql.error(50_001, b"custom", b"ABCDE"), (50_001, "ABCDE", "custom")),
    (mysql.error(1064, b"old", None), (1064, None, "old")),
    (mysql.error(1317, b"", b"70100"), (1317, "70100", "")),
    (mysql.error(1366, b"Incorrect value '\xff'", b"HY000"), (1366, "HY000", "Incorrect value '\ufffd'")),
]

talk = Talk().log_in()
for answer, _ in ERRORS:
    talk.client(mysql.query(b"SELECT broken")).server(answer)
talk.client(mysql.query(b"ALTER TABLE t ENGINE=Aria"))
talk.server(mysql.packet(1, answers.progress()), mysql.packet(2, answers.progress(2)), mysql.packet(3, answers.ok(7)))
talk.client(mysql.query(b"SELECT 1")).server(ONE_ROW)

CASE = Case(
    packets=talk.captured,
    expected=[
        {"command": "connect"},
        *[
            {"command": "query", "sql": b"SELECT broken", "error_code": code, "sqlstate": state, "error_message": text}
            for _, (code, state, text) in ERRORS
        ],
        {"command": "query", "sql": b"ALTER TABLE t ENGINE=Aria"},
        {"command": "query", "sql": b"SELECT 1", "status": "result"},
    ],
)
