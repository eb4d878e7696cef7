from __future__ import annotations

from tests.support import mysql_packets as mysql
from tests.support.mysql_packets import Bound
from tests.support.talks import ONE_ROW, Case, Talk, prepared

PARENT = Bound(mysql.VAR_STRING, mysql.counted(b"00-aa-bb-01"), name=b"traceparent")
ONE = Bound(mysql.LONG, b"\x01\0\0\0")
NAMED = (("traceparent", "00-aa-bb-01"),)
EXECUTED = {"command": "stmt_execute", "sql": b"SELECT ?", "parameters": (1,), "flags": ("inferred_id",)}

talk = Talk().log_in(capabilities=mysql.CLIENT_CAPABILITIES | mysql.QUERY_ATTRIBUTES)
talk.client(mysql.query_with_attributes(b"SELECT 1", [PARENT])).server(ONE_ROW)
talk.client(mysql.prepare(b"SELECT ?")).server(prepared(1, 1, 0))
talk.client(mysql.execute_with_attributes(1, [ONE], [PARENT])).server(ONE_ROW)
talk.client(mysql.execute_with_attributes(1, [ONE])).server(ONE_ROW)
talk.client(mysql.execute_with_attributes(77, [ONE], [PARENT])).server(ONE_ROW).end()

CASE = Case(
    packets=talk.one_way(from_client=True),
    expected=[
        {"command": "connect"},
        {"command": "query", "sql": b"SELECT 1", "query_attributes": NAMED},
        {"command": "stmt_prepare", "sql": b"SELECT ?"},
        {**EXECUTED, "query_attributes": NAMED},
        {**EXECUTED, "query_attributes": None},
        {"command": "stmt_execute", "sql": None, "parameters": None, "query_attributes": NAMED},
    ],
)
