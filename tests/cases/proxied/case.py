from __future__ import annotations

import struct

from tests.support import mysql_packets as mysql
from tests.support.talks import ONE_ROW, SECOND_NS, START_NS, Case, Record, Talk

HEADERS = (
    b"PROXY TCP4 192.0.2.7 10.0.0.2 50001 3306\r\n",
    b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c" + bytes((192, 0, 2, 7, 10, 0, 0, 2)) + struct.pack(">HH", 50_001, 3306),
)


def talk(header: bytes, port: int) -> Talk:
    """A login behind the header."""
    one = Talk(client_port=port, at_ns=START_NS + port * SECOND_NS).open().client(header).server(mysql.greeting())
    one.client(mysql.login()).server(mysql.ok(sequence=2))
    return one.client(mysql.query(b"SELECT 1")).server(ONE_ROW)


RECORDS: list[Record] = [
    {"command": "connect", "user": "app", "client": "192.0.2.7:50001"},
    {"command": "query", "sql": b"SELECT 1", "status": "result", "client": "192.0.2.7:50001"},
]
CASE = Case(
    packets=[packet for port, header in enumerate(HEADERS, 40_001) for packet in talk(header, port).captured],
    expected=RECORDS * 2,
)
