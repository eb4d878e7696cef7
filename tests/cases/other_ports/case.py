from __future__ import annotations

from tests.support import mysql_packets as mysql
from tests.support.talks import ONE_ROW, SECOND_NS, START_NS, Case, Talk


def talk(port: int) -> Talk:
    """A statement to that port."""
    one = Talk(server_port=port, client_port=port + 10_000, at_ns=START_NS + port * SECOND_NS).log_in()
    return one.client(mysql.query(b"SELECT %d" % port)).server(ONE_ROW)


PORTS = (3307, 6033, 33308)
CASE = Case(
    packets=[packet for port in (*PORTS, 3309) for packet in talk(port).captured],
    ports=PORTS,
    expected=[
        record
        for port in PORTS
        for record in (
            {"command": "connect", "server": f"10.0.0.2:{port}", "client": f"10.0.0.1:{port + 10_000}"},
            {"command": "query", "sql": b"SELECT %d" % port, "status": "result"},
        )
    ],
    counters={"packets_foreign": 8},
)
