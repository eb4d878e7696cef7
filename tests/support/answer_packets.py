"""Whole answers as servers write them. Layouts: dev.mysql.com/doc/dev/mysql-server, pages ``page_protocol_*``."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Final

from tests.support import mysql_packets as mysql

# SERVER_STATUS_flags_enum
MORE_RESULTS: Final = 1 << 3
NO_GOOD_INDEX_USED: Final = 1 << 4
NO_INDEX_USED: Final = 1 << 5
CURSOR_EXISTS: Final = 1 << 6
LAST_ROW_SENT: Final = 1 << 7
WAS_SLOW: Final = 1 << 11
SESSION_STATE_CHANGED: Final = 1 << 14

DEFINITION: Final = (
    mysql.counted(b"def") + mysql.counted(b"app") + mysql.counted(b"t") * 2 + mysql.counted(b"column") * 2
    + b"\x0c" + struct.pack("<HIBHBH", mysql.UTF8MB4, 80, mysql.VAR_STRING, 0, 0, 0)
)  # fmt: skip
"""Protocol::ColumnDefinition41."""


def ok(
    affected_rows: int = 0, last_insert_id: int = 0, warnings: int = 0, *, status: int = 2, header: int = 0,
    info: bytes = b"", changes: bytes | None = None,
) -> bytes:  # fmt: skip
    """An OK's payload; with *changes*, as to a client with CLIENT_SESSION_TRACK. *header* 0xFE: in place of an EOF."""
    numbers = mysql.integer(affected_rows) + mysql.integer(last_insert_id)
    if changes is None:
        return bytes((header,)) + numbers + struct.pack("<HH", status, warnings) + info
    status |= SESSION_STATE_CHANGED
    tail = struct.pack("<HH", status, warnings) + mysql.counted(info) + mysql.counted(changes)
    return bytes((header,)) + numbers + tail


def change(kind: int, *texts: bytes) -> bytes:
    """One entry of an OK's session state information: its type and its length-encoded texts."""
    return bytes((kind,)) + mysql.counted(b"".join(map(mysql.counted, texts)))


def eof(warnings: int = 0, *, status: int = 2) -> bytes:
    """An EOF's payload."""
    return b"\xfe" + struct.pack("<HH", warnings, status)


def end(warnings: int = 0, *, status: int = 2, deprecated: bool = False) -> bytes:
    """What ends rows: an EOF, or an OK in its place."""
    return ok(0, 0, warnings, status=status, header=0xFE) if deprecated else eof(warnings, status=status)


def text_row(*values: bytes | None) -> bytes:
    """A row of the text protocol."""
    return b"".join(b"\xfb" if value is None else mysql.counted(value) for value in values)


def binary_row(values: bytes) -> bytes:
    """A row of the binary protocol, of one column."""
    return b"\0\0" + values


def result(
    rows: Sequence[bytes], *, columns: int = 1, warnings: int = 0, status: int = 2, deprecated: bool = False
) -> list[bytes]:
    """The payloads of a result set."""
    metadata = [] if deprecated else [eof(status=status)]
    tail = end(warnings, status=status, deprecated=deprecated)
    return [mysql.integer(columns), *[DEFINITION] * columns, *metadata, *rows, tail]


def prepared(statement_id: int, parameters: int, columns: int, *, deprecated: bool = False) -> list[bytes]:
    """The payloads that answer a PREPARE."""
    found = [struct.pack("<BIHHBH", 0, statement_id, columns, parameters, 0, 0)]
    for count in (parameters, columns):
        found += [DEFINITION] * count
        if count and not deprecated:
            found.append(eof())
    return found


def progress(stage: int = 1) -> bytes:
    """MariaDB's report of progress: mariadb.com/kb/en/progress-reporting."""
    return b"\xff\xff\xff\x01" + bytes((stage, 3)) + b"\x10\x27\0" + mysql.counted(b"copy to tmp table")


def stream(payloads: Iterable[bytes], *, sequence: int = 1) -> bytes:
    """The payloads as packets, with sequence ids from *sequence* on."""
    whole = b""
    for payload in payloads:
        whole += mysql.packets(payload, sequence)
        sequence = (sequence + 1 + len(payload) // mysql.MAX_PACKET) & 0xFF
    return whole
