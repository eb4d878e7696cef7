from __future__ import annotations

from tests.support import mysql_packets as mysql
from tests.support.packets import ETHERNET
from tests.support.talks import ONE_ROW, SECOND_NS, START_NS, Case, Talk, ethernet, wrapped


def talk(port: int) -> Talk:
    """A statement."""
    one = Talk(client_port=port, at_ns=START_NS + port * SECOND_NS).log_in()
    return one.client(mysql.query(b"SELECT %d" % port)).server(ONE_ROW)


CASE = Case(
    packets=[
        *wrapped(talk(40_001).captured, lambda packet: ethernet(packet, tags=(50,))),
        *wrapped(talk(40_002).captured, lambda packet: ethernet(packet, tags=(100, 0x2FA3))),
    ],
    link=ETHERNET,
    cuts=False,
    expected=[
        {"command": "connect"},
        {"command": "query", "sql": b"SELECT 40001", "status": "result"},
        {"command": "connect"},
        {"command": "query", "sql": b"SELECT 40002", "status": "result"},
    ],
)
