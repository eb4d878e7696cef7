from __future__ import annotations

from tests.support import answer_packets as answers
from tests.support import mysql_packets as mysql
from tests.support.talks import ONE_ROW, Case, Talk

LONG = b"SELECT '" + b"x" * (mysql.MAX_PACKET + 91) + b"'"
EXACT = b"SELECT '" + b"y" * (mysql.MAX_PACKET - 10) + b"'"
assert len(EXACT) + 1 == mysql.MAX_PACKET

talk = Talk().log_in()
talk.segments(mysql.query(LONG), 60_000).server(mysql.error(1153, b"Got a packet bigger", b"08S01", sequence=2))
talk.segments(mysql.query(EXACT), 60_000).server(answers.stream(answers.result([]), sequence=2))
talk.client(mysql.query(b"SELECT 1")).server(ONE_ROW)

CASE = Case(
    packets=talk.captured,
    cuts=False,  # 33 MB
    settings={"max_statement_bytes": 64 << 20},
    expected=[
        {"command": "connect"},
        {"command": "query", "sql": LONG, "status": "error", "error_code": 1153, "original_length": len(LONG)},
        {"command": "query", "sql": EXACT, "status": "result"},
        {"command": "query", "sql": b"SELECT 1", "status": "result"},
    ],
)
