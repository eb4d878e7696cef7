"""Packets of the MySQL protocol as clients and servers write them. Built by hand: nothing comes from workers.mysql.

Layouts: dev.mysql.com/doc/dev/mysql-server, pages ``page_protocol_*``, named at each function.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple

import zstandard

MAX_PACKET: Final = 0xFFFFFF

# group__group__cs__capabilities__flags
CONNECT_WITH_DB: Final = 1 << 3
COMPRESS: Final = 1 << 5
PROTOCOL_41: Final = 1 << 9
SSL: Final = 1 << 11
SECURE_CONNECTION: Final = 1 << 15
PLUGIN_AUTH: Final = 1 << 19
CONNECT_ATTRS: Final = 1 << 20
PLUGIN_AUTH_LENENC: Final = 1 << 21
ZSTD: Final = 1 << 26
QUERY_ATTRIBUTES: Final = 1 << 27

SERVER_CAPABILITIES: Final = 0xFFFF_FFFF & ~(COMPRESS | ZSTD)
CLIENT_CAPABILITIES: Final = PROTOCOL_41 | SECURE_CONNECTION | PLUGIN_AUTH
UTF8MB4: Final = 45  # utf8mb4_general_ci
LATIN1: Final = 8  # latin1_swedish_ci

# enum_field_types
TINY, SHORT, LONG, FLOAT, DOUBLE, NULL, TIMESTAMP, LONGLONG, INT24 = range(1, 10)
DATE, TIME, DATETIME, YEAR = range(10, 14)
BIT, NEWDECIMAL, BLOB, VAR_STRING, STRING = 16, 246, 252, 253, 254


def packet(sequence: int, payload: bytes) -> bytes:
    """*payload* behind its header: page_protocol_basic_packets."""
    assert len(payload) < MAX_PACKET
    return struct.pack("<I", len(payload) | sequence << 24) + payload


def packets(payload: bytes, sequence: int = 0) -> bytes:
    """*payload* in as many packets as it takes."""
    whole = b""
    while len(payload) >= MAX_PACKET:
        whole += struct.pack("<I", MAX_PACKET | sequence << 24) + payload[:MAX_PACKET]
        payload = payload[MAX_PACKET:]
        sequence = (sequence + 1) & 0xFF
    return whole + packet(sequence, payload)


def frame(plain: bytes, sequence: int = 0, form: Literal["zlib", "zstd", "stored"] = "zlib") -> bytes:
    """A frame of the compressed protocol: page_protocol_basic_compression_packet."""
    body, length = plain, 0
    if form != "stored":
        body = zlib.compress(plain) if form == "zlib" else zstandard.compress(plain)
        length = len(plain)
    return len(body).to_bytes(3, "little") + bytes((sequence,)) + length.to_bytes(3, "little") + body


def integer(value: int) -> bytes:
    """A length-encoded integer: page_protocol_basic_dt_integers."""
    if value < 0xFB:
        return bytes((value,))
    if value < 1 << 16:
        return b"\xfc" + value.to_bytes(2, "little")
    if value < 1 << 24:
        return b"\xfd" + value.to_bytes(3, "little")
    return b"\xfe" + value.to_bytes(8, "little")


def counted(data: bytes) -> bytes:
    """A length-encoded string."""
    return integer(len(data)) + data


# --- the login


def greeting(
    *, version: bytes = b"8.0.36", connection_id: int = 7, capabilities: int = SERVER_CAPABILITIES, protocol: int = 10
) -> bytes:
    """Protocol::HandshakeV10, or V9."""
    body = bytes((protocol,)) + version + b"\0" + struct.pack("<I", connection_id) + b"scramble"
    if protocol == 9:
        return packet(0, body + b"\0")
    body += b"\0" + struct.pack("<HBHH", capabilities & 0xFFFF, UTF8MB4, 2, capabilities >> 16)
    return packet(0, body + bytes((21,)) + bytes(10) + b"restofscramble\0caching_sha2_password\0")


def attributes(pairs: Mapping[str, str]) -> bytes:
    """Connection attributes without the length in front of them all."""
    return b"".join(counted(key.encode()) + counted(value.encode()) for key, value in pairs.items())


def login(
    user: bytes = b"app",
    *,
    database: bytes | None = None,
    capabilities: int = CLIENT_CAPABILITIES,
    charset: int = UTF8MB4,
    proof: bytes = bytes(20),
    pairs: Mapping[str, str] | None = None,
    sequence: int = 1,
) -> bytes:
    """Protocol::HandshakeResponse41; a database and attributes set their capability flags."""
    capabilities |= CONNECT_WITH_DB if database is not None else 0
    capabilities |= CONNECT_ATTRS if pairs is not None else 0
    body = struct.pack("<IIB", capabilities, 1 << 24, charset) + bytes(23) + user + b"\0"
    if capabilities & PLUGIN_AUTH_LENENC:
        body += counted(proof)
    elif capabilities & SECURE_CONNECTION:
        body += bytes((len(proof),)) + proof
    else:
        body += proof + b"\0"
    if database is not None:
        body += database + b"\0"
    if capabilities & PLUGIN_AUTH:
        body += b"mysql_native_password\0"
    if pairs is not None:
        body += counted(attributes(pairs))
    return packet(sequence, body)


def login_320(user: bytes, *, database: bytes | None = None, proof: bytes = b"proof") -> bytes:
    """Protocol::HandshakeResponse320."""
    capabilities = 1 | (CONNECT_WITH_DB if database is not None else 0)
    body = struct.pack("<H", capabilities) + b"\0\0\x01" + user + b"\0"
    return packet(1, body + (proof if database is None else proof + b"\0" + database + b"\0"))


def ssl_request() -> bytes:
    """Protocol::SSLRequest."""
    return packet(1, struct.pack("<IIB", CLIENT_CAPABILITIES | SSL, 1 << 24, UTF8MB4) + bytes(23))


def change_user(
    user: bytes,
    *,
    proof: bytes = bytes(20),
    database: bytes = b"",
    charset: int | None = UTF8MB4,
    pairs: Mapping[str, str] | None = None,
) -> bytes:
    """page_protocol_com_change_user, of a client with SECURE_CONNECTION and PLUGIN_AUTH."""
    body = user + b"\0" + bytes((len(proof),)) + proof + database + b"\0"
    if charset is not None:
        body += struct.pack("<H", charset) + b"mysql_native_password\0"
    if pairs is not None:
        body += counted(attributes(pairs))
    return command(0x11, body)


# --- commands


def command(number: int, argument: bytes = b"") -> bytes:
    """Any command, in as many packets as it takes: page_protocol_command_phase."""
    return packets(bytes((number,)) + argument)


def query(sql: bytes) -> bytes:
    """COM_QUERY without query attributes."""
    return command(3, sql)


class Bound(NamedTuple):
    """A value for a parameter: its type code, its bytes on the wire, None for NULL."""

    code: int
    data: bytes | None
    unsigned: bool = False
    name: bytes = b""
    """Of a query attribute."""
    indicator: int = 0
    """In a row of a bulk execution, where there is no value: 2 for the column's default, 3 to leave it alone."""

    @property
    def type(self) -> bytes:
        return bytes((self.code, 0x80 if self.unsigned else 0))


