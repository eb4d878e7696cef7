"""A second mix of statements: what an object mapper sends, long INSERTs, and prepared statements with parameters.

Pure: the same seed gives the same bytes. Texts are made from a small schema, values at random; times are those of
independent clients: exponential gaps, and answers after a log-normal time.
"""

from __future__ import annotations

import heapq
import math
import struct
from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import Final

from bench import frames, traffic
from tests.support import mysql_packets as mysql

CONNECTIONS: Final = 40
_TABLES: Final = {
    "account": ("id", "email", "display_name", "created_at", "locale", "is_active", "last_seen_at"),
    "article": ("id", "author_id", "slug", "title", "body", "state", "published_at", "revision"),
    "comment": ("id", "article_id", "account_id", "body", "created_at", "score"),
    "invoice": ("id", "account_id", "number", "total", "currency", "due_on", "paid_at", "state"),
    "reading": ("id", "sensor_id", "taken_at", "celsius", "humidity", "battery"),
}
_WORDS: Final = (
    "the", "order", "of", "was", "late", "again", "please", "send", "a", "new", "one", "to", "our", "office", "in",
    "Köln", "instead", "thanks", "for", "your", "help", "it's", "not", "urgent",
)  # fmt: skip
_PREPARED: Final = 24
"""Statements that each connection prepares once."""
_MEDIAN_ANSWER_NS: Final = 150_000
_MOST_ROWS: Final = 60


def _number(random: Random) -> int:
    return int(random.random() ** 3 * 40_000_000) + 1


def _prose(random: Random, most: int) -> str:
    return " ".join(random.choice(_WORDS) for _ in range(random.randint(3, most)))


def _moment(random: Random) -> str:
    day = f"2026-{random.randint(1, 12):02d}-{random.randint(1, 28):02d}"
    clock = f"{random.randrange(24):02d}:{random.randrange(60):02d}:{random.randrange(60):02d}"
    return f"{day} {clock}.{random.randrange(1_000_000):06d}"


def mapped(random: Random) -> bytes:
    """A SELECT as an object mapper writes it: every column with its table and an alias, joins, a page of the result."""
    name, other = random.sample(sorted(_TABLES), 2)
    columns = ", ".join(f"`{name}`.`{column}` AS `t0_{column}`" for column in _TABLES[name])
    text = f"SELECT {columns} FROM `{name}`"
    if random.random() < 0.4:
        text += f" INNER JOIN `{other}` T1 ON (`{name}`.`id` = T1.`{_TABLES[other][1]}`)"
    keys = ", ".join(str(_number(random)) for _ in range(random.choice((1, 1, 1, 2, 5, 20))))
    text += f" WHERE (`{name}`.`id` IN ({keys}) AND `{name}`.`{_TABLES[name][-1]}` > '{_moment(random)}')"
    return f"{text} ORDER BY `{name}`.`id` DESC LIMIT {random.choice((1, 21, 50))}".encode()


def long_insert(random: Random) -> bytes:
    """Many rows in one INSERT: readings of sensors, or comments with prose in them."""
    count = random.randint(5, _MOST_ROWS)
    if random.random() < 0.5:
        rows = (
            f"({_number(random)},'{_moment(random)}',{random.gauss(21, 4):.2f},{random.randint(20, 90)},"
            f"{random.randint(280, 420) / 100})"
            for _ in range(count)
        )
        return f"INSERT INTO reading (sensor_id,taken_at,celsius,humidity,battery) VALUES {','.join(rows)}".encode()
    rows = (
        f"({_number(random)}, {_number(random)}, '{_quoted(_prose(random, 30))}', '{_moment(random)}', "
        f"{random.randint(-5, 90)})"
        for _ in range(count)
    )
    text = f"INSERT INTO `comment` (`article_id`, `account_id`, `body`, `created_at`, `score`) VALUES {', '.join(rows)}"
    return text.encode()


