from __future__ import annotations

import struct

from tests.support import answer_packets as answers
from tests.support import mysql_packets as mysql
from tests.support.talks import ONE_ROW, Case, Talk

BROKEN = [mysql.integer(1), answers.DEFINITION, answers.eof(), answers.text_row(b"1")]
KILLED = b"\xff" + struct.pack("<H", 1317) + b"#70100Query execution was interrupted"

talk = Talk().log_in()
talk.client(mysql.query(b"SELECT SLEEP(9) FROM t")).server(answers.stream(BROKEN), mysql.packet(5, KILLED))
talk.client(mysql.query(b"SELECT 1")).server(ONE_ROW)

CASE = Case(
    packets=talk.captured,
    responses=("all",),
    expected=[
        {"command": "connect"},
        {"command": "query", "sql": b"SELECT SLEEP(9) FROM t", "status": "error", "error_code": 1317, "rows": 1},
        {"command": "query", "sql": b"SELECT 1", "status": "result", "rows": 1},
    ],
)
