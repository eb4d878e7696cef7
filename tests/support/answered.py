"""Statements whose answers are of every kind, sent by PyMySQL, which notes what it was answered.

Run as a module, for a test starts it inside its network namespace. The notes go to a file, one JSON object a command.
"""

# ruff: noqa: SLF001  # PyMySQL has neither prepared statements nor what a result says of itself
from __future__ import annotations

import argparse
import json
import struct
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pymysql
from pymysql.constants import CLIENT, COMMAND

from tests.support.servers import DATABASE, PASSWORD, USER

TABLES = (
    "CREATE TABLE digit (d INT)",
    "INSERT INTO digit VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)",
    "CREATE TABLE number (id INT PRIMARY KEY)",
    "INSERT INTO number SELECT a.d * 1000 + b.d * 100 + c.d * 10 + e.d FROM digit a, digit b, digit c, digit e",
    "CREATE TABLE item (id INT AUTO_INCREMENT PRIMARY KEY, small TINYINT, words VARCHAR(50))",
    "CREATE PROCEDURE two_results() BEGIN SELECT id FROM number WHERE id < 7; SELECT 1, 2; "
    "INSERT INTO item (small) VALUES (1), (2); END",
    "CREATE PROCEDURE fails() BEGIN SELECT id FROM number WHERE id < 3; "
    "SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 30001, MESSAGE_TEXT = 'of our own'; END",
    "CREATE PROCEDURE nothing() BEGIN END",
)
STATEMENTS = (
    "SET sql_mode = ''",
    "INSERT INTO item (small, words) VALUES (1, 'a'), (2, 'b'), (3, 'c')",
    "INSERT INTO item (small) VALUES (1000), (-1000)",
    "UPDATE item SET words = 'd' WHERE small <= 2",
    "UPDATE item SET words = 'd' WHERE small = 99",
    "SELECT * FROM item WHERE id < 0",
    "SELECT id FROM number",
    "SELECT id, REPEAT('x', id % 300) FROM number ORDER BY id DESC",
    "SELECT NULL, '', CAST(id / 0 AS SIGNED) FROM number WHERE id < 4",
    "SELECT REPEAT('big', 1000000), REPEAT('bigger', 1000000)",
    "SELECT REPEAT('x', 16777215 - 4)",
    "SELECT REPEAT('x', 17000000) UNION ALL SELECT 'y'",
    "SELECT * FROM no_such_table",
    "SELEC 1",
    "INSERT INTO number VALUES (1)",
    "",
    "SIGNAL SQLSTATE '77777' SET MYSQL_ERRNO = 65000, MESSAGE_TEXT = 'custom'",
    "CALL two_results()",
    "CALL fails()",
    "CALL nothing()",
    "INSERT INTO item (small) VALUES (5), (1000); SELECT id FROM number WHERE id < 20; DELETE FROM item WHERE id = 5",
    "SELECT 1; SELECT 2 UNION SELECT 3; SELECT 4 FROM no_such_table; SELECT 5",
    "SELECT 1; CALL two_results(); SELECT id FROM number WHERE id < 1000",
    "INSERT INTO item (small) VALUES (6), (7) RETURNING id",
    "CREATE DATABASE IF NOT EXISTS elsewhere",
    "USE elsewhere",
    "SELECT DATABASE()",
    f"USE {DATABASE}",
    "SELECT 1; USE elsewhere; SELECT 2",
    "SELECT 'elsewhere'",
    f"USE {DATABASE}",
    "EXPLAIN SELECT * FROM number",
    "ALTER TABLE item ADD COLUMN more INT, ALGORITHM = COPY",
    "SHOW WARNINGS",
)
INFILE_ROWS = 3000


@dataclass
class Answered:
    """What the client was answered to one command."""

    connection_id: int
    command: str
    sql: str
    status: str = "ok"
    affected_rows: int = 0
    last_insert_id: int = 0
    rows: int | None = None
    warnings: int = 0
    error_code: int | None = None
    error_message: str | None = None