def prepared_text(random: Random) -> tuple[bytes, str]:
    """A statement to prepare, and the kinds of its parameters: i number, s text, d moment, f double."""
    name = random.choice(sorted(_TABLES))
    columns = random.sample(_TABLES[name][1:], random.randint(1, 4))
    kinds = "".join(random.choice("isdf") for _ in columns) + "i"
    if random.random() < 0.5:
        sets = ", ".join(f"{column} = ?" for column in columns)
        return f"UPDATE {name} SET {sets} WHERE id = ?".encode(), kinds
    where = " AND ".join(f"{column} = ?" for column in columns)
    return f"SELECT {', '.join(_TABLES[name])} FROM {name} WHERE {where} AND id > ? LIMIT 100".encode(), kinds


def timed(statements: int, rate: float, start_ns: int, seed: int = 1) -> Iterator[tuple[int, bytes]]:
    """The frames of so many *statements* at about *rate* a second, each with its time, in the order of times."""
    random = Random(seed)  # reproducible on purpose; nothing secret
    connections = [_Connection(number, random) for number in range(CONNECTIONS)]
    now = start_ns
    for connection in connections:
        for frame in connection.open():
            yield now, frame
            now += 20_000
    # A connection sends nothing before it was answered; what it would have sent comes then.
    free: list[tuple[int, int]] = [(now, number) for number in range(CONNECTIONS)]
    waiting: list[tuple[int, int, bytes]] = []
    at, made = float(now), 0
    for _ in range(statements):
        at += random.expovariate(rate) * 1e9
        ready, number = heapq.heappop(free)
        sent = max(int(at), ready)
        answered = sent + int(random.lognormvariate(math.log(_MEDIAN_ANSWER_NS), 0.6))
        request, answer = connections[number].exchange()
        for when, sequence in ((sent, request), (answered, answer)):
            for frame in sequence:
                heapq.heappush(waiting, (when, made, frame))
                made += 1
        heapq.heappush(free, (answered + random.randint(20_000, 2_000_000), number))
        while waiting and waiting[0][0] <= int(at):
            when, _, frame = heapq.heappop(waiting)
            yield when, frame
    while waiting:
        when, _, frame = heapq.heappop(waiting)
        yield when, frame


def random_times(made: traffic.Traffic, rate: float, start_ns: int, seed: int = 1) -> Iterator[tuple[int, bytes]]:
    """As traffic.timed, with times as independent clients have them; still one statement of a connection at a time."""
    random = Random(seed)
    now = start_ns
    for frame in made.opening:
        yield now, frame.data
        now += 20_000
    at = float(now)
    free: dict[int, int] = {}
    waiting: list[tuple[int, int, bytes]] = []
    for number, exchange in enumerate(made.exchanges):
        at += random.expovariate(rate) * 1e9
        sent = max(int(at), free.get(exchange.connection, 0))
        answered = sent + int(random.lognormvariate(math.log(_MEDIAN_ANSWER_NS), 0.6))
        free[exchange.connection] = answered + 10_000
        heapq.heappush(waiting, (sent, 2 * number, exchange.request))
        heapq.heappush(waiting, (answered, 2 * number + 1, exchange.answer))
        while waiting and waiting[0][0] <= int(at):
            when, _, data = heapq.heappop(waiting)
            yield when, data
    latest = now
    while waiting:
        latest, _, data = heapq.heappop(waiting)
        yield latest, data
    for frame in made.closing:
        latest += 20_000
        yield latest, frame.data


