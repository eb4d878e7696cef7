from __future__ import annotations

from tests.support import mysql_packets as mysql
from tests.support.talks import SECOND_NS, Case, Talk, prepared

first = Talk().log_in(user=b"old", database=b"before")
first.client(mysql.prepare(b"SELECT ?")).server(prepared(1, 0, 0)).client(mysql.query(b"SELECT SLEEP(100)"))
second = Talk(at_ns=first.now_ns + SECOND_NS, client_first=900_000, server_first=7_000_000).log_in(user=b"new")
second.client(mysql.execute(1)).server(mysql.error(1243, b"Unknown prepared statement handler", b"HY000"))

CASE = Case(
    packets=[*first.captured, *second.captured],
    expected=[
        {"command": "connect", "user": "old"},
        {"command": "stmt_prepare", "sql": b"SELECT ?", "user": "old"},
        {"command": "query", "sql": b"SELECT SLEEP(100)", "status": "unknown", "database": "before"},
        {"command": "connect", "user": "new", "database": None},
        {"command": "stmt_execute", "sql": None, "status": "error", "user": "new", "database": None},
    ],
)
