"""A load of odd statements over several connections, from one process, paced; it keeps its own list of what it sent.

Run as a module, for a test starts it inside its network namespace. The list goes to a file, a summary to the output.
"""

from __future__ import annotations

import argparse
import datetime
import json
import random
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pymysql

from tests.support.client import Client, Parameter, Prepared
from tests.support.servers import DATABASE, PASSWORD, USER
from tests.support.statements import Statement, save

TABLES = (
    "CREATE TABLE odd (id INT AUTO_INCREMENT PRIMARY KEY, number BIGINT, data LONGBLOB, words VARCHAR(300)) "
    "CHARACTER SET utf8mb4",
    "CREATE PROCEDURE odd_procedure(wanted INT) BEGIN SELECT wanted; SELECT wanted + 1; END",
)
CHARSETS = ("utf8mb4", "utf8mb4", "latin1", "gbk")
LARGE_BYTES = 1 << 20

PLAIN_TEXTS = (
    b"SELECT 'nul \x00 inside' /* %d */",
    b"SELECT 'escaped nul \\0 and \\' and \\\" and \\\\' /* %d */",
    b'SELECT \'it\'\'s\', "a ""b""", \'double " in single\' /* %d */',
    b"SELECT 1\n  , 2\r\n  , '%d\n'\n",
    b"SELECT 'looks like an entry:\n\t\t     7 Query\tSELECT %d'",
    b"SELECT 'and with a time\n261130 18:15:00\t     8 Query\tSELECT %d\n\t\t     8 Quit\t'",
    b"   \t\n SELECT %d  ;  ; \n",
    b"/* only a comment %d */",
    b"-- a comment of one line %d",
    b"SELECT %d # and a comment ;",
    b"SELECT %d /*!50000 , 1 */ /*M!100000 , 2 */",
    b"",
    b"   ",
    b"\x00",
    b";",
    b"SELEC %d is a mistake",
    b"SELECT * FROM no_such_table_%d",
    b"SELECT 1/%d, NULL, 1 = 2",
    b"SELECT \xff\xfe%d",
    b"SET @a = %d",
    b"USE app /* %d */",
    b"INSERT INTO odd (number, data, words) VALUES (%d, 'x''y\\'z', 'w')",
    b"UPDATE odd SET number = number + 1 WHERE id = %d",
    b"DELETE FROM odd WHERE id = %d",
    b"SELECT REPEAT('a big answer', 20000) /* %d */",
    b"CALL odd_procedure(%d)",
    b"SELECT %d; SELECT 2 ; \n SELECT 'three;'; ",
    b"SELECT %d" + b" " * 60000 + b"+ 1",
)
"""Statements that are bytes in any character set; `%d` becomes a number, so that most are unlike all others."""

CHARSET_TEXTS = {
    "utf8mb4": (
        "SELECT '\U0001f600 é 漢字 \u2028 \ufeff' /* %d */".encode(),
        "SELECT %d AS `naïve \U0001f600`".encode(),
    ),
    "latin1": (b"SELECT 'caf\xe9 \x80 \xff' /* %d */",),
    "gbk": (b"SELECT '\x95\x5c \xb0\xa1' /* %d: a backslash that is half a character */",),
}

PARAMETERS: tuple[Parameter, ...] = (
    None, 0, -1, 127, -128, 65535, -(1 << 31), (1 << 31), (1 << 63) - 1, -(1 << 63), (1 << 64) - 1,
    0.0, 0.1, -1.5e-7, 1 / 3, 1e14, 1e15, 1.5e300, 5e-324, 123456.789, -2.5,
    Decimal("1.50"), Decimal("-0.001"), Decimal("12345678901234567890.123456789"), Decimal(7),
    "", "plain", "it's \"quoted\" \\ and `so`", "line\nreturn\rtab\tend\x1a", "nul \0 inside",
    "a question ?", "2024-01-02",
    b"", b"\x00\x01\x02'\"\\", b"bytes ?", b"\t\t     9 Query\tSELECT 1",
    datetime.date(2024, 2, 29), datetime.datetime(2024, 2, 29, 23, 59, 58),  # noqa: DTZ001  # the protocol has no zones
    datetime.datetime(2024, 2, 29, 23, 59, 58, 120), datetime.timedelta(hours=1, seconds=2),  # noqa: DTZ001
    datetime.timedelta(days=-2, microseconds=4000), datetime.timedelta(0),
)  # fmt: skip
CHARSET_PARAMETERS: dict[str, tuple[Parameter, ...]] = {
    "utf8mb4": ("\U0001f600 é 漢字", b"\xff\xfe\x80 no UTF-8", b"cut short \xf0\x9f\x98"),
    "latin1": ("café €", b"\xe9\x5c\xff"),
    "gbk": (b"\x95\x5c\xb0\xa1'",),
}

