from __future__ import annotations

import struct
from decimal import Decimal

from tests.support import mysql_packets as mysql
from tests.support.mysql_packets import Bound
from tests.support.talks import Case, Talk, prepared

SQL = b"INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
VALUES = [
    Bound(mysql.TINY, b"\xff"),
    Bound(mysql.TINY, b"\xff", unsigned=True),
    Bound(mysql.LONGLONG, b"\xff" * 8, unsigned=True),
    Bound(mysql.NULL, b""),
    Bound(mysql.LONG, None),
    Bound(mysql.DOUBLE, struct.pack("<d", -0.5)),
    Bound(mysql.DATE, b"\0"),
    Bound(mysql.DATE, b"\x04\xe8\x07\x02\x1d"),
    Bound(mysql.DATETIME, b"\x0b\xe8\x07\x02\x1d\x17\x3b\x3b" + struct.pack("<I", 999_999)),
    Bound(mysql.TIME, b"\x0c\x01" + struct.pack("<IBBBI", 34, 22, 59, 59, 1)),
    Bound(mysql.NEWDECIMAL, mysql.counted(b"-12345678901234567890.5")),
    Bound(245, mysql.counted(b'{"a": [1, null]}')),
    Bound(mysql.BIT, mysql.counted(b"\x05")),
    Bound(255, mysql.counted(bytes(4) + b"\x01\x01" + bytes(19))),
    Bound(mysql.YEAR, b"\xe8\x07"),
    Bound(mysql.VAR_STRING, mysql.counted("na\u00efve".encode())),
]
READ = (
    -1, 255, 2**64 - 1, None, None, -0.5, "0000-00-00", "2024-02-29", "2024-02-29 23:59:59.999999",
    "-838:59:59.000001", Decimal("-12345678901234567890.5"), '{"a": [1, null]}', b"\x05",
    bytes(4) + b"\x01\x01" + bytes(19), 2024, "na\u00efve",
)  # fmt: skip

talk = Talk().log_in()
talk.client(mysql.prepare(SQL)).server(prepared(3, len(VALUES), 0))
talk.client(mysql.execute(3, VALUES)).server(mysql.ok(1))
talk.client(mysql.execute(3, VALUES, types=False)).server(mysql.ok(1))

CASE = Case(
    packets=talk.captured,
    expected=[
        {"command": "connect"},
        {"command": "stmt_prepare", "sql": SQL, "statement_id": 3},
        {"command": "stmt_execute", "sql": SQL, "parameters": READ, "affected_rows": 1},
        {"command": "stmt_execute", "sql": SQL, "parameters": READ, "affected_rows": 1},
    ],
    counters={"parameters_unread": 0},
)
