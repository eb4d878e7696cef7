from __future__ import annotations

from tests.support import mysql_packets as mysql
from tests.support.mysql_packets import Bound
from tests.support.talks import Case, Talk, prepared

SQL = b"INSERT INTO jobs (name, at, note) VALUES (?, ?, ?)"
VALUES = [
    Bound(mysql.STRING, mysql.counted(b"nightly")),
    Bound(mysql.STRING, mysql.counted(b"2024-02-29 23:59:59.5")),
    Bound(mysql.NULL, None),
]

talk = Talk().log_in()
for number in (1, 2):
    talk.client(mysql.command(0x0E)).server(mysql.ok())
    talk.client(mysql.prepare(SQL)).server(prepared(number, 3, 0))
    talk.client(mysql.execute(number, VALUES)).server(mysql.ok(1, number))
    talk.client(mysql.of_statement(0x19, number) + mysql.query(b"START TRANSACTION")).server(mysql.ok())

CASE = Case(
    packets=talk.captured,
    expected=[
        {"command": "connect"},
        *[
            record
            for number in (1, 2)
            for record in (
                {"command": "ping", "status": "ok"},
                {"command": "stmt_prepare", "sql": SQL, "statement_id": number},
                {
                    "command": "stmt_execute",
                    "sql": SQL,
                    "parameters": ("nightly", "2024-02-29 23:59:59.5", None),
                    "last_insert_id": number,
                },
                {"command": "stmt_close", "statement_id": number},
                {"command": "query", "sql": b"START TRANSACTION", "status": "ok"},
            )
        ],
    ],
    responses=("first", "all"),
)
