"""The connection phase: page_protocol_connection_phase_packets. Once a connection, so clarity beats speed here."""

from dataclasses import dataclass, replace
from typing import Final

from workers.mysql import constants
from workers.mysql.errors import StreamViolation
from workers.wire import lenenc, lenenc_size, u8, u16, u32

LONGEST_NAME: Final = 1024
"""Of a user, database or version in bytes, more than any server takes; sessions are kept, and must stay small."""
MOST_ATTRIBUTES: Final = 4096
"""Of connection attributes; servers keep 512 bytes by default (performance_schema_session_connect_attrs_size)."""


@dataclass(frozen=True, slots=True)
class Greeting:
    """What the server says first: Protocol::HandshakeV10, or V9 of servers before 3.21."""

    version: bytes
    connection_id: int
    capabilities: int


@dataclass(frozen=True, slots=True)
class Login:
    """Who the client says it is: Protocol::HandshakeResponse41 or 320, or COM_CHANGE_USER. Never the proof."""

    capabilities: int
    charset: int
    user: bytes
    database: bytes | None
    attributes: bytes


def _until_nul(data: bytes, at: int, end: int) -> tuple[bytes, int]:
    """A NUL-terminated string, up to LONGEST_NAME, and where to go on; one that lacks its NUL ends with the packet."""
    stop = data.find(b"\0", at, end)
    following = stop + 1
    if stop < 0:
        stop = following = end
    return data[at : min(stop, at + LONGEST_NAME)], following


def _counted(data: bytes, at: int, end: int) -> tuple[bytes, int]:
    """A length-encoded string and where to go on. Raises StreamViolation where it leaves the packet."""
    size = lenenc_size(data, at, end)
    length = lenenc(data, at, end)
    if size == 0 or length > end - at - size:
        raise StreamViolation("a string in the login is longer than its packet")
    begin = at + size
    return data[begin : begin + length], begin + length


def greeting(data: bytes, at: int, end: int) -> Greeting:
    """Read the greeting in ``data[at:end]``. Raises StreamViolation where it is none."""
    try:
        protocol = u8(data, at, end)
        if protocol not in (9, 10):
            raise StreamViolation(f"greeting of protocol {protocol}, known are 9 and 10")
        version, at = _until_nul(data, at + 1, end)
        connection_id = u32(data, at, end)
        if protocol == 9:
            return Greeting(version, connection_id, 0)
        at += 4 + 8 + 1  # connection id, first part of the scramble, filler
        capabilities = u16(data, at, end)
        if at + 7 <= end:  # then charset 1, status 2, capabilities' upper half
            capabilities |= u16(data, at + 5, end) << 16
        return Greeting(version, connection_id, capabilities)
    except IndexError as error:
        raise StreamViolation("greeting is cut short") from error


def asks_for_tls(data: bytes, at: int, end: int) -> bool:
    """Whether the client's first packet is an SSLRequest: a login's first 32 bytes with CLIENT_SSL set."""
    try:
        return end - at in (4, 5, 32) and bool(u16(data, at, end) & constants.CLIENT_SSL)
    except IndexError:
        return False


def looks_like_login(data: bytes, at: int, end: int) -> bool:
    """Whether a packet of a connection joined late is a HandshakeResponse41: its filler of 19 zeros tells."""
    return (
        end - at >= 36
        and bool(u32(data, at, end) & constants.CLIENT_PROTOCOL_41)
        and data[at + 9 : at + 28] == bytes(19)
    )


def login(data: bytes, at: int, end: int) -> Login:
    """Read the login in ``data[at:end]``; what is behind the user is not known where it is cut short.

    Raises StreamViolation where even the user is not whole.
    """
    try:
        capabilities = u16(data, at, end)
        if not capabilities & constants.CLIENT_PROTOCOL_41:
            return _login_320(data, at, end, capabilities)
        capabilities = u32(data, at, end)
        charset = u8(data, at + 8, end)
        u8(data, at + 31, end)  # the filler is there
    except IndexError as error:
        raise StreamViolation("login is cut short") from error
    if data.find(b"\0", at + 32, end) < 0:
        raise StreamViolation("the user in the login is cut short")
    user, at = _until_nul(data, at + 32, end)
    found = Login(capabilities, charset, user, None, b"")
    try:
        at = _behind_proof(data, at, end, capabilities)
        if capabilities & constants.CLIENT_CONNECT_WITH_DB:
            database, at = _until_nul(data, at, end)
            found = replace(found, database=database or None)
        return replace(found, attributes=_attributes(data, at, end, capabilities))
    except (StreamViolation, IndexError):
        return found  # the server refuses it, and whom it refuses is known


def _behind_proof(data: bytes, at: int, end: int, capabilities: int) -> int:
    """Where a login goes on behind its proof. Raises StreamViolation or IndexError where that leaves the packet."""
    if capabilities & constants.CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA:
        _, at = _counted(data, at, end)
    elif capabilities & constants.CLIENT_SECURE_CONNECTION:
        at += 1 + u8(data, at, end)
    else:
        _, at = _until_nul(data, at, end)
    if at > end:
        raise StreamViolation("the proof in the login leaves its packet")
    return at


def _login_320(data: bytes, at: int, end: int, capabilities: int) -> Login:
    user, at = _until_nul(data, at + 5, end)
    database: bytes | None = None
    if capabilities & constants.CLIENT_CONNECT_WITH_DB:
        _, at = _until_nul(data, at, end)
        database, at = _until_nul(data, at, end)
    return Login(capabilities, 0, user, database or None, b"")


def _attributes(data: bytes, at: int, end: int, capabilities: int) -> bytes:
    """The connection attributes behind the name of the authentication plugin, as they were sent."""
    if capabilities & constants.CLIENT_PLUGIN_AUTH:
        _, at = _until_nul(data, at, end)
    if not capabilities & constants.CLIENT_CONNECT_ATTRS or at >= end:
        return b""
    attributes, _ = _counted(data, at, end)
    return attributes if len(attributes) <= MOST_ATTRIBUTES else b""


def change_user(data: bytes, at: int, end: int, capabilities: int) -> Login:
    """Read a COM_CHANGE_USER behind its command byte. *capabilities* are the connection's, 0 where not known.

    The proof is skipped by its length: it may contain any byte, NUL too. Raises StreamViolation where it is cut short.
    """
    try:
        user, at = _until_nul(data, at, end)
        if capabilities == 0 or capabilities & constants.CLIENT_SECURE_CONNECTION:
            at += 1 + u8(data, at, end)
        else:
            _, at = _until_nul(data, at, end)
        if at > end:
            raise StreamViolation("the proof in COM_CHANGE_USER leaves its packet")
        database, at = _until_nul(data, at, end)
        charset = 0
        if at + 2 <= end:
            charset = u16(data, at, end)
            at += 2
        return Login(capabilities, charset, user, database or None, _attributes(data, at, end, capabilities))
    except IndexError as error:
        raise StreamViolation("COM_CHANGE_USER is cut short") from error


def pairs(attributes: bytes) -> dict[str, str]:
    """Connection attributes by name. Raises StreamViolation where the bytes are no list of pairs."""
    found: dict[str, str] = {}
    at, end = 0, len(attributes)
    try:
        while at < end:
            key, at = _counted(attributes, at, end)
            value, at = _counted(attributes, at, end)
            found[key.decode("utf-8", "replace")] = value.decode("utf-8", "replace")
    except IndexError as error:
        raise StreamViolation("connection attributes are cut short") from error
    return found
