from __future__ import annotations

from tests.support import mysql_packets as mysql
from tests.support.mysql_packets import Bound
from tests.support.talks import Case, Talk, prepared

SQL = b"INSERT INTO files VALUES (?, ?)"
NAME = Bound(mysql.VAR_STRING, mysql.counted(b"a.txt"))

talk = Talk().log_in()
talk.client(mysql.prepare(SQL)).server(prepared(4, 2, 0))
talk.client(mysql.long_data(4, 1, b"lost"))
talk.client(mysql.of_statement(0x1A, 4)).server(mysql.ok())
talk.client(mysql.long_data(4, 1, b"first "), mysql.long_data(4, 1, b"second"))
talk.client(mysql.execute(4, [NAME, Bound(mysql.BLOB, b"")])).server(mysql.ok(1))

CASE = Case(
    packets=talk.captured,
    expected=[
        {"command": "connect"},
        {"command": "stmt_prepare", "sql": SQL},
        {"command": "stmt_reset", "statement_id": 4, "status": "ok"},
        {"command": "stmt_execute", "sql": SQL, "parameters": ("a.txt", b"first second"), "affected_rows": 1},
    ],
)
