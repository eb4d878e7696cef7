from __future__ import annotations

from tests.support import mysql_packets as mysql
from tests.support.talks import ONE_ROW, Case, Talk

ODD = [
    b"\0\0\0\0",
    mysql.command(0x7F, b"what"),
    mysql.packet(0, b"\x17\x01\0"),
    mysql.packet(7, b"\x03SELECT 'sequence id'"),
    b"\xff\xff\xff\0\xee" + bytes(40),
]

talk = Talk().log_in(capabilities=mysql.CLIENT_CAPABILITIES | mysql.QUERY_ATTRIBUTES)
for number, odd in enumerate(ODD):
    talk.client(odd).server(b"\xff", mysql.packet(1, b"\xff"))
    talk.client(mysql.query_with_attributes(b"SELECT %d" % number)).server(ONE_ROW)

CASE = Case(
    packets=talk.captured,
    cuts=False,  # a command is looked for where segments begin
    expected=[
        {"command": "connect"},
        *[{"command": "query", "sql": b"SELECT %d" % number} for number in range(len(ODD))],
    ],
)
