from __future__ import annotations

import struct

from tests.support import mysql_packets as mysql
from tests.support.mysql_packets import Bound
from tests.support.talks import ONE_ROW, Case, Talk, prepared

ONE = Bound(mysql.LONG, struct.pack("<i", 1))
TEXTS = [b"SELECT * FROM t%d WHERE id = ?" % number for number in range(2000)]

talk = Talk().log_in()
for number, text in enumerate(TEXTS, 1):
    talk.client(mysql.prepare(text)).server(prepared(number, 1, 0))
talk.client(mysql.execute(1, [ONE])).server(ONE_ROW)

CASE = Case(
    packets=talk.captured,
    expected=[
        {"command": "connect"},
        *[{"command": "stmt_prepare", "sql": text, "statement_id": at} for at, text in enumerate(TEXTS, 1)],
        {"command": "stmt_execute", "sql": TEXTS[0], "parameters": (1,), "statement_id": 1},
    ],
    cuts=False,  # they are cut elsewhere, and these are many
)
