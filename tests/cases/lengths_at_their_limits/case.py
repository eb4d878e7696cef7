from __future__ import annotations

from tests.support import mysql_packets as mysql
from tests.support.mysql_packets import Bound
from tests.support.talks import ONE_ROW, Case, Talk, prepared

SIZES = (0, 1, 250, 251, 252, 65_535, 65_536)
TEXTS = [b"SELECT '" + b"x" * (size - 9) + b"'" for size in SIZES if size >= 10]
VALUES = [Bound(mysql.VAR_STRING, mysql.counted(b"y" * size)) for size in SIZES]
SQL = b"CALL p(?, ?, ?, ?, ?, ?, ?)"

talk = Talk().log_in()
for text in TEXTS:
    talk.segments(mysql.query(text)).server(ONE_ROW)
talk.client(mysql.prepare(SQL)).server(prepared(9, len(VALUES), 0))
talk.segments(mysql.execute(9, VALUES)).server(mysql.ok())

CASE = Case(
    packets=talk.captured,
    expected=[
        {"command": "connect"},
        *[{"command": "query", "sql": text, "status": "result"} for text in TEXTS],
        {"command": "stmt_prepare", "sql": SQL},
        {"command": "stmt_execute", "sql": SQL, "parameters": tuple("y" * size for size in SIZES), "status": "ok"},
    ],
)
