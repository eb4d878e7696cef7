"""What one worker leaves to the next of a connection, as plain values: taken from it, checked, given to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from workers.mysql.events import Session

CLASSIC: Final = 1
X: Final = 2
PROTOCOLS: Final = (CLASSIC, X)

LONGEST_STATEMENT: Final = 1 << 16
"""Bytes of its text and types together: a longer one is not written down."""
LONGEST_SESSION: Final = 8192
"""Bytes that a bounded() session takes, at most."""
ENDS_BYTES: Final = 36
_LONGEST_NAME: Final = 1024
"""Servers take far less; what is longer is not a name."""
_LONGEST_ATTRIBUTES: Final = 4096
_MOST_PARAMETERS: Final = 0xFFFF
_SHA256_BYTES: Final = 32
_U16: Final = 0xFFFF
_U32: Final = 0xFFFFFFFF
_U62: Final = (1 << 62) - 1
_U64: Final = (1 << 64) - 1


class SnapshotError(ValueError):
    """What was written down can be no state."""


class SessionState(NamedTuple):
    """Who talks, as Session and the conversation have it."""

    protocol: int
    ends: bytes
    connection_id: int
    server_version: bytes | None
    user: bytes | None
    attributes: bytes
    login_charset: int
    charset: int
    database: bytes | None
    client_capabilities: int
    server_capabilities: int
    encrypted: bool
    compressed: bool

    def bounded(self) -> SessionState:
        """The same without what is too long to be written down."""
        return self._replace(
            server_version=_name(self.server_version),
            user=_name(self.user),
            database=_name(self.database),
            attributes=self.attributes if len(self.attributes) <= _LONGEST_ATTRIBUTES else b"",
        )

    def fill(self, session: Session) -> None:
        """Let *session* be the one that was written down."""
        session.ends = self.ends
        session.connection_id = self.connection_id
        session.server_version = self.server_version
        session.user = self.user
        session.attributes = self.attributes
        session.charset = self.login_charset
        session.encrypted = self.encrypted
        session.compressed = self.compressed
        session.restored = True
        session.packed = None


class StatementState(NamedTuple):
    """A prepared statement, as Prepared has it; ``types`` are those of its last execution."""

    statement_id: int
    parameter_count: int
    charset: int
    types: bytes
    text_length: int
    text_sha256: bytes | None
    text: bytes


def read_session(values: Sequence[object]) -> SessionState:
    """The state that a SessionState was. Raises SnapshotError."""
    reader = _Reader(values, len(SessionState._fields))
    state = SessionState(
        protocol=reader.number(X),
        ends=reader.sized(ENDS_BYTES),
        connection_id=reader.number(_U64),
        server_version=reader.text(_LONGEST_NAME),
        user=reader.text(_LONGEST_NAME),
        attributes=reader.some(_LONGEST_ATTRIBUTES),
        login_charset=reader.number(_U16),
        charset=reader.number(_U16),
        database=reader.text(_LONGEST_NAME),
        client_capabilities=reader.number(_U64),
        server_capabilities=reader.number(_U64),
        encrypted=reader.truth(),
        compressed=reader.truth(),
    )
    if state.protocol not in PROTOCOLS:
        raise SnapshotError("no such protocol")
    return state


def read_statement(values: Sequence[object]) -> StatementState:
    """The state that a StatementState was. Raises SnapshotError."""
    reader = _Reader(values, len(StatementState._fields))
    state = StatementState(
        statement_id=reader.number(_U32),
        parameter_count=reader.number(_MOST_PARAMETERS),
        charset=reader.number(_U16),
        types=reader.some(2 * _MOST_PARAMETERS),
        text_length=reader.number(_U62),
        text_sha256=reader.text(_SHA256_BYTES),
        text=reader.some(LONGEST_STATEMENT),
    )
    if len(state.types) not in {0, 2 * state.parameter_count} or state.text_length < len(state.text):
        raise SnapshotError("a statement contradicts itself")
    if state.text_sha256 is not None and len(state.text_sha256) != _SHA256_BYTES:
        raise SnapshotError("a hash of another length")
    return state


def _name(text: bytes | None) -> bytes | None:
    return None if text is None or len(text) > _LONGEST_NAME else text


class _Reader:
    """Takes values off a sequence, each of the kind and size that it is asked for."""

    def __init__(self, values: Sequence[object], count: int) -> None:
        if len(values) != count:
            raise SnapshotError(f"{len(values)} values, not {count}")
        self._values = iter(values)

    def number(self, most: int) -> int:
        value = next(self._values)
        if type(value) is not int or not 0 <= value <= most:
            raise SnapshotError("a number is none, or too large")
        return value

    def some(self, most: int) -> bytes:
        value = next(self._values)
        if type(value) is not bytes or len(value) > most:
            raise SnapshotError("bytes are none, or too many")
        return value

    def sized(self, size: int) -> bytes:
        found = self.some(size)
        if len(found) != size:
            raise SnapshotError("bytes are too few")
        return found

    def text(self, most: int) -> bytes | None:
        value = next(self._values)
        if value is not None and (type(value) is not bytes or len(value) > most):
            raise SnapshotError("a text is none, or too long")
        return value

    def truth(self) -> bool:
        value = next(self._values)
        if type(value) is not bool:
            raise SnapshotError("neither true nor false")
        return value
