"""Messages of the X Protocol as clients and servers write them. Built by hand: nothing comes from workers.mysqlx.

Field numbers: the files mysqlx_*.proto of the MySQL server; encoding: protobuf.dev/programming-guides/encoding.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Final

# Mysqlx.ClientMessages.Type
CAPABILITIES_GET, CAPABILITIES_SET, CLOSE, AUTHENTICATE_START, AUTHENTICATE_CONTINUE, RESET, SESSION_CLOSE = range(1, 8)
STMT_EXECUTE: Final = 12
FIND, INSERT, UPDATE, DELETE = range(17, 21)
EXPECT_OPEN, EXPECT_CLOSE = 24, 25
CREATE_VIEW, MODIFY_VIEW, DROP_VIEW = range(30, 33)
PREPARE, EXECUTE, DEALLOCATE, CURSOR_OPEN, CURSOR_CLOSE, CURSOR_FETCH, COMPRESSION = range(40, 47)
SERVER_COMPRESSION: Final = 19

Value = int | float | str | bytes | bool | None
Nested = Value | Mapping[str, "Nested"] | Sequence["Nested"]


def message(kind: int, content: bytes = b"") -> bytes:
    """A message behind its header: page_mysqlx_protocol_messages."""
    return struct.pack("<IB", len(content) + 1, kind) + content


def varint(value: int) -> bytes:
    """A number of 0 or more, seven bits a byte."""
    found = b""
    while value > 0x7F:
        found += bytes((value & 0x7F | 0x80,))
        value >>= 7
    return found + bytes((value,))


def number(field: int, value: int) -> bytes:
    """A field that is a varint."""
    return varint(field << 3) + varint(value)


def part(field: int, content: bytes) -> bytes:
    """A field that is bytes, a string, or a message."""
    return varint(field << 3 | 2) + varint(len(content)) + content


# --- values: mysqlx_datatypes.proto


def scalar(value: Value) -> bytes:
    """A Scalar: negative numbers as signed, others as unsigned; bytes as octets."""
    if value is None:
        return number(1, 3)
    if isinstance(value, bool):
        return number(1, 7) + number(8, int(value))
    if isinstance(value, int):
        return number(1, 1) + number(2, -2 * value - 1) if value < 0 else number(1, 2) + number(3, value)
    if isinstance(value, float):
        return number(1, 5) + varint(6 << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, bytes):
        return number(1, 4) + part(5, part(1, value))
    return number(1, 8) + part(9, part(1, value.encode()))


def single(value: float) -> bytes:
    """A Scalar that is a float of 4 bytes."""
    return number(1, 6) + varint(7 << 3 | 5) + struct.pack("<f", value)


def octets(value: bytes, content_type: int) -> bytes:
    """A Scalar that is bytes of a content type: 2 is JSON."""
    return number(1, 4) + part(5, part(1, value) + number(2, content_type))


def anything(value: Nested) -> bytes:
    """An Any."""
    if isinstance(value, Mapping):
        fields = b"".join(part(1, part(1, key.encode()) + part(2, anything(each))) for key, each in value.items())
        return number(1, 2) + part(3, fields)
    if isinstance(value, (list, tuple)):
        return number(1, 3) + part(4, b"".join(part(1, anything(each)) for each in value))
    assert not isinstance(value, Sequence) or isinstance(value, (str, bytes))
    return number(1, 1) + part(2, scalar(value))


# --- what clients send


def capabilities(**wanted: Nested) -> bytes:
    """CapabilitiesSet."""
    each = b"".join(part(1, part(1, name.encode()) + part(2, anything(value))) for name, value in wanted.items())
    return message(CAPABILITIES_SET, part(1, each))


def start(mechanism: bytes = b"MYSQL41", auth_data: bytes | None = None) -> bytes:
    """AuthenticateStart."""
    return message(AUTHENTICATE_START, part(1, mechanism) + (b"" if auth_data is None else part(2, auth_data)))


def proof(user: bytes = b"app", schema: bytes = b"shop", secret: bytes = b"*" + b"0A" * 20) -> bytes:
    """AuthenticateContinue: what MYSQL41 and SHA256_MEMORY answer a challenge with."""
    return message(AUTHENTICATE_CONTINUE, part(1, schema + b"\0" + user + b"\0" + secret))


def execution(text: bytes, *arguments: Nested, namespace: bytes | None = b"sql") -> bytes:
    """The content of a StmtExecute."""
    content = part(1, text) + b"".join(part(2, anything(each)) for each in arguments)
    return content + (b"" if namespace is None else part(3, namespace))


def query(text: bytes, *arguments: Nested, namespace: bytes | None = b"sql") -> bytes:
    """StmtExecute."""
    return message(STMT_EXECUTE, execution(text, *arguments, namespace=namespace))


def collection(name: bytes, schema: bytes | None = b"shop") -> bytes:
    """A Collection."""
    return part(1, name) + (b"" if schema is None else part(2, schema))


def find(name: bytes, *arguments: Value, schema: bytes | None = b"shop") -> bytes:
    """Find, with some criteria that nobody looks at."""
    given = b"".join(part(11, scalar(each)) for each in arguments)
    return message(FIND, part(2, collection(name, schema)) + number(3, 1) + given + part(5, number(1, 1)))


def insert(name: bytes, *rows: bytes) -> bytes:
    """Insert of documents."""
    each = b"".join(part(4, part(1, number(1, 2) + part(4, octets(row, 2)))) for row in rows)
    return message(INSERT, part(1, collection(name)) + number(2, 1) + each)


def prepare(statement_id: int, text: bytes) -> bytes:
    """Prepare.Prepare of SQL."""
    return message(PREPARE, number(1, statement_id) + part(2, number(1, 5) + part(6, execution(text))))


def execute(statement_id: int, *arguments: Nested) -> bytes:
    """Prepare.Execute."""
    return message(EXECUTE, execute_content(statement_id, *arguments))


def execute_content(statement_id: int, *arguments: Nested) -> bytes:
    """The content of Prepare.Execute."""
    return number(1, statement_id) + b"".join(part(2, anything(each)) for each in arguments)


def deallocate(statement_id: int) -> bytes:
    """Prepare.Deallocate."""
    return message(DEALLOCATE, number(1, statement_id))


def cursor_open(cursor_id: int, statement_id: int, *arguments: Nested, fetch_rows: int = 10) -> bytes:
    """Cursor.Open, with the first rows."""
    inside = number(1, 0) + part(2, execute_content(statement_id, *arguments))
    return message(CURSOR_OPEN, number(1, cursor_id) + part(4, inside) + number(5, fetch_rows))


def compression(payload: bytes, size: int, kind: int = COMPRESSION) -> bytes:
    """Compression, of the client or the server."""
    return message(kind, number(1, size) + part(4, payload))


# --- what servers send


def ok() -> bytes:
    """Ok."""
    return message(0)


def error(code: int, text: bytes, state: bytes = b"HY000") -> bytes:
    """Error, fields in the order of their numbers."""
    return message(1, number(1, 0) + number(2, code) + part(3, text) + part(4, state))


def challenge() -> bytes:
    """AuthenticateContinue of the server."""
    return message(3, part(1, b"\1" * 20))


def authenticated() -> bytes:
    """AuthenticateOk."""
    return message(4)


def notice(kind: int, payload: bytes, *, local: bool = True) -> bytes:
    """A notice."""
    return message(11, number(1, kind) + (number(2, 2) if local else b"") + part(3, payload))


def changed(parameter: int, value: Value) -> bytes:
    """A notice of a changed session state: 1 schema, 3 insert id, 4 affected rows, 11 connection id."""
    return notice(3, number(1, parameter) + part(2, scalar(value)))


def warning(code: int = 1365, text: bytes = b"Division by 0") -> bytes:
    """A notice with a warning."""
    return notice(1, number(2, code) + part(3, text))


def executed(rows: int = 0, insert_id: int = 0, *before: bytes) -> bytes:
    """The answer to a statement without rows."""
    given = changed(3, insert_id) if insert_id else b""
    return b"".join(before) + changed(4, rows) + given + message(17)


def result(*rows: bytes) -> bytes:
    """A result set of one column, and its end."""
    return columns() + b"".join(map(row, rows)) + message(14) + message(17)


def columns() -> bytes:
    """Metadata of one column."""
    return message(12, number(1, 7) + part(2, b"name"))


def row(value: bytes) -> bytes:
    """A row of one field."""
    return message(13, part(1, value))
