from __future__ import annotations

from tests.support import answer_packets as answers
from tests.support import mysql_packets as mysql
from tests.support.talks import Case, Talk

OLD_DEFINITION = b"\x01t\x01a\x03\x01\0\0\x01\x03\x02\0\0"  # table, column, length, type, flags and decimals

modern = Talk(client_port=40_001).open().server(mysql.greeting(version=b"4.1.22-log"))
modern.client(mysql.login(b"web", capabilities=mysql.PROTOCOL_41, database=b"cms", proof=b"oldproof"))
modern.server(mysql.packet(2, b"\xfe")).client(mysql.packet(3, b"oldproof\0")).server(mysql.ok(sequence=4))
modern.client(mysql.query(b"SELECT @@version_comment")).server(mysql.error(1193, b"Unknown system variable"))
modern.client(mysql.query(b"INSERT INTO t VALUES (1)")).server(mysql.packet(1, b"\0\x01\0\x02\0"))

ancient = Talk(client_port=40_002, at_ns=modern.now_ns).open()
ancient.server(mysql.greeting(version=b"3.23.58", protocol=9, capabilities=0))
ancient.client(mysql.login_320(b"old", database=b"legacy")).server(mysql.packet(2, b"\0\0\0\x02\0"))
ancient.client(mysql.query(b"select 1"))
ancient.server(answers.stream([b"\x01", OLD_DEFINITION, b"\xfe", answers.text_row(b"1"), b"\xfe"]))
ancient.client(mysql.query(b"bad")).server(mysql.error(1064, b"You have an error", None))

CASE = Case(
    packets=[*modern.captured, *ancient.captured],
    expected=[
        {"command": "connect", "status": "ok", "user": "web", "database": "cms", "server_version": "4.1.22-log"},
        {"command": "query", "sql": b"SELECT @@version_comment", "error_code": 1193},
        {"command": "query", "sql": b"INSERT INTO t VALUES (1)", "affected_rows": 1},
        {"command": "connect", "status": "ok", "user": "old", "database": "legacy", "server_version": "3.23.58"},
        {"command": "query", "sql": b"select 1", "status": "result"},
        {"command": "query", "sql": b"bad", "error_code": 1064, "sqlstate": None},
    ],
)