class Client:
    """A connection that notes its answers."""

    def __init__(self, port: int) -> None:
        self._wire: Any = pymysql.connect(
            host="127.0.0.1", port=port, user=USER, password=PASSWORD, database=DATABASE, autocommit=None,
            local_infile=True, client_flag=CLIENT.MULTI_STATEMENTS | CLIENT.MULTI_RESULTS,
        )  # fmt: skip
        self.notes: list[Answered] = []

    def close(self) -> None:
        self._wire.close()

    def query(self, sql: str) -> None:
        """Send a query and add up what its results say."""
        note = self._note("query", sql)
        try:
            self._wire.query(sql)
            self._add(note)
            while self._wire._result.has_next:
                self._wire.next_result()
                self._add(note)
        except pymysql.Error as error:
            self._failed(note, error)

    def _note(self, command: str, sql: str) -> Answered:
        note = Answered(self._wire.thread_id(), command, sql)
        self.notes.append(note)
        return note

    def _add(self, note: Answered) -> None:
        result = self._wire._result
        note.warnings += result.warning_count
        if result.description is None:
            note.affected_rows += result.affected_rows
            note.last_insert_id = result.insert_id or note.last_insert_id
        else:
            note.status = "result"
            note.rows = (note.rows or 0) + len(result.rows)

    def _failed(self, note: Answered, error: pymysql.Error) -> None:
        note.status = "error"
        code, note.error_message = error.args
        note.error_code = code & 0xFFFF  # PyMySQL takes the number for a signed one

    def prepared(self, sql: str, parameter: int, *, cursor: bool = False) -> None:
        """Prepare a statement with one parameter, execute it, and close it; with a cursor, fetch 400 rows at a time."""
        self._note("stmt_prepare", sql)
        self._wire._execute_command(COMMAND.COM_STMT_PREPARE, sql)
        statement_id, columns = struct.unpack_from("<IH", self._wire._read_packet()._data, 1)
        self._skip_definitions(1)
        self._skip_definitions(columns)
        note = self._note("stmt_execute", sql)
        body = struct.pack("<IBIBBHi", statement_id, cursor, 1, 0, 1, 3, parameter)
        self._wire._execute_command(COMMAND.COM_STMT_EXECUTE, body)
        self._wire._read_packet()
        self._skip_definitions(columns)
        note.status = "result"
        note.rows = 0 if cursor else self._count_rows(note)[0]
        last = not cursor
        while not last:
            fetch = self._note("stmt_fetch", "")
            fetch.status = "result"
            self._wire._execute_command(COMMAND.COM_STMT_FETCH, struct.pack("<II", statement_id, 400))
            fetch.rows, last = self._count_rows(fetch)
        self._note("stmt_close", "").status = "unknown"
        self._wire._execute_command(COMMAND.COM_STMT_CLOSE, struct.pack("<I", statement_id))

    def _skip_definitions(self, count: int) -> None:
        for _ in range(count + 1 if count else 0):  # an EOF packet follows
            self._wire._read_packet()

    def _count_rows(self, note: Answered) -> tuple[int, bool]:
        """How many rows come, and whether the server says that they were the last."""
        rows = 0
        while not (packet := self._wire._read_packet()).is_eof_packet():
            rows += 1
        note.warnings, status = struct.unpack_from("<HH", packet._data, 1)
        return rows, bool(status & 0x80)


def converse(port: int) -> Iterator[Answered]:
    """Send everything, over two connections."""
    first, second = Client(port), Client(port)
    for sql in STATEMENTS:
        first.query(sql)
    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as file:
        file.writelines(f"{number % 100}\tload\n" for number in range(INFILE_ROWS))
        file.flush()
        second.query(f"LOAD DATA LOCAL INFILE '{file.name}' INTO TABLE item (small, words)")
    second.prepared("SELECT id, id + 1 FROM number WHERE id < ?", 2500)
    second.prepared("SELECT id FROM number WHERE id < ?", 0)
    second.prepared("SELECT id FROM number WHERE id < ?", 1500, cursor=True)
    for sql in STATEMENTS[:12]:
        second.query(sql)
    for client in (first, second):
        client.close()
        yield from client.notes


def load(file: Path) -> list[Answered]:
    """The notes in *file*."""
    return [Answered(**json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]


def main() -> None:
    """Converse as the command line says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    with arguments.output.open("w", encoding="utf-8") as output:
        for note in converse(arguments.port):
            output.write(json.dumps(asdict(note)) + "\n")


if __name__ == "__main__":
    main()
