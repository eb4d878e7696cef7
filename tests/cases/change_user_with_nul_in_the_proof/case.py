from __future__ import annotations

from tests.support import mysql_packets as mysql
from tests.support.talks import ONE_ROW, Case, Talk, prepared

PROOF = b"\x11\x12\x13\x00\x15" + bytes(range(0x20, 0x2F))

talk = Talk().log_in(database=b"shop")
talk.client(mysql.prepare(b"SELECT ?")).server(prepared(1, 1, 0))
talk.client(mysql.command(0x0A)).server(ONE_ROW)
talk.client(mysql.command(0x11, b"kkk\0" + bytes((len(PROOF),)) + PROOF + b"test\0" + b"\x08\0")).server(mysql.ok())
talk.client(mysql.query(b"SELECT USER()")).server(ONE_ROW)
talk.client(mysql.execute(1)).server(mysql.error(1243, b"Unknown prepared statement handler", b"HY000"))

CASE = Case(
    packets=talk.captured,
    expected=[
        {"command": "connect", "user": "app", "database": "shop"},
        {"command": "stmt_prepare", "sql": b"SELECT ?", "statement_id": 1},
        {"command": "process_info", "status": "result"},
        {"command": "change_user", "user": "kkk", "database": "test", "status": "ok"},
        {"command": "query", "sql": b"SELECT USER()", "user": "kkk", "database": "test", "charset": "latin1"},
        {"command": "stmt_execute", "sql": None, "statement_id": 1, "status": "error", "user": "kkk"},
    ],
)
