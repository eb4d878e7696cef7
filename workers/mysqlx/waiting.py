"""The requests of one connection that are not answered to their end, in order."""

from collections import deque
from dataclasses import dataclass
from typing import Final

from workers.mysql.events import OK, UNKNOWN, Exchange, Outbox
from workers.mysql.framing import Allowance
from workers.mysql.unsaved import Unsaved
from workers.mysqlx import phases
from workers.mysqlx.messages import Capabilities

MOST_OPEN: Final = 256
"""Requests of one connection that can wait for their answers: no client sends so many ahead."""


@dataclass(slots=True)
class Request:
    """A request whose answer has not ended. *exchange* is None where it is no record, or has been reported."""

    kind: int
    """Its message type; -1 stands for requests that could not be read, nobody knows how many."""
    exchange: Exchange | None = None
    wanted: Capabilities | None = None
    statement_id: int = 0
    prepared: int = 0
    """Of what it prepares: its number in Statements."""
    acknowledgment: int = 0
    """What the client had read when it was sent."""
    obscured: bool = False
    """Part of its answer could not be read, so that no more than an error can be told of it."""
    partial: bool = False
    """Part of its answer was not seen, so that its rows can't be counted."""
    rows: int = -1
    """What its answer has brought so far; -1 where it has no result set."""
    answer_bytes: int = 0

    def begun(self) -> bool:
        """Something of its answer has come."""
        return self.exchange is None or self.answer_bytes > 0 or self.exchange.status != UNKNOWN


UNREAD: Final = -1
WRAP: Final = 0xFFFFFFFF
_HALF: Final = 1 << 31


def ahead(sequence: int, other: int) -> bool:
    """Whether a TCP sequence number is behind the other in the stream: RFC 9293, section 3.4."""
    return 0 < (sequence - other) & WRAP < _HALF


class Waiting:
    """Holds requests until their answers come, and reports them.

    Answers carry no number: the next one is for the oldest request that can be answered so. ``database`` is where
    requests run, ``acknowledgment`` what the client had read when it sent what is open. What waits is charged to the
    allowance.
    """

    def __init__(self, outbox: Outbox, allowance: Allowance, unsaved: Unsaved) -> None:
        self.database: bytes | None = None
        self._outbox = outbox
        self._allowance = allowance
        self._unsaved = unsaved
        self._open: deque[Request] = deque()
        self.acknowledgment = 0

    def add(self, request: Request, acknowledgment: int) -> None:
        """Keep *request* until it is answered; without room for it, the oldest are reported without their answers."""
        self.acknowledgment = request.acknowledgment = acknowledgment
        self._open.append(request)
        exchange = request.exchange
        if exchange is not None:
            exchange.clock = self._outbox.clock
            exchange.charged = exchange.own_bytes()
            self._allowance.used += exchange.charged
        if len(self._open) > MOST_OPEN:
            self.unread(acknowledgment)
        for each in self._open:
            if self._allowance.used <= self._allowance.limit:
                break
            self.report(each)

    def unread(self, acknowledgment: int) -> None:
        """Requests may have been sent that were not read: no answer can be told until those before it are through."""
        for each in self._open:
            self.report(each)
        self._open.clear()
        self._open.append(Request(UNREAD))
        self.acknowledgment = acknowledgment

    def login(self, acknowledgment: int) -> Exchange | None:
        """The login that is going on, which its next step belongs to; None where there is none."""
        for each in self._open:
            if each.exchange is not None and each.kind == phases.AUTHENTICATE_START:
                self.acknowledgment = acknowledgment
                return each.exchange
        return None

    def oldest(self) -> Request | None:
        """The request whose answer comes next, where that can be told."""
        return self._open[0] if self._open and self._open[0].kind != UNREAD else None

    def lost(self, sequence: int | None) -> None:
        """Answers were not seen up to that TCP sequence number, None where it is not known.

        They may be those to all that was asked before the client had read so far; what it asked later is still to be
        answered.
        """
        while sequence is not None and self._open and ahead(sequence, self._open[0].acknowledgment):
            self.end(self._open[0])
        if sequence is None or not self._open:
            self.unread(self.acknowledgment)

    def only(self, request: Request) -> bool:
        """Nothing else than *request* is open."""
        return len(self._open) == 1 and self._open[0] is request

    def answered_by(self, kind: int) -> Request | None:
        """The request that a message *kind* of the server belongs to; those before it were answered unseen."""
        if self.oldest() is None:
            return None
        for place, each in enumerate(self._open):
            if each.kind == UNREAD:
                return None
            if kind == phases.ERROR or kind in phases.BY_NUMBER[each.kind].answers:
                for _ in range(place):
                    self.end(self._open[0])
                return each
        return None

    def report(self, request: Request) -> None:
        """Report it; its answer may go on."""
        exchange = request.exchange
        if exchange is None:
            return
        request.exchange = None
        self._allowance.used -= exchange.charged
        self.finish(exchange)

    def end(self, request: Request) -> None:
        """The answer of the oldest request, which *request* is, has ended."""
        self.report(request)
        self._open.popleft()

    def finish(self, exchange: Exchange) -> None:
        """What it changes in the session holds from now on, unless it is known to have failed."""
        if exchange.moves_to is not None and exchange.status in {OK, UNKNOWN}:
            self.move(exchange.moves_to)
        self._outbox.finished.append(exchange)

    def move(self, database: bytes) -> None:
        """Requests run in *database* from now on, those sent ahead too."""
        if self.database != database:
            self._unsaved.changed()
        self.database = database
        for each in self._open:
            if each.exchange is not None:
                each.exchange.database = database

    def close(self) -> None:
        """Nothing more is waited for."""
        while self._open:
            self.end(self._open[0])
