from __future__ import annotations

import struct

from tests.support import mysql_packets as mysql
from tests.support.mysql_packets import Bound
from tests.support.talks import Case, Record, Talk, prepared

VALUES = [Bound(mysql.DOUBLE, struct.pack("<d", 7.0)), Bound(mysql.VAR_STRING, mysql.counted(b'{"a":1}'))]
SQL = b"UPDATE t SET doc = ? WHERE id = ?"

talk = Talk().log_in(pairs={"_client_name": "Node-MySQL-2", "program_name": "shop"})
for number in (1, 1):
    talk.client(mysql.prepare(SQL)).server(prepared(number, 2, 0))
    talk.client(mysql.execute(number, VALUES)).server(mysql.ok(1))
    talk.client(mysql.execute(number, VALUES)).server(mysql.ok(0))
    talk.client(mysql.change_user(b"app", pairs={"_client_name": "Node-MySQL-2"})).server(mysql.ok())

RUN: Record = {"command": "stmt_execute", "sql": SQL, "parameters": (7.0, '{"a":1}')}
ROUND: list[Record] = [{"command": "stmt_prepare", "sql": SQL}, RUN, RUN, {"command": "change_user", "user": "app"}]
CASE = Case(packets=talk.captured, expected=[{"command": "connect", "program": "shop"}, *ROUND, *ROUND])
