from __future__ import annotations

from tests.support import mysql_packets as mysql
from tests.support.talks import ONE_ROW, Case, Talk

SWITCH = mysql.packet(1, b"\xfemysql_native_password\0" + b"s" * 20 + b"\0")

talk = Talk().log_in()
talk.client(mysql.change_user(b"report", database=b"facts")).server(SWITCH)
talk.client(mysql.packet(2, b"\x03\x01" * 10)).server(mysql.ok(sequence=3))
talk.client(mysql.query(b"SELECT 1")).server(ONE_ROW)
talk.client(mysql.change_user(b"root")).server(SWITCH)
talk.client(mysql.packet(2, bytes(20)))
talk.server(mysql.error(1045, b"Access denied for user 'root'", b"28000", sequence=3)).end()

CASE = Case(
    packets=talk.captured,
    expected=[
        {"command": "connect", "user": "app"},
        {"command": "change_user", "user": "report", "database": "facts", "status": "ok"},
        {"command": "query", "sql": b"SELECT 1", "user": "report", "database": "facts"},
        {"command": "change_user", "user": "root", "status": "error", "error_code": 1045, "sqlstate": "28000"},
    ],
)
