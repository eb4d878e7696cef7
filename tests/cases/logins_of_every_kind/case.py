from __future__ import annotations

from tests.support import mysql_packets as mysql
from tests.support.talks import ONE_ROW, SECOND_NS, START_NS, Case, Talk

PROOF = b"\x03SELECT 'no'".ljust(32, b"x")
KINDS: list[list[bytes]] = [
    [b"\x01\x03"],
    [b"\x01\x04", b"\x02", b"\x01-----BEGIN PUBLIC KEY-----" + bytes(400), bytes(256)],
    [b"\xfemysql_native_password\0" + b"s" * 20 + b"\0", PROOF[:20]],
    [b"\xfe", b"oldproof\0"],
    [b"\x02sha256_password\0" + bytes(20), PROOF],
]


def talk(steps: list[bytes], port: int) -> Talk:
    """A login in these steps, which the sides take in turn, and a statement."""
    one = Talk(client_port=port, at_ns=START_NS + port * SECOND_NS).open().server(mysql.greeting(connection_id=port))
    one.client(mysql.login(b"user%d" % port, database=b"shop", pairs={"program_name": "till"}))
    sequence = 2
    for number, step in enumerate(steps):
        (one.client if number % 2 else one.server)(mysql.packet(sequence, step))
        sequence += 1
    one.server(mysql.ok(sequence=sequence))
    return one.client(mysql.query(b"SELECT 1")).server(ONE_ROW)


CASE = Case(
    packets=[packet for port, steps in enumerate(KINDS, 40_001) for packet in talk(steps, port).captured],
    expected=[
        record
        for port in range(40_001, 40_001 + len(KINDS))
        for record in (
            {
                "command": "connect",
                "status": "ok",
                "user": f"user{port}",
                "database": "shop",
                "program": "till",
                "connection_id": port,
                "server_version": "8.0.36",
            },
            {"command": "query", "sql": b"SELECT 1", "status": "result", "database": "shop"},
        )
    ],
)
