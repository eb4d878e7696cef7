from __future__ import annotations

from tests.support import mysql_packets as mysql
from tests.support.talks import SECOND_NS, START_NS, Case, Talk


def talk(port: int) -> Talk:
    """A connection."""
    return Talk(client_port=port, at_ns=START_NS + port * SECOND_NS).open()


denied = talk(40_001).server(mysql.greeting()).client(mysql.login(b"mallory"))
denied.server(mysql.error(1045, b"Access denied for user 'mallory'", b"28000", sequence=2)).end()
many = talk(40_002).server(mysql.error(1040, b"Too many connections", None, sequence=0)).end()
damaged = talk(40_003).server(mysql.greeting()).client(mysql.packet(1, mysql.login(b"eve")[4:-40]))
damaged.server(mysql.error(1043, b"Bad handshake", b"08S01", sequence=2)).end()
silent = talk(40_004).server(mysql.greeting()).end()

CASE = Case(
    packets=[packet for one in (denied, many, damaged, silent) for packet in one.captured],
    expected=[
        {"command": "connect", "user": "mallory", "status": "error", "error_code": 1045, "sqlstate": "28000"},
        {"command": "connect", "user": None, "status": "error", "error_code": 1040, "sqlstate": None},
        {"command": "connect", "user": "eve", "status": "error", "error_code": 1043},
    ],
)
