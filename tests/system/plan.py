"""The statements that every client sends, whatever its language: written to a file of lines that each can read.

A line is `group error late text`: the error's number or 0, 1 where it comes after other results, the text's UTF-8 in
base64. In the table here `{infile}` stands for the file that the client loads.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

DATABASE = "app"
OTHER_DATABASE = "other"
OTHER_USER = "other"
OTHER_PASSWORD = "another secret"
BIG_BYTES = 20 << 20
BIG_HEAD, BIG_TAIL = "SELECT LENGTH('", "')"

INFILE = b"1\tone\n2\tSELECT 'not a statement'\n3\t\x05\x00\x00\x00\x03SELECT 1\n" + b"4\tfour\n" * 20_000
"""The lines of the file that is loaded; there are packets in it that would be commands."""

_PROCEDURE = (
    "CREATE PROCEDURE app.several(wanted INT) BEGIN SELECT wanted; UPDATE app.things SET number = 1 WHERE id < 0; "
    "SELECT wanted + 1, 'two' UNION SELECT 3, 'four'; END"
)
PREPARATION = (
    "CREATE DATABASE IF NOT EXISTS app",
    "CREATE DATABASE IF NOT EXISTS other",
    "CREATE TABLE app.things (id INT AUTO_INCREMENT PRIMARY KEY, number BIGINT, name VARCHAR(300), data LONGBLOB) "
    "CHARACTER SET utf8mb4",
    "CREATE TABLE app.loaded (id INT, name VARCHAR(300)) CHARACTER SET utf8mb4",
    "INSERT INTO app.things (number, name) VALUES (1, 'one'), (2, 'two'), (3, 'three'), (4, 'four'), (5, 'five')",
    _PROCEDURE,
)
"""What a server needs before."""


class Planned(NamedTuple):
    """A statement, and the number of the error that it ends with, 0 for none."""

    text: str
    error: int = 0
    late: bool = False
    """The error comes after other results."""


_PLAIN = (
    Planned("SELECT 1"),
    Planned('SELECT \'it\'\'s\', "a ""b""", \'double " in single\' /* a comment */'),
    Planned("SELECT 1\n  , 2\n  , 'three\n'"),
    Planned("INSERT INTO app.things (number, name) VALUES (10, 'ten'), (11, 'eleven')"),
    Planned("UPDATE app.things SET number = number + 1 WHERE number >= 10"),
    Planned("DELETE FROM app.things WHERE number >= 10"),
    Planned("SELECT id, number, name FROM app.things ORDER BY id"),
    Planned("SELECT * FROM app.things WHERE id < 0"),
    Planned("SET @a = 'b'"),
    Planned("SELECT REPEAT('a big answer', 30000)"),
    Planned("SELECT LENGTH('" + "all of 100 kB. " * 7000 + "')"),
)
GROUPS: dict[str, tuple[Planned, ...]] = {
    "text": _PLAIN,
    "multi_statements": (
        Planned("SELECT 1; SELECT 2, 3"),
        Planned("SET @a = 1; SELECT 'one;two' ; DELETE FROM app.things WHERE id < 0"),
        Planned("SELECT 1; SELECT 2; SELEC 3; SELECT 4", 1064, late=True),
        Planned("SELECT 'all of it'"),
    ),
    "procedures": (
        Planned("CALL app.several(1)"),
        Planned("CALL app.several(NULL)"),
        Planned("CALL app.no_such_procedure()", 1305),
        Planned("SELECT 'the next'"),
    ),
    "local_infile": (
        Planned("LOAD DATA LOCAL INFILE '{infile}' INTO TABLE app.loaded"),
        Planned("SELECT COUNT(*) FROM app.loaded"),
    ),
    "utf8mb4": (
        Planned("SELECT '\U0001f600 é 漢字 ü'"),
        Planned("SELECT 1 AS `naïve 漢`"),
        Planned("SELECT LENGTH('" + "漢" * 5000 + "')"),
    ),
    "latin1": (Planned("SELECT 'café ÿ'"), Planned("SELECT 1 AS `naïve §`")),
    "gbk": (Planned("SELECT '昞 诚 誠'"), Planned("SELECT '漢字', '昞'")),
    "failures": (
        Planned("SELEC 1", 1064),
        Planned("SELECT * FROM app.no_such_table", 1146),
        Planned("SELECT no_such_column FROM app.things", 1054),
        Planned("INSERT INTO app.things (id) VALUES (1)", 1062),
        Planned("DROP DATABASE no_such_database", 1008),
        Planned("SELECT 'the next'"),
    ),
}
"""By the feature."""


def big(size: int = BIG_BYTES) -> str:
    """A statement of that many bytes, each eight of which are unlike all others."""
    numbers = "".join(f"{number:08x}" for number in range(size // 8))
    return f"{BIG_HEAD}{numbers}{BIG_TAIL}"


def save(path: Path, infile: Path) -> None:
    """Write the plan, and the file that is loaded."""
    infile.write_bytes(INFILE)
    with path.open("w", encoding="ascii") as file:
        for group, statements in GROUPS.items():
            for text, error, late in statements:
                encoded = base64.b64encode(text.replace("{infile}", str(infile)).encode()).decode()
                file.write(f"{group} {error} {late:d} {encoded}\n")


def load(path: Path) -> dict[str, list[Planned]]:
    """Read a plan."""
    found: dict[str, list[Planned]] = {}
    for group, planned in _lines(path):
        found.setdefault(group, []).append(planned)
    return found


def _lines(path: Path) -> Iterator[tuple[str, Planned]]:
    for line in path.read_text(encoding="ascii").splitlines():
        group, error, late, text = line.split(" ")
        yield group, Planned(base64.b64decode(text).decode(), int(error), late == "1")
