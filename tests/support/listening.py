"""A connection whose two directions are given to the decoder as a pipeline does, and what it tells of the answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from tests.support import mysql_packets as mysql
from tests.support.play import ENDS, MIB, START_NS
from workers.mysql import phases
from workers.mysql.connection import Connection
from workers.mysql.events import Exchange, Outbox
from workers.mysql.framing import Allowance
from workers.mysql.rules import Rules

STEP_NS: Final = 1000
SERVER_FIRST: Final = 0xFFFF_FF00
"""Of the server's sequence numbers; they wrap soon."""
_STATUS: Final = ("unknown", "ok", "error", "result")


class Heard(NamedTuple):
    """What an answer told of itself; None where it is not known."""

    command: str
    text: bytes | None
    status: str
    rows: int | None = None
    affected_rows: int = 0
    error_code: int = 0


class Line:
    """A connection. *whole*: the server's direction is given as a stream, else by segments, and *timed*."""

    def __init__(
        self, *, whole: bool = True, timed: bool = False, from_start: bool = True, room: int = 4 * MIB,
        capabilities: int = mysql.CLIENT_CAPABILITIES,
    ) -> None:  # fmt: skip
        self.outbox = Outbox()
        self.allowance = Allowance(room)
        self.connection = Connection(self.outbox, Rules(MIB, True, self.allowance, timed), ENDS, from_start)
        self.now_ns = START_NS
        self.place = SERVER_FIRST
        """The sequence number of what the server says next."""
        self._whole = whole
        if from_start:
            self.server(mysql.greeting())
            self.client(mysql.login(capabilities=capabilities))
            self.server(mysql.ok(sequence=2))
            assert self.heard()[0] == ("connect", None, "ok", None, 0, 0)
            self.outbox.finished.clear()

    def client(self, data: bytes, *, read: int | None = None) -> int:
        """The client sends *data* when it has read the server up to *read* (None: all that it has said)."""
        self.now_ns += STEP_NS
        acknowledgment = (self.place if read is None else read) & 0xFFFFFFFF
        return self.connection.client(b"\xee" + data + b"\xff", 1, 1 + len(data), self.now_ns, acknowledgment)

    def server(self, data: bytes, sizes: Sequence[int] = (), *, missing: int = 0) -> list[int]:
        """The server says *data*, in pieces of these sizes and a last one with the rest; what each was."""
        self.now_ns += STEP_NS
        verdicts, at = [], 0
        for size in [*sizes, len(data)]:
            piece = data[at : at + size]
            at += size
            if piece:
                verdicts.append(self._say(piece, missing if at >= len(data) else 0))
        return verdicts

    def _say(self, piece: bytes, missing: int) -> int:
        padded, stop = b"\xee" + piece + b"\x01" * 9, 1 + len(piece)
        place = self.place
        self.place = (place + len(piece) + missing) & 0xFFFFFFFF
        if self._whole:
            self.connection.server_position(self.place, False)
            return self.connection.server_stream(padded, 1, stop, self.now_ns, place)
        return self.connection.server(padded, 1, stop, self.now_ns, missing)

    def lose(self, size: int) -> None:
        """So many bytes of the server are never seen."""
        self.place = (self.place + size) & 0xFFFFFFFF
        self.connection.server_gap(size, self.place)
        self.connection.server_position(self.place, False)

    def exchanges(self) -> list[Exchange]:
        """What has been reported."""
        return self.outbox.finished

    def heard(self) -> list[Heard]:
        """What has been reported, as values."""
        return [
            Heard(
                phases.name(one.command), one.text, _STATUS[one.status], None if one.rows < 0 else one.rows,
                one.affected_rows, one.error_code,
            )
            for one in self.outbox.finished
        ]  # fmt: skip

    def close(self) -> list[Heard]:
        """The connection ends, and must leave nothing behind; all that was reported."""
        self.connection.close()
        assert self.allowance.used == 0, "a connection that is over keeps nothing"
        assert self.outbox.decoded == len(self.outbox.finished) + 1, "all commands are reported, beside the login"
        return self.heard()
