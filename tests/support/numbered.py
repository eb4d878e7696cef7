"""A load of statements that are all unlike: numbered, on several connections, paced, until told to end.

Run as a module, for a test starts it inside a network namespace. On SIGTERM it says goodbye and writes the list of what
it sent. Now and then a statement takes many packets. On the last connection they are executions, prepared anew from
time to time, so that who missed the text gets to know it.
"""

from __future__ import annotations

import argparse
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.support import processes
from tests.support.client import Client
from tests.support.servers import DATABASE, PASSWORD, USER
from tests.support.statements import save

_NUMBERED: Final = re.compile(rb"SELECT '(\w+)', (\d+)(?: /\* x+ \*/)?")
_LONG_EACH: Final = 50
_LONG_BYTES: Final = 30_000
PREPARED_EACH: Final = 100
MOST_ROUNDS: Final = 250
"""A second, with a statement of each connection."""


def text(name: str, number: int) -> bytes:
    """Statement *number* of connection *name*."""
    padding = b" /* %s */" % (b"x" * _LONG_BYTES) if number % _LONG_EACH == _LONG_EACH - 1 else b""
    return b"SELECT '%s', %d%s" % (name.encode(), number, padding)


def place(sql: bytes) -> tuple[str, int] | None:
    """Which connection's statement it is and its number; None where nobody sends such a one."""
    match = _NUMBERED.fullmatch(sql)
    if match is None:
        return None
    name, number = match[1].decode(), int(match[2])
    return (name, number) if sql in {text(name, number), executed(name, number)} else None


def prepared(name: str) -> bytes:
    """What is prepared on connection *name*."""
    return b"SELECT '%s', ?" % name.encode()


def executed(name: str, number: int) -> bytes:
    """An execution with the value in its place."""
    return prepared(name).replace(b"?", b"%d" % number)


def command(
    host: str,
    port: int,
    name: str,
    connections: int,
    output: Path,
    *,
    prepared_each: int = PREPARED_EACH,
    rounds: int = MOST_ROUNDS,
) -> list[str]:
    """The command line that sends, on connections called *name*0, *name*1 and so on.

    What the last one executes it prepares anew before each *prepared_each* statements. Each sends *rounds* of them a
    second, at most.
    """
    return processes.module(
        "tests.support.numbered", "--host", host, "--port", str(port), "--name", name,
        "--connections", str(connections), "--output", str(output), "--prepared-each", str(prepared_each),
        "--rounds", str(rounds),
    )  # fmt: skip


def _executions(client: Client, name: str, prepared_each: int) -> Callable[[int], None]:
    known = [client.prepare(prepared(name))]

    def send(number: int) -> None:
        if number % prepared_each == prepared_each - 1:
            client.close_prepared(known.pop())
            known.append(client.prepare(prepared(name)))
        client.execute(known[0], (number,))

    return send


def main() -> None:
    """Send as the command line says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--connections", type=int, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--prepared-each", type=int, required=True)
    parser.add_argument("--rounds", type=int, required=True)
    arguments = parser.parse_args()
    told: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _frame: told.append(number))
    clients = {
        f"{arguments.name}{number}": Client(
            arguments.port, user=USER, password=PASSWORD, database=DATABASE, host=arguments.host
        )
        for number in range(arguments.connections)
    }
    last = list(clients)[-1]
    execute = _executions(clients[last], last, arguments.prepared_each)
    number = 0
    begin = time.monotonic()
    while not told:
        for name, client in clients.items():
            if name == last:
                execute(number)
            else:
                client.query(text(name, number))
        number += 1
        time.sleep(max(0.0, begin + number / arguments.rounds - time.monotonic()))
    for client in clients.values():
        client.close()
    save(arguments.output, (statement for client in clients.values() for statement in client.sent))


if __name__ == "__main__":
    main()
