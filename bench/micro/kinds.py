"""One kind of command again and again, as frames with their times: what each costs by itself.

Ten connections send it in turn and get it answered. Packets come from tests.support, which writes them all.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from bench import frames, traffic
from tests.support import mysql_packets as mysql

_CONNECTIONS: Final = 10
_STEP_NS: Final = 250_000
"""Between statements: as at 4,000 a second, one worker's half of 8,000."""
_ANSWER_AFTER_NS: Final = 100_000
_COM_INIT_DB, _COM_PING, _COM_CLOSE, _COM_RESET = 0x02, 0x0E, 0x19, 0x1F
_QUERY: Final = b"SELECT name, price FROM products WHERE id = %07d"
_WORDS: Final = b"a note that somebody wrote about it, "


@dataclass(frozen=True, slots=True)
class Kind:
    """*request*: the bytes of the n-th command, *answer*: what the server says; *before* and its answer come once."""

    name: str
    request: Callable[[int], bytes]
    answer: bytes = mysql.ok()
    before: bytes = b""
    before_answer: bytes = b""
    capabilities: int = mysql.CLIENT_CAPABILITIES


def _query(number: int) -> bytes:
    return mysql.query(_QUERY % number)


def _long(size: int) -> Callable[[int], bytes]:
    filling = (_WORDS * (size // len(_WORDS) + 1))[:size]
    return lambda number: mysql.query(b"UPDATE orders SET note = '%b' WHERE id = %07d" % (filling, number))


def _execute(number: int) -> bytes:
    values = [
        mysql.Bound(mysql.LONGLONG, struct.pack("<q", number)),
        mysql.Bound(mysql.VAR_STRING, mysql.counted(b"order-%07d" % number)),
        mysql.Bound(mysql.DATETIME, b"\x07" + struct.pack("<HBBBBB", 2026, 3, 4, 5, 6, 7)),
        mysql.Bound(mysql.LONG, None),
    ]
    return mysql.execute(1, values, types=number < _CONNECTIONS)


KINDS: Final = (
    Kind("COM_QUERY, 47 bytes", _query, mysql.result()),
    Kind("COM_QUERY, 1 KiB", _long(980)),
    Kind("COM_QUERY, 16 KiB in 12 segments", _long(16 << 10)),
    Kind("COM_QUERY, compressed", lambda number: mysql.frame(_query(number)), mysql.frame(mysql.result(), 1),
         capabilities=mysql.CLIENT_CAPABILITIES | mysql.COMPRESS),
    Kind("COM_QUERY, SET NAMES", lambda _: mysql.query(b"SET NAMES utf8mb4")),
    Kind("COM_STMT_PREPARE", lambda number: mysql.prepare(_QUERY % number), mysql.prepare_ok(1, 0, columns=2)),
    Kind("COM_STMT_EXECUTE, 4 parameters", _execute, before=mysql.prepare(b"CALL place(?, ?, ?, ?)"),
         before_answer=mysql.prepare_ok(1, 4)),
    Kind("COM_STMT_CLOSE", lambda number: mysql.of_statement(_COM_CLOSE, number), b""),
    Kind("COM_INIT_DB", lambda number: mysql.command(_COM_INIT_DB, b"shop%d" % (number % 5))),
    Kind("COM_PING", lambda _: mysql.command(_COM_PING)),
    Kind("COM_RESET_CONNECTION", lambda _: mysql.command(_COM_RESET)),
)  # fmt: skip


class _Connection:
    """Both directions of one connection while its frames are made."""

    def __init__(self, number: int) -> None:
        client = frames.Address(traffic.CLIENT_MAC, "10.77.2.20", traffic.FIRST_CLIENT_PORT + number)
        server = frames.Address(traffic.SERVER_MAC, traffic.SERVER_IP, traffic.SERVER_PORT)
        self._up, self._down = frames.Path(client, server), frames.Path(server, client)
        self._sent, self._answered = 1000, 2000

    def open(self, capabilities: int) -> Iterator[bytes]:
        yield self._up.frame(frames.SYN, self._sent - 1, 0)
        yield self._down.frame(frames.SYN | frames.ACK, self._answered - 1, self._sent)
        yield from self.server(mysql.greeting(capabilities=0xFFFFFFFF))
        yield from self.client(mysql.login(database=b"shop", capabilities=capabilities))
        yield from self.server(mysql.ok(sequence=2))

    def client(self, payload: bytes) -> Iterator[bytes]:
        for at in range(0, len(payload), frames.MOST_PAYLOAD_BYTES):
            piece = payload[at : at + frames.MOST_PAYLOAD_BYTES]
            yield self._up.frame(frames.PSH | frames.ACK, self._sent, self._answered, piece)
            self._sent += len(piece)

    def server(self, payload: bytes) -> Iterator[bytes]:
        if payload:
            yield self._down.frame(frames.PSH | frames.ACK, self._answered, self._sent, payload)
            self._answered += len(payload)


def generate(kind: Kind, commands: int) -> Iterator[tuple[int, bytes]]:
    """The frames of so many *commands* of one kind, and the logins before them, each with its time in ns."""
    now = 1_760_000_000_000_000_000
    connections = [_Connection(number) for number in range(_CONNECTIONS)]
    for connection in connections:
        for frame in connection.open(kind.capabilities):
            yield now, frame
        for frame in (*connection.client(kind.before), *connection.server(kind.before_answer)):
            yield now, frame
        now += _STEP_NS
    for number in range(commands):
        connection = connections[number % _CONNECTIONS]
        for frame in connection.client(kind.request(number)):
            yield now, frame
        for frame in connection.server(kind.answer):
            yield now + _ANSWER_AFTER_NS, frame
        now += _STEP_NS
