"""The published workload as packets: connections that log in, send one statement at a time and get each answered.

Pure: the same Workload gives the same bytes. bench.sender puts them on a wire, `python -m bench.traffic FILE` into a
capture file. Every statement and every answer is one TCP segment, as they are on a real network at these sizes; pure
acknowledgements after the handshake are left out, because in a request-response dialogue they ride on data.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from bench import frames, pcap, protocol, sql

CLIENT_MAC: Final = bytes.fromhex("02515450c101")
SERVER_MAC: Final = bytes.fromhex("02515450d102")
SERVER_IP: Final = "10.77.1.10"
SERVER_PORT: Final = 3306
_CLIENT_HOSTS: Final = 4  # application servers that share the connections
FIRST_CLIENT_PORT: Final = 40_000
_ANSWER_AFTER_NS: Final = 150_000  # a point select on a warm server


@dataclass(frozen=True, slots=True)
class Workload:
    """What to generate: so many statements, dealt to the connections in rounds, in a new order each round."""

    statements: int
    connections: int = 40
    seed: int = 1
    first_connection_id: int = 1
    encrypted: bool = False
    """Each client asks for TLS where it would log in, so that nobody reads what follows."""


class Frame(NamedTuple):
    """One Ethernet frame and the way it goes."""

    to_server: bool
    data: bytes


class Exchange(NamedTuple):
    """One statement of one connection (numbered from 0) and its answer: a frame each way."""

    connection: int
    sql: bytes
    request: bytes
    answer: bytes


@dataclass(frozen=True, slots=True)
class Traffic:
    """A whole workload. Frames are in the order they belong on the wire; *closing* follows the last exchange."""

    opening: list[Frame]
    exchanges: list[Exchange]
    closing: list[Frame]


class _Connection:
    """One connection while its packets are being made: both sequence numbers, and what kind of client it is."""

    def __init__(self, number: int, connection_id: int, random: Random, encrypted: bool) -> None:
        host, port = number % _CLIENT_HOSTS, FIRST_CLIENT_PORT + number
        client = frames.Address(CLIENT_MAC, f"10.77.2.{20 + host}", port)
        server = frames.Address(SERVER_MAC, SERVER_IP, SERVER_PORT)
        self._number = number
        self._connection_id = connection_id
        self._random = random
        self._encrypted = encrypted
        self._up, self._down = frames.Path(client, server), frames.Path(server, client)
        self._sent, self._answered = random.getrandbits(32), random.getrandbits(32)
        self._deprecate_eof = number % 2 == 0  # half the connectors still use the older form of a result set

    def _client(self, payload: bytes, flags: int = frames.PSH | frames.ACK) -> bytes:
        data = self._up.frame(flags, self._sent, self._answered, payload)
        self._sent += len(payload) + (1 if flags & (frames.SYN | frames.FIN) else 0)
        return data

    def _server(self, payload: bytes, flags: int = frames.PSH | frames.ACK) -> bytes:
        data = self._down.frame(flags, self._answered, self._sent, payload)
        self._answered += len(payload) + (1 if flags & (frames.SYN | frames.FIN) else 0)
        return data

    def open(self) -> Iterator[Frame]:
        """TCP handshake, greeting, login, OK."""
        yield Frame(True, self._up.frame(frames.SYN, self._sent, 0))
        self._sent += 1
        yield Frame(False, self._server(b"", frames.SYN | frames.ACK))
        yield Frame(True, self._client(b"", frames.ACK))
        yield Frame(False, self._server(protocol.greeting(self._connection_id, self._random)))
        login = protocol.login(b"shop%d" % (self._number % 5), b"shop", self._deprecate_eof, self._random)
        yield Frame(True, self._client(protocol.tls_request() if self._encrypted else login))
        yield Frame(False, self._server(protocol.ok(2, 0, 0)))

    def exchange(self, statement: bytes) -> Exchange:
        """One statement and its answer: an OK for a write, a row for a SELECT."""
        request = self._client(protocol.query(statement))
        return Exchange(self._number, statement, request, self._server(self._answer(statement)))

    def _answer(self, statement: bytes) -> bytes:
        random = self._random
        if statement.startswith((b"SELECT", b"select", b"/*")):
            texts = [random.randbytes(random.randint(4, 20)).hex().encode() for _ in range(3)]
            return protocol.one_row([b"%d" % random.getrandbits(24), *texts], self._deprecate_eof)
        if statement.startswith(b"INSERT"):
            return protocol.ok(1, 1, random.getrandbits(22))
        return protocol.ok(1, random.choice((0, 1, 1, 1, 2)), 0)

    def close(self) -> Iterator[Frame]:
        """COM_QUIT and both FINs."""
        yield Frame(True, self._client(protocol.packet(0, bytes((protocol.COM_QUIT,)))))
        yield Frame(True, self._client(b"", frames.FIN | frames.ACK))
        yield Frame(False, self._server(b"", frames.FIN | frames.ACK))
        yield Frame(True, self._client(b"", frames.ACK))


def generate(workload: Workload) -> Traffic:
    """All packets of *workload*."""
    random = Random(workload.seed)  # reproducible on purpose; nothing secret
    connections = [
        _Connection(number, workload.first_connection_id + number, random, workload.encrypted)
        for number in range(workload.connections)
    ]
    opening = [frame for connection in connections for frame in connection.open()]
    texts = sql.statements(random)
    exchanges: list[Exchange] = []
    order = list(range(workload.connections))
    while len(exchanges) < workload.statements:
        random.shuffle(order)
        exchanges += [connections[n].exchange(next(texts)) for n in order[: workload.statements - len(exchanges)]]
    closing = [frame for connection in connections for frame in connection.close()]
    return Traffic(opening, exchanges, closing)


def timed(traffic: Traffic, rate: float, start_ns: int) -> Iterator[tuple[int, bytes]]:
    """Each frame with the time (ns) at which it passes when statements are evenly spaced at *rate* a second."""
    now = start_ns
    for frame in traffic.opening:
        yield now, frame.data
        now += 20_000
    step = 1e9 / rate
    answer_after = min(_ANSWER_AFTER_NS, int(step))
    for number, exchange in enumerate(traffic.exchanges):
        sent = now + int(number * step)
        yield sent, exchange.request
        yield sent + answer_after, exchange.answer
    now += int(len(traffic.exchanges) * step) + answer_after
    for frame in traffic.closing:
        yield now, frame.data
        now += 20_000


def main() -> int:
    """Write a workload to a capture file."""
    parser = argparse.ArgumentParser(prog="python -m bench.traffic", description=main.__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--statements", type=int, default=100_000)
    parser.add_argument("--connections", type=int, default=40)
    parser.add_argument("--rate", type=float, default=8000, help="statements a second, by the packets' time stamps")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    traffic = generate(Workload(arguments.statements, arguments.connections, arguments.seed))
    pcap.write(arguments.file, timed(traffic, arguments.rate, 1_760_000_000_000_000_000))
    sys.stdout.write(f"{arguments.file}: {arguments.statements} statements, {arguments.file.stat().st_size} bytes\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
