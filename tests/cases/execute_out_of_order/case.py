from __future__ import annotations

import struct

from tests.support import mysql_packets as mysql
from tests.support.mysql_packets import Bound
from tests.support.talks import Case, Talk, prepared, timed

MOMENT = Bound(mysql.DATETIME, b"\x07" + struct.pack("<HBBBBB", 2013, 3, 18, 17, 30, 20))
LONG = Bound(mysql.VAR_STRING, mysql.counted(b"0123456789" * 1108 + b"ab"))
SENT = mysql.execute(0x2EC1, [LONG, MOMENT])
assert len(SENT) == 11_113

talk = Talk().log_in()
talk.client(mysql.prepare(b"INSERT INTO log VALUES (?, ?)")).server(prepared(0x2EC1, 2, 0))
BEFORE = len(talk.captured)
talk.client(SENT[:1448], SENT[1448:8688], SENT[8688:10_136], SENT[10_136:])
FIRST, GRO, THIRD, LAST = talk.captured[BEFORE:]
talk.captured[BEFORE:] = [LAST, LAST, THIRD, GRO, FIRST]
talk.server(mysql.ok(1))

CASE = Case(
    packets=timed(talk.captured),
    expected=[
        {"command": "connect"},
        {"command": "stmt_prepare", "sql": b"INSERT INTO log VALUES (?, ?)"},
        {
            "command": "stmt_execute",
            "sql": b"INSERT INTO log VALUES (?, ?)",
            "statement_id": 0x2EC1,
            "parameters": ("0123456789" * 1108 + "ab", "2013-03-18 17:30:20"),
            "status": "ok",
            "affected_rows": 1,
        },
    ],
    settings={"max_flow_buffer_bytes": 64 << 20},  # byte by byte, what waits costs more than it is
    counters={"packets_duplicate": 1, "gaps": 0},
)