PREPARED_TEXTS = (
    b"SELECT ?",
    b" SELECT ?, '? in text', `number?`, ? /* ? in a comment */ FROM (SELECT 1 AS `number?`) AS t -- ?\n ; ",
    b"INSERT INTO odd (number, data, words) VALUES (1, ?, 'p')",
    b"SELECT 'a\x00b\nc', ?, /*! ? , */ \"?\"",
    b"SELECT 'nothing to bind'",
)


class Session:
    """One connection and what it does on it; each move sends at least one statement."""

    def __init__(self, host: str, port: int, charset: str, seed: int) -> None:
        self.client = Client(port, user=USER, password=PASSWORD, database=DATABASE, charset=charset, host=host)
        self._random = random.Random(seed)
        self._texts = PLAIN_TEXTS + CHARSET_TEXTS[charset]
        self._parameters = PARAMETERS + CHARSET_PARAMETERS[charset]
        self._open: list[Prepared] = []
        self._number = seed * 1_000_000
        self._moves: list[Callable[[], None]] = [self._query] * 12 + [self._execute_again] * 12
        self._moves += [self._prepare] * 5 + [self._close_prepared] * 4
        self._moves += [self._same_types, self._long_data, self._use, self._fail_to_prepare]

    def move(self) -> None:
        """Do one thing."""
        self._random.choice(self._moves)()

    def large(self) -> None:
        """Insert a value of 1 MiB, once as text and once bound."""
        value = bytes(self._random.choices(b"abcdefghij \n", k=LARGE_BYTES))
        self.client.query(b"INSERT INTO odd (number, data) VALUES (%d, '%s')" % (self._next(), value))
        prepared = self.client.prepare(b"INSERT INTO odd (number, data) VALUES (?, ?)")
        self.client.execute(prepared, (self._next(), value))
        self.client.close_prepared(prepared)

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _query(self) -> None:
        text = self._random.choice(self._texts)
        self.client.query(text.replace(b"%d", b"%d" % self._next()))

    def _prepare(self) -> None:
        self._open.append(self.client.prepare(self._random.choice(PREPARED_TEXTS)))

    def _execute_again(self) -> None:
        if not self._open:
            self._prepare()
        prepared = self._random.choice(self._open)
        self.client.execute(prepared, self._random.choices(self._parameters, k=prepared.placeholders))

    def _same_types(self) -> None:
        prepared = self.client.prepare(b"SELECT ?, ? /* several times */")
        for _ in range(3):
            self.client.execute(prepared, (self._random.randrange(1000), self._random.choice(("one", "two", ""))))
        self.client.close_prepared(prepared)

    def _long_data(self) -> None:
        prepared = self.client.prepare(b"SELECT LENGTH(?), ? /* in pieces */")
        for piece in (b"first 'piece' ", b"", b"second\n"):
            self.client.send_long_data(prepared, 0, piece)
        self.client.execute(prepared, (b"", self._next()))
        self.client.execute(prepared, (b"again, bound as usual", self._next()))
        self.client.close_prepared(prepared)

    def _close_prepared(self) -> None:
        if self._open:
            self.client.close_prepared(self._open.pop(self._random.randrange(len(self._open))))
        else:
            self._query()

    def _use(self) -> None:
        self.client.ping()
        self.client.use(self._random.choice(("mysql", DATABASE, "no_such_database")))
        self.client.use(DATABASE)

    def _fail_to_prepare(self) -> None:
        try:
            self.client.prepare(b"SELECT FROM %d WHERE ?" % self._next())
        except pymysql.Error:
            self._query()


def run(
    host: str, port: int, connections: int, statements: int, rate: float, seed: int
) -> tuple[list[Statement], float]:
    """Send at least *statements* statements at no more than *rate* a second; what was sent, and the seconds it took."""
    sessions = [Session(host, port, CHARSETS[place % len(CHARSETS)], seed + place) for place in range(connections)]
    order = random.Random(seed)
    begin = time.monotonic()
    while (sent := sum(len(session.client.sent) for session in sessions)) < statements:
        order.choice(sessions).move()
        time.sleep(max(0.0, begin + sent / rate - time.monotonic()))
    for session in sessions[:: max(1, len(CHARSETS) // 2)]:
        session.large()
    seconds = time.monotonic() - begin
    for session in sessions:
        session.client.close()
    return [statement for session in sessions for statement in session.client.sent], seconds


def main() -> None:
    """Run as the command line says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--statements", type=int, default=1000)
    parser.add_argument("--rate", type=float, default=1000.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    sent, seconds = run(
        arguments.host, arguments.port, arguments.connections, arguments.statements, arguments.rate, arguments.seed
    )
    save(arguments.output, sent)
    print(json.dumps({"statements": len(sent), "seconds": round(seconds, 3)}))


if __name__ == "__main__":
    main()
