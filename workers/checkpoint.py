"""What is known of open connections, kept in an area for the worker that comes after this one.

Changes are appended as they come, a frame for each block of the ring: records of MessagePack, of which the first value
says what they are. When a half of the area is full, all that holds is written anew, up to half of the half, so that
this is seldom; the connections heard last come first. What finds no room is counted.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, cast

import msgpack

from workers.area import Area, AreaError
from workers.mysql.snapshot import (
    ENDS_BYTES,
    LONGEST_SESSION,
    LONGEST_STATEMENT,
    SessionState,
    SnapshotError,
    StatementState,
    read_session,
    read_statement,
)
from workers.mysql.unsaved import Unsaved

# What a record is, and the values behind it. Connections and texts have numbers from 1.
_SESSION: Final = 0  # a connection, its ends, a SessionState
_TEXT: Final = 1  # a number, the text
_STATEMENT: Final = 2  # a connection, a StatementState with the number of its text
_CLOSED: Final = 3  # a connection, ids of statements
_ENDED: Final = 4  # a connection

_MOST_CLOSED: Final = 1000
_MOST_VALUES: Final = 1024
_LONGEST_VALUE: Final = 1 << 18
_OVERHEAD: Final = 128
"""Bytes of a record beside its text and types."""


class Owner(Protocol):
    """Who has the state of a connection."""

    @property
    def unsaved(self) -> Unsaved:
        """What of it has changed."""

    def state(self) -> SessionState:
        """Who talks."""

    def statement_ids(self) -> list[int]:
        """Of the prepared statements."""

    def statement(self, statement_id: int) -> StatementState | None:
        """One of them; None where it is none."""

    def restore(self, state: SessionState, statements: Iterable[StatementState]) -> None:
        """Go on with what was known."""


@dataclass(slots=True)
class Remembered:
    """What was known of a connection of which nothing has been heard since."""

    number: int
    ends: bytes
    session: SessionState
    statements: dict[int, StatementState] = field(default_factory=dict)

    def written(self, number: int) -> None:
        """As of Unsaved."""
        self.number = number


class Checkpoint:
    """Reads an area once, then writes it.

    ``restored``: connections that went on with what was known; ``dropped``: sessions and statements that found no room,
    or were too long. ``damage``: what was wrong with what the worker before left, empty for nothing. Promise, pinned by
    a test: whatever the area holds, nothing is raised.
    """

    def __init__(self, area: Area) -> None:
        self._area = area
        self._packer = msgpack.Packer(autoreset=False)
        self._texts: dict[bytes, int] = {}
        self._numbers = itertools.count(1)
        self._remembered: dict[bytes, Remembered] = {}
        self._heard_ns = 0
        self._over: list[Remembered] = []
        self.restored = 0
        self.dropped = 0
        self.damage = ""

    def counted(self) -> tuple[int, int, int]:
        """Connections restored, what was dropped, and 1 where what was left was damaged."""
        return self.restored, self.dropped, int(self.damage != "")

    # --- what was left

    def read(self) -> None:
        """Find out what the worker before knew; from then on the area holds what can be trusted of it."""
        log = _Log()
        try:
            for frame in self._area.read():
                log.take(frame)
        except (AreaError, SnapshotError) as error:
            self.damage = str(error)
            log = _Log()
        self._remembered = log.by_ends()
        self._heard_ns = self._area.time_ns
        self._write_anew(())

    @property
    def known(self) -> int:
        """Connections of which something is known that have not been heard again."""
        return len(self._remembered)

    def begun(self, owner: Owner, ends: bytes, from_start: bool) -> None:
        """*owner* has been made for the connection between these ends; *from_start*: it was seen to be a new one."""
        known = self._remembered.pop(ends, None)
        if known is None:
            return
        if from_start or owner.state().protocol != known.session.protocol:
            self._over.append(known)
            return
        owner.restore(known.session, known.statements.values())
        owner.unsaved.number = known.number
        self.restored += 1

    def forget(self, before_ns: int) -> None:
        """Remember nothing more of who has not been heard again, where nobody was heard since *before_ns* either."""
        if self._remembered and self._heard_ns < before_ns:
            self._over += self._remembered.values()
            self._remembered.clear()

    def touch(self, now_ns: int) -> None:
        """The clock was set: how long connections were silent is counted from now."""
        self._heard_ns = now_ns

    # --- what is left

    def save(self, changed: Sequence[Unsaved], everybody: Callable[[], Iterable[Owner]], now_ns: int) -> None:
        """Write *changed* down; *everybody* gives all owners there are, those heard last first."""
        self._area.time_ns = now_ns
        for known in self._over:
            self._end(known)
        self._over.clear()
        for one in changed:
            self._append(one)
        if self._size() and not self._area.append(self._taken()):
            self._write_anew(everybody())

    def _append(self, one: Unsaved) -> None:
        if one.ended:
            self._end(one)
            return
        owner = cast("Owner", one.owner)
        number = one.number or next(self._numbers)
        ids: Iterable[int] = one.statements if one.number else owner.statement_ids()
        if one.session or not one.number:
            self._packer.pack((_SESSION, number, one.ends, *owner.state().bounded()))
        closed: list[int] = []
        for statement_id in ids:
            state = owner.statement(statement_id)
            if state is None or not self._statement(number, state):
                closed.append(statement_id)
        for at in range(0, len(closed), _MOST_CLOSED):
            self._packer.pack((_CLOSED, number, *closed[at : at + _MOST_CLOSED]))
        one.written(number)

    def _end(self, one: Unsaved | Remembered) -> None:
        if one.number:
            self._packer.pack((_ENDED, one.number))
        one.written(0)

    def _write_anew(self, owners: Iterable[Owner]) -> None:
        """Write all that holds: of each connection who it is, as far as there is room, then their statements."""
        self._packer.reset()
        self._texts.clear()
        self._numbers = itertools.count(1)
        room = self._area.half_bytes // 2
        written: list[tuple[int, Iterable[StatementState]]] = []
        for one, session, statements in self._all(owners):
            if self._size() + LONGEST_SESSION > room:
                self.dropped += 1
                one.written(0)
                continue
            number = next(self._numbers)
            self._packer.pack((_SESSION, number, one.ends, *session))
            one.written(number)
            written.append((number, statements))
        for number, statements in written:
            for state in statements:
                if self._size() + len(state.text) + len(state.types) + _OVERHEAD > room:
                    self.dropped += 1
                else:
                    self._statement(number, state)
        self._area.replace(self._taken())

    def _all(
        self, owners: Iterable[Owner]
    ) -> Iterator[tuple[Unsaved | Remembered, SessionState, Iterable[StatementState]]]:
        for owner in owners:
            yield owner.unsaved, owner.state().bounded(), _statements(owner)
        for one in self._remembered.values():
            yield one, one.session, one.statements.values()

    def _statement(self, number: int, state: StatementState) -> bool:
        """Whether it was written: it may be too long."""
        text = state.text
        if len(text) + len(state.types) > LONGEST_STATEMENT:
            self.dropped += 1
            return False
        known = self._texts.get(text)
        if known is None:
            known = self._texts[text] = len(self._texts) + 1
            self._packer.pack((_TEXT, known, text))
        self._packer.pack((_STATEMENT, number, *state[:-1], known))
        return True

    def _size(self) -> int:
        return len(self._packer.getbuffer())

    def _taken(self) -> bytes:
        frame: bytes = self._packer.bytes()
        self._packer.reset()
        return frame


def _statements(owner: Owner) -> Iterator[StatementState]:
    for statement_id in owner.statement_ids():
        state = owner.statement(statement_id)
        if state is not None:
            yield state


class _Log:
    """Records in the order in which they were written. Raises SnapshotError for what nobody can have written."""

    def __init__(self) -> None:
        self._texts: dict[int, bytes] = {}
        self._connections: dict[int, Remembered] = {}
        self._numbers: dict[bytes, int] = {}

    def by_ends(self) -> dict[bytes, Remembered]:
        """What holds in the end."""
        return {one.ends: one for one in self._connections.values()}

    def take(self, frame: bytes) -> None:
        unpacker = msgpack.Unpacker(
            raw=True, max_buffer_size=max(len(frame), 1), max_array_len=_MOST_VALUES, max_bin_len=_LONGEST_VALUE,
            max_str_len=0, max_map_len=0, max_ext_len=0,
        )  # fmt: skip
        unpacker.feed(frame)
        try:
            for record in unpacker:
                self._record(record)
        except (ValueError, TypeError, RecursionError, msgpack.UnpackException) as error:
            raise SnapshotError(str(error) or type(error).__name__) from error
        if unpacker.tell() != len(frame):
            raise SnapshotError("a record is cut short")

    def _record(self, record: object) -> None:
        if type(record) is not list or len(record) < 2:
            raise SnapshotError("not a record")
        kind, number, *values = record
        if type(number) is not int or type(kind) is not int:
            raise SnapshotError("a record without a number")
        if kind == _SESSION and values:
            self._session(number, values)
        elif kind == _TEXT and len(values) == 1:
            self._text(number, values[0])
        elif kind == _STATEMENT and values:
            state = read_statement([*values[:-1], self._texts.get(values[-1])])
            self._of(number).statements[state.statement_id] = state
        elif kind == _CLOSED:
            for statement_id in values:
                if type(statement_id) is not int:
                    raise SnapshotError("an id that is none")
                self._of(number).statements.pop(statement_id, None)
        elif kind == _ENDED and not values:
            one = self._of(number)
            del self._connections[number], self._numbers[one.ends]
        else:
            raise SnapshotError("no such record")

    def _session(self, number: int, values: Sequence[object]) -> None:
        ends, *state = values
        if type(ends) is not bytes or len(ends) != ENDS_BYTES:
            raise SnapshotError("a connection without its ends")
        session = read_session(state)
        known = self._connections.get(number)
        if known is not None and known.ends == ends:
            known.session = session
            return
        if known is not None or ends in self._numbers:
            raise SnapshotError("two connections are one")
        self._numbers[ends] = number
        self._connections[number] = Remembered(number, ends, session)

    def _text(self, number: int, text: object) -> None:
        if type(text) is not bytes:
            raise SnapshotError("a text that is none")
        self._texts[number] = text

    def _of(self, number: int) -> Remembered:
        known = self._connections.get(number)
        if known is None:
            raise SnapshotError("no such connection")
        return known
