from __future__ import annotations

import struct

from tests.support import mysql_packets as mysql
from tests.support.mysql_packets import Bound
from tests.support.talks import ONE_ROW, Case, Talk, prepared

PARENT = Bound(mysql.VAR_STRING, mysql.counted(b"00-" + b"a" * 32 + b"-" + b"b" * 16 + b"-01"), name=b"traceparent")
ODD = [
    Bound(mysql.LONGLONG, struct.pack("<q", -1), name=b"n"),
    Bound(mysql.NULL, None, name=b""),
    Bound(mysql.VAR_STRING, mysql.counted(b"SELECT 'no' " * 40), name=b"long" * 80),
]
SAME = ("traceparent", f"00-{'a' * 32}-{'b' * 16}-01")
READ = (("n", -1), ("", None), ("long" * 80, "SELECT 'no' " * 40))
ONE = Bound(mysql.LONG, struct.pack("<i", 1))

talk = Talk().log_in(capabilities=mysql.CLIENT_CAPABILITIES | mysql.QUERY_ATTRIBUTES)
talk.client(mysql.query_with_attributes(b"SELECT 1", [PARENT] * 60)).server(ONE_ROW)
talk.client(mysql.query_with_attributes(b"SELECT 2")).server(ONE_ROW)
talk.client(mysql.query_with_attributes(b"\x01\x01 odd SQL", ODD)).server(mysql.error(1064, b"syntax"))
talk.client(mysql.prepare(b"SELECT ?")).server(prepared(1, 1, 0))
talk.client(mysql.execute_with_attributes(1, [ONE], [PARENT, PARENT])).server(ONE_ROW)

CASE = Case(
    packets=talk.captured,
    expected=[
        {"command": "connect"},
        {"command": "query", "sql": b"SELECT 1", "status": "result", "query_attributes": (SAME,) * 60},
        {"command": "query", "sql": b"SELECT 2", "status": "result", "query_attributes": None},
        {"command": "query", "sql": b"\x01\x01 odd SQL", "status": "error", "query_attributes": READ},
        {"command": "stmt_prepare", "sql": b"SELECT ?"},
        {"command": "stmt_execute", "sql": b"SELECT ?", "parameters": (1,), "query_attributes": (SAME, SAME)},
    ],
)
