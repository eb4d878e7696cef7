"""MySQL packets of generated traffic, as a MariaDB 10.11 server and its connectors exchange them.

Only what the workload needs: greeting, login, OK, and a result set of one row. Layouts: "Client/Server Protocol" on
mariadb.com/kb and dev.mysql.com/doc/dev/mysql-server.
"""

from __future__ import annotations

import struct
from random import Random
from typing import Final

COM_QUIT: Final = 0x01
COM_QUERY: Final = 0x03

_SERVER_VERSION: Final = b"5.5.5-10.11.14-MariaDB-0+deb12u2"
_UTF8MB4: Final = 45  # utf8mb4_general_ci
_BINARY: Final = 63
_AUTOCOMMIT: Final = 0x0002

_ATTRIBUTES: Final = (
    (b"_client_name", b"libmariadb"),
    (b"_os", b"Linux"),
    (b"_pid", b"4711"),
    (b"program_name", b"shop"),
)

CLIENT_CONNECT_WITH_DB: Final = 1 << 3
CLIENT_COMPRESS: Final = 1 << 5
CLIENT_SSL: Final = 1 << 11
CLIENT_CONNECT_ATTRS: Final = 1 << 20
CLIENT_DEPRECATE_EOF: Final = 1 << 24
_SERVER_CAPABILITIES: Final = 0x81FF_F7FE  # what a MariaDB 10.11 without TLS offers
# LONG_PASSWORD, LONG_FLAG, LOCAL_FILES, PROTOCOL_41, TRANSACTIONS, SECURE_CONNECTION, MULTI_RESULTS, PLUGIN_AUTH
_CLIENT_CAPABILITIES: Final = 0x000A_A285 | CLIENT_CONNECT_WITH_DB | CLIENT_CONNECT_ATTRS

_TYPE_LONGLONG: Final = 8
_TYPE_VAR_STRING: Final = 253


def packet(sequence: int, payload: bytes) -> bytes:
    """*payload* behind its four-byte MySQL header."""
    return struct.pack("<I", len(payload) | sequence << 24) + payload


def text(value: bytes) -> bytes:
    """A length-encoded string of at most 250 bytes."""
    if len(value) > 250:
        raise ValueError(f"{len(value)} bytes need a longer length prefix than this generator writes")
    return bytes((len(value),)) + value


def greeting(connection_id: int, random: Random) -> bytes:
    """The server's first packet (protocol version 10)."""
    scramble = bytes(random.randint(33, 126) for _ in range(20))
    low, high = _SERVER_CAPABILITIES & 0xFFFF, _SERVER_CAPABILITIES >> 16
    body = b"\x0a" + _SERVER_VERSION + b"\0" + struct.pack("<I", connection_id) + scramble[:8] + b"\0"
    body += struct.pack("<HBHHB", low, _UTF8MB4, _AUTOCOMMIT, high, 21) + bytes(10)
    return packet(0, body + scramble[8:] + b"\0mysql_native_password\0")


def login(user: bytes, database: bytes, deprecate_eof: bool, random: Random, more: int = 0) -> bytes:
    """The client's answer to the greeting, with connection attributes; *more*: capabilities beside the usual."""
    capabilities = _CLIENT_CAPABILITIES | more | (CLIENT_DEPRECATE_EOF if deprecate_eof else 0)
    attributes = b"".join(text(name) + text(value) for name, value in _ATTRIBUTES)
    body = struct.pack("<IIB", capabilities, 1 << 24, _UTF8MB4) + bytes(23) + user + b"\0"
    body += b"\x14" + random.randbytes(20) + database + b"\0mysql_native_password\0" + text(attributes)
    return packet(1, body)


def tls_request() -> bytes:
    """What a client sends in place of its login to go on in TLS."""
    return packet(1, struct.pack("<IIB", _CLIENT_CAPABILITIES | CLIENT_SSL, 1 << 24, _UTF8MB4) + bytes(23))


def ok(sequence: int, affected_rows: int, last_insert_id: int) -> bytes:
    """An OK packet."""
    counts = _integer(affected_rows) + _integer(last_insert_id)
    return packet(sequence, b"\0" + counts + struct.pack("<HH", _AUTOCOMMIT, 0))


def query(sql: bytes) -> bytes:
    """COM_QUERY."""
    return packet(0, bytes((COM_QUERY,)) + sql)


def one_row(values: list[bytes], deprecate_eof: bool) -> bytes:
    """A result set of one row: the first column a number, the others text."""
    packets = [bytes((len(values),))]
    packets += [_column(f"column_{number}".encode(), number == 0) for number in range(len(values))]
    if not deprecate_eof:
        packets.append(_end(deprecate_eof=False))
    packets.append(b"".join(text(value) for value in values))
    packets.append(_end(deprecate_eof))
    return b"".join(packet(sequence, body) for sequence, body in enumerate(packets, 1))


def _column(name: bytes, number: bool) -> bytes:
    kind, charset, width = (_TYPE_LONGLONG, _BINARY, 20) if number else (_TYPE_VAR_STRING, _UTF8MB4, 1020)
    names = text(b"def") + text(b"shop") + text(b"t") + text(b"t") + text(name) + text(name)
    return names + b"\x0c" + struct.pack("<HIBHBH", charset, width, kind, 0, 0, 0)


def _end(deprecate_eof: bool) -> bytes:
    if deprecate_eof:
        return b"\xfe\0\0" + struct.pack("<HH", _AUTOCOMMIT, 0)
    return b"\xfe" + struct.pack("<HH", 0, _AUTOCOMMIT)


def _integer(value: int) -> bytes:
    if value < 251:
        return bytes((value,))
    return b"\xfc" + struct.pack("<H", value) if value < 1 << 16 else b"\xfd" + value.to_bytes(3, "little")