class _Connection:
    """One connection while its frames are made: both directions, and what it has prepared."""

    def __init__(self, number: int, random: Random) -> None:
        address = f"10.77.2.{20 + number % 4}"
        client = frames.Address(traffic.CLIENT_MAC, address, traffic.FIRST_CLIENT_PORT + number)
        server = frames.Address(traffic.SERVER_MAC, traffic.SERVER_IP, traffic.SERVER_PORT)
        self._up, self._down = frames.Path(client, server), frames.Path(server, client)
        self._sent, self._answered = random.getrandbits(31), random.getrandbits(31)
        self._random = random
        shared = Random(7)  # the same application on each: the same texts
        self._prepared = [prepared_text(shared) for _ in range(_PREPARED)]
        self._bound: set[int] = set()

    def open(self) -> Iterator[bytes]:
        """Handshake, login, and every statement prepared."""
        yield self._up.frame(frames.SYN, self._sent - 1, 0)
        yield self._down.frame(frames.SYN | frames.ACK, self._answered - 1, self._sent)
        yield from self._server(mysql.greeting(capabilities=0xFFFFFFFF))
        yield from self._client(mysql.login(database=b"app", capabilities=mysql.CLIENT_CAPABILITIES))
        yield from self._server(mysql.ok(sequence=2))
        for number, (text, kinds) in enumerate(self._prepared, 1):
            yield from self._client(mysql.prepare(text))
            definition = b"\x03def" + bytes(20)
            answer = [mysql.prepare_ok(number, len(kinds))]
            answer += [mysql.packet(sequence, definition) for sequence in range(2, 2 + len(kinds))]
            answer.append(mysql.eof(sequence=2 + len(kinds)))
            yield from self._server(b"".join(answer))

    def exchange(self) -> tuple[list[bytes], list[bytes]]:
        """The frames of one statement and of its answer."""
        random = self._random
        chance = random.random()
        if chance < 0.45:
            return list(self._client(mysql.query(mapped(random)))), list(self._server(_RESULT))
        if chance < 0.55:
            return (
                list(self._client(mysql.query(long_insert(random)))),
                list(self._server(mysql.ok(random.randint(5, _MOST_ROWS), _number(random)))),
            )
        number = random.randrange(_PREPARED)
        values = [_value(kind, random) for kind in self._prepared[number][1]]
        types = number not in self._bound
        self._bound.add(number)
        is_update = self._prepared[number][0].startswith(b"UPDATE")
        request = mysql.execute(number + 1, values, types=types)
        return list(self._client(request)), list(self._server(mysql.ok(random.randint(0, 1)) if is_update else _RESULT))

    def _client(self, payload: bytes) -> Iterator[bytes]:
        for piece in _pieces(payload):
            yield self._up.frame(frames.PSH | frames.ACK, self._sent, self._answered, piece)
            self._sent += len(piece)

    def _server(self, payload: bytes) -> Iterator[bytes]:
        for piece in _pieces(payload):
            yield self._down.frame(frames.PSH | frames.ACK, self._answered, self._sent, piece)
            self._answered += len(piece)


def _pieces(payload: bytes) -> Iterable[bytes]:
    most = frames.MOST_PAYLOAD_BYTES
    return (payload[at : at + most] for at in range(0, len(payload), most))


def _value(kind: str, random: Random) -> mysql.Bound:
    if random.random() < 0.05:
        return mysql.Bound(_TYPES[kind], None)
    if kind == "i":
        return mysql.Bound(mysql.LONGLONG, struct.pack("<q", _number(random)))
    if kind == "s":
        return mysql.Bound(mysql.VAR_STRING, mysql.counted(_prose(random, 8).encode()))
    if kind == "f":
        return mysql.Bound(mysql.DOUBLE, struct.pack("<d", round(random.gauss(100, 30), 2)))
    moment = (2026, random.randint(1, 12), random.randint(1, 28), random.randrange(24), random.randrange(60), 0)
    return mysql.Bound(mysql.DATETIME, b"\x07" + struct.pack("<HBBBBB", *moment))


def _quoted(text: str) -> str:
    return text.replace("'", "''")


_TYPES: Final = {"i": mysql.LONGLONG, "s": mysql.VAR_STRING, "f": mysql.DOUBLE, "d": mysql.DATETIME}
_COLUMN: Final = b"\x03def" + bytes(20)
_PACKETS: Final[Sequence[bytes]] = (b"\x01", _COLUMN, b"\xfe\0\0\x02\0", b"\x0242", b"\xfe\0\0\x02\0")
_RESULT: Final = b"".join(mysql.packet(sequence, payload) for sequence, payload in enumerate(_PACKETS, 1))
