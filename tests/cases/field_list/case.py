from __future__ import annotations

from tests.support import answer_packets as answers
from tests.support import mysql_packets as mysql
from tests.support.talks import ONE_ROW, Case, Talk

TABLES = (b"orders", b"items")

talk = Talk().log_in(database=b"shop")
talk.client(mysql.query(b"show tables")).server(answers.stream(answers.result([*map(answers.text_row, TABLES)])))
for table in TABLES:
    talk.client(mysql.command(4, table + b"\0"))
    talk.server(answers.stream([answers.DEFINITION + b"\xfb", answers.DEFINITION + b"\xfb", answers.eof()]))
talk.client(mysql.query(b"select 1")).server(ONE_ROW)

CASE = Case(
    packets=talk.captured,
    expected=[
        {"command": "connect"},
        {"command": "query", "sql": b"show tables"},
        *[{"command": "field_list", "sql": table, "status": "result", "database": "shop"} for table in TABLES],
        {"command": "query", "sql": b"select 1", "status": "result"},
    ],
)
