from __future__ import annotations

import struct

from tests.support import mysql_packets as mysql
from tests.support.talks import Case, Talk

EVENTS = [b"\0" + bytes(4) + b"\x02" + bytes(13) + b"\x03SELECT 'an event'", b"\0" + bytes(40), b"\xfe\0\0\x02\0"]

talk = Talk().log_in(user=b"replica")
talk.client(mysql.command(0x15, bytes(18))).server(mysql.ok())
talk.client(mysql.command(0x12, struct.pack("<IHI", 4, 0, 2) + b"binlog.000001"))
talk.server(*[mysql.packet((1 + number) & 0xFF, event) for number, event in enumerate(EVENTS * 200)])
talk.end()

CASE = Case(
    packets=talk.captured,
    expected=[
        {"command": "connect", "user": "replica"},
        {"command": "register_slave", "status": "ok"},
        {"command": "binlog_dump", "status": "result"},
    ],
    counters={"packets_desync": 0},
)
