"""Speaks to a server under TLS, over connections opened before the file `--go` is there and over such opened later.

Run as a module. It says `ready` once the first are open, and at the end a line for each connection: its id and cipher.
"""

from __future__ import annotations

import argparse
import ssl
import time
from pathlib import Path

import pymysql

from tests.support.servers import DATABASE, PASSWORD, USER

READY = "ready"


def connect(port: int) -> pymysql.Connection[pymysql.cursors.Cursor]:
    """A connection under TLS; nobody vouches for the server."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return pymysql.connect(
        host="127.0.0.1", port=port, user=USER, password=PASSWORD, database=DATABASE, ssl=context, autocommit=True
    )


def use(connection: pymysql.Connection[pymysql.cursors.Cursor], number: int) -> str:
    """Send statements and take answers, small and large; the connection's id and cipher."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 'hidden', %s", ("x" * 1000 * number,))
        cursor.execute("SELECT REPEAT('y', %s)", (20_000 * number,))
        cursor.execute("SHOW STATUS LIKE 'Ssl_cipher'")
        (_, cipher), *_ = cursor.fetchall()
    connection.close()
    return f"{connection.thread_id()} {cipher}"  # type: ignore[no-untyped-call]  # so the stubs have it


def main() -> None:
    """As the command line says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--early", type=int, required=True, help="connections opened before --go is there")
    parser.add_argument("--late", type=int, required=True)
    parser.add_argument("--go", type=Path, required=True)
    given = parser.parse_args()
    connections = [connect(given.port) for _ in range(given.early)]
    print(READY, flush=True)
    deadline = time.monotonic() + 120
    while not given.go.exists():
        if time.monotonic() > deadline:
            raise SystemExit(f"{given.go} does not come")
        time.sleep(0.05)
    for number, connection in enumerate(connections):
        print(use(connection, number), flush=True)
    for number in range(given.late):
        print(use(connect(given.port), number), flush=True)


if __name__ == "__main__":
    main()
