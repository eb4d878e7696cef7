from __future__ import annotations

from tests.cases.every_type_of_value.case import READ, VALUES
from tests.support import mysql_packets as mysql
from tests.support.mysql_packets import Bound
from tests.support.talks import ONE_ROW, Case, Talk, prepared

NAMED = [value._replace(name=b"n%d" % place) for place, value in enumerate(VALUES)]
NAMES = tuple((f"n{place}", value) for place, value in enumerate(READ))
OWN = [Bound(mysql.LONG, b"\x05\0\0\0"), Bound(mysql.VAR_STRING, b""), Bound(mysql.LONG, None)]

talk = Talk().log_in(capabilities=mysql.CLIENT_CAPABILITIES | mysql.QUERY_ATTRIBUTES)
talk.client(mysql.query_with_attributes(b"SELECT 1", NAMED)).server(ONE_ROW)
talk.client(mysql.prepare(b"SELECT ?, ?, ?")).server(prepared(1, 3, 0))
talk.client(mysql.long_data(1, 1, b"sent before"))
talk.client(mysql.execute_with_attributes(1, OWN, NAMED)).server(ONE_ROW)
talk.client(mysql.prepare(b"SELECT 2")).server(prepared(2, 0, 0))
talk.client(mysql.execute_with_attributes(2, (), NAMED)).server(ONE_ROW)
talk.client(mysql.execute_with_attributes(2)).server(ONE_ROW)

CASE = Case(
    packets=talk.captured,
    expected=[
        {"command": "connect", "query_attributes": None},
        {"command": "query", "sql": b"SELECT 1", "query_attributes": NAMES},
        {"command": "stmt_prepare", "sql": b"SELECT ?, ?, ?"},
        {
            "command": "stmt_execute", "sql": b"SELECT ?, ?, ?", "parameters": (5, "sent before", None),
            "query_attributes": NAMES,
        },
        {"command": "stmt_prepare", "sql": b"SELECT 2"},
        {"command": "stmt_execute", "sql": b"SELECT 2", "parameters": None, "query_attributes": NAMES},
        {"command": "stmt_execute", "sql": b"SELECT 2", "parameters": None, "query_attributes": None},
    ],
    counters={"parameters_unread": 0},
)  # fmt: skip