def _bitmap(values: Sequence[Bound]) -> bytes:
    bits = sum(1 << index for index, value in enumerate(values) if value.data is None)
    return bits.to_bytes((len(values) + 7) // 8, "little")


def _data(values: Sequence[Bound]) -> bytes:
    return b"".join(value.data or b"" for value in values)


def query_with_attributes(sql: bytes, values: Sequence[Bound] = ()) -> bytes:
    """COM_QUERY of a client with QUERY_ATTRIBUTES: page_protocol_com_query."""
    body = integer(len(values)) + b"\x01"
    if values:
        body += _bitmap(values) + b"\x01" + b"".join(value.type + counted(value.name) for value in values)
    return command(3, body + _data(values) + sql)


def prepare(sql: bytes) -> bytes:
    """COM_STMT_PREPARE."""
    return command(0x16, sql)


def execute(statement_id: int, values: Sequence[Bound] = (), *, types: bool = True) -> bytes:
    """COM_STMT_EXECUTE without query attributes; *types* are sent with the first execution only."""
    body = struct.pack("<IBI", statement_id, 0, 1)
    if values:
        body += _bitmap(values) + bytes((types,))
        body += b"".join(value.type for value in values) if types else b""
    return command(0x17, body + _data(values))


def execute_with_attributes(
    statement_id: int, values: Sequence[Bound] = (), extra: Sequence[Bound] = (), *, types: bool = True, flags: int = 8
) -> bytes:
    """COM_STMT_EXECUTE of a client with QUERY_ATTRIBUTES: the attributes *extra* follow the parameters.

    *flags* 8, PARAMETER_COUNT_AVAILABLE, is what a server wants only where the statement takes no parameters.
    """
    every = [*values, *extra]
    body = struct.pack("<IBI", statement_id, flags, 1) + integer(len(every))
    if every:
        body += _bitmap(every) + bytes((types,))
        body += b"".join(value.type + counted(value.name) for value in every) if types else b""
    return command(0x17, body + _data(every))


def bulk_execute(
    statement_id: int, rows: Sequence[Sequence[Bound]], *, types: bool = True, unit_results: bool = False
) -> bytes:
    """COM_STMT_BULK_EXECUTE, of MariaDB's page of that name; the types are those of the first row."""
    flags = (128 if types else 0) | (64 if unit_results else 0)
    body = struct.pack("<IH", statement_id, flags) + (b"".join(value.type for value in rows[0]) if types else b"")
    return command(0xFA, body + b"".join(_indicated(value) for row in rows for value in row))


def _indicated(value: Bound) -> bytes:
    indicator = 1 if value.data is None and not value.indicator else value.indicator
    return bytes((indicator,)) + (b"" if indicator else value.data or b"")


def long_data(statement_id: int, index: int, data: bytes) -> bytes:
    """COM_STMT_SEND_LONG_DATA."""
    return command(0x18, struct.pack("<IH", statement_id, index) + data)


def of_statement(number: int, statement_id: int, rest: bytes = b"") -> bytes:
    """COM_STMT_CLOSE, RESET or FETCH."""
    return command(number, struct.pack("<I", statement_id) + rest)


# --- answers


def ok(affected_rows: int = 0, last_insert_id: int = 0, warnings: int = 0, *, sequence: int = 1) -> bytes:
    """OK_Packet: page_protocol_basic_ok_packet."""
    return packet(sequence, b"\0" + integer(affected_rows) + integer(last_insert_id) + struct.pack("<HH", 2, warnings))


def error(code: int, message: bytes, state: bytes | None = b"42000", *, sequence: int = 1) -> bytes:
    """ERR_Packet; *state* None: as servers write it before the login."""
    marked = b"" if state is None else b"#" + state
    return packet(sequence, b"\xff" + struct.pack("<H", code) + marked + message)


def eof(warnings: int = 0, *, sequence: int = 1) -> bytes:
    """EOF_Packet."""
    return packet(sequence, b"\xfe" + struct.pack("<HH", warnings, 2))


def result(columns: int = 1, *, sequence: int = 1) -> bytes:
    """The beginning of a result set: how many columns, and the first of their definitions."""
    return packet(sequence, integer(columns)) + packet(sequence + 1, b"\x03def" + bytes(20))


def local_infile(name: bytes = b"/tmp/rows", *, sequence: int = 1) -> bytes:
    """Asks the client for a file: page_protocol_com_query_response_local_infile_request."""
    return packet(sequence, b"\xfb" + name)


def prepare_ok(statement_id: int, parameters: int, *, columns: int = 0, warnings: int = 0) -> bytes:
    """COM_STMT_PREPARE_OK: page_protocol_com_stmt_prepare."""
    return packet(1, struct.pack("<BIHHBH", 0, statement_id, columns, parameters, 0, warnings))
