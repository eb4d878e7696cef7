"""A load over real TCP connections: clients and a server that answers OK, in one process, so that sockets count it.

Run inside the namespace that is captured. Connections say unequally much: each twelfth says half of it all.
"""

from __future__ import annotations

import argparse
import json
import mmap
import signal
import socket
import sys
import time
from pathlib import Path
from random import Random
from types import FrameType
from typing import Final

from bench import protocol, sql

_MOST_BYTES: Final = 65536
_BUSY: Final = 12
_TICK_S: Final = 0.005


class Dialogue:
    """One connection, logged in."""

    def __init__(self, listening: socket.socket, number: int, random: Random) -> None:
        self._sent = 0
        self._client = socket.create_connection(listening.getsockname())
        self._server = listening.accept()[0]
        for end in (self._client, self._server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._answer(protocol.greeting(number, random))
        self._ask(protocol.login(b"shop", b"shop", True, random))
        self._answer(protocol.ok(2, 0, 0))

    def exchange(self, statement: bytes) -> None:
        """One statement, with its number on this connection, and its answer."""
        self._sent += 1
        self._ask(protocol.query(b"%b /* %d */" % (statement, self._sent)))
        self._answer(_OK)

    def close(self) -> None:
        """Say goodbye."""
        self._client.close()
        self._server.close()

    def _ask(self, packet: bytes) -> None:
        self._client.send(packet)
        self._server.recv(_MOST_BYTES)

    def _answer(self, packet: bytes) -> None:
        self._server.send(packet)
        self._client.recv(_MOST_BYTES)


_OK: Final = protocol.ok(1, 0, 0)


def main() -> int:
    """Send until SIGTERM; prints how many statements."""
    parser = argparse.ArgumentParser(prog="python -m bench.budget.sockets", description=main.__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--rate", type=float, required=True)
    parser.add_argument("--connections", type=int, default=240)
    parser.add_argument("--progress", type=Path, required=True)
    arguments = parser.parse_args()
    random = Random(1)  # reproducible on purpose
    texts = sql.statements(random)
    statements = [next(texts) for _ in range(5000)]
    stopping = False

    def stop(_signal: int, _frame: FrameType | None) -> None:
        nonlocal stopping
        stopping = True

    signal.signal(signal.SIGTERM, stop)
    with (
        socket.create_server(("127.0.0.1", arguments.port), backlog=arguments.connections) as listening,
        arguments.progress.open("r+b") as file,
        mmap.mmap(file.fileno(), 8) as progress,
    ):
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.readline()
        dialogues = [Dialogue(listening, number, random) for number in range(1, arguments.connections + 1)]
        busy = dialogues[::_BUSY]
        began, sent = time.monotonic(), 0
        while not stopping:
            due = int((time.monotonic() - began) * arguments.rate)
            for number in range(sent, min(due, sent + int(arguments.rate * _TICK_S) + 1)):
                who = busy[number // 2 % len(busy)] if number % 2 else dialogues[number // 2 % len(dialogues)]
                who.exchange(statements[number % len(statements)])
                sent += 1
            if due - sent > arguments.rate:  # the machine cannot do more
                began += 1.0
            progress[:8] = sent.to_bytes(8, "little")
            time.sleep(_TICK_S if due <= sent else 0)
        for dialogue in dialogues:
            dialogue.close()
    sys.stdout.write(json.dumps({"statements": sent}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
