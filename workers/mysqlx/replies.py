"""The server's direction of an X Protocol connection: what answers the requests that wait. No I/O, no clock.

Answers come in the order of their requests, and nothing numbers them. Where it is not known what came before, a message
is taken to begin where a segment does, if the segment reads like messages.
"""

from typing import Final

from workers.mysql.errors import StreamViolation
from workers.mysql.events import OK, RESULT, UNKNOWN, Exchange, Outbox
from workers.mysql.rules import Rules
from workers.mysqlx import answers, phases
from workers.mysqlx.compression import Tunnel
from workers.mysqlx.framing import HEADER, LARGEST_COMPRESSED, Framing
from workers.mysqlx.waiting import WRAP, Request, Waiting, ahead

_KEPT: Final = dict.fromkeys(phases.SERVER_MESSAGES, 1 << 16) | {
    phases.COLUMN_META_DATA: 0,
    phases.ROW: 0,
    phases.SERVER_COMPRESSION: LARGEST_COMPRESSED,
}
"""Bytes of each message: nothing is read of rows and their definitions, and errors are short."""
_MOST_WARNINGS: Final = 0xFFFF


class Replies:
    """Matches what the server sends with what waits.

    segment() takes segments by themselves, of which some may be missing; an answer with rows is reported as soon as it
    begins, with ``Rules.timed`` when it has ended, or nothing more of it comes: quiet(). stream() takes the whole
    direction in order, and an answer is reported when it has ended.
    ``ended``: requests that have been answered and what ended the answer, where that means something to the
    connection; ``number``: the connection's, 0 where nothing was said of it; ``encrypted``: the rest is under TLS;
    ``unread``: there was a compressed message that could not be read. Whoever calls clears them.
    """

    def __init__(self, outbox: Outbox, waiting: Waiting, rules: Rules, from_start: bool) -> None:
        self.ended: list[tuple[Request, int]] = []
        self.number = 0
        self.encrypted = False
        self.unread = False
        self._outbox = outbox
        self._waiting = waiting
        self._timed = rules.timed
        self._lingering = False
        self._synced = from_start
        self._position: int | None = None
        self._holding = False
        self._astray = False
        self._began_ns = 0
        self._pending = 0
        self._framing = Framing(_KEPT, rules.allowance)
        self._tunnel = Tunnel(_KEPT, rules.allowance)

    def use(self, algorithm: bytes | None) -> None:
        """From now on messages are compressed by *algorithm*; None: it is not known by which, or not at all."""
        self._tunnel.use(algorithm)

    def close(self) -> None:
        """Nothing more is read."""
        self._framing.reset()
        self._tunnel.close()

    # --- what the client's direction tells

    def settle(self, acknowledgment: int) -> None:
        """A client that has read more since it sent what is open has its answers; what was not seen won't come.

        Where it has read nothing that was not seen here it sends ahead, and the answers come in order.
        """
        waiting = self._waiting
        if acknowledgment == waiting.acknowledgment:
            return
        if waiting.oldest() is not None and not self._astray:
            if self._holding:
                return
            if self._synced and self._position is not None and not ahead(acknowledgment, self._position):
                return
        self._astray = False
        waiting.close()

    def hold(self, holding: bool) -> None:
        """Whether more has been captured than stream() was given: it waits for a hole to be filled."""
        self._holding = holding

    def quiet(self, before_ns: int) -> bool:
        """Report the answer that is open where nothing of it has come since *before_ns*. Whether some is to come."""
        request = self._waiting.oldest()
        if request is not None and request.exchange is not None and request.exchange.duration_ns >= 0:
            if request.exchange.time_ns + request.exchange.duration_ns >= before_ns:
                return True
            self._waiting.report(request)
        self._lingering = False
        return False

    # --- segments by themselves

    def segment(self, data: bytes, at: int, end: int, time_ns: int, missing: int, sequence: int | None) -> bool:
        """Take the segment ``data[at:end]``, behind which *missing* bytes were not captured. Whether it answers.

        *sequence*: its TCP sequence number; None: it comes right behind the one before.
        """
        if sequence is None:
            sequence = self._position
        if sequence is not None:
            at = min(at + self._seen(sequence, end - at + missing, time_ns), end)
        if not self._synced:
            begin = self._find(data, at, end, sequence)
            if begin == end:
                return self._go_on(end - at + missing, time_ns)
            self._synced = True
            at = begin
        used = self._read(data, at, end, time_ns)
        if missing and self._synced:
            self._skip(missing, time_ns)
        elif missing:
            self._go_on(missing, time_ns)
        if self._timed:
            self._linger()
        else:
            self._report_results()
        return used

    def _seen(self, sequence: int, size: int, time_ns: int) -> int:
        """How many bytes of a segment there were before. Those that are missing before it end what is known."""
        position = self._position
        after = (sequence + size) & WRAP
        if position is not None and ahead(position, sequence):
            if ahead(after, position):
                self._position = after
            return (position - sequence) & WRAP
        self._position = after
        if position is not None and position != sequence:
            self._lose(sequence, (sequence - position) & WRAP, time_ns)
        return 0

    def _skip(self, missing: int, time_ns: int) -> None:
        """Bytes of a message, or of several, that are known to have come."""
        if self._framing.gap(missing):
            self._pending += missing
            if self._framing.complete:
                self._complete(time_ns)
        else:
            self._lose(self._position, missing, time_ns)

    def _go_on(self, size: int, time_ns: int) -> bool:
        """Take *size* bytes of which no message is told; whether they are part of an answer that is timed."""
        request = self._waiting.oldest()
        if request is None or not request.partial:
            return False
        self._count(request, size, time_ns)
        return True

    def _lose(self, sequence: int | None, missing: int, time_ns: int) -> None:
        """*missing* bytes, up to that TCP sequence number, can't be read: answers may have begun and ended in them.

        They matter to requests that were sent before the client had read them. With just one, they belong to its
        answer, which goes on to be timed.
        """
        pending = self._pending
        self._synced = False
        self._pending = 0
        self.close()
        request = self._waiting.oldest()
        if request is None or (sequence is not None and not ahead(sequence, request.acknowledgment)):
            return
        if self._timed and request.exchange is not None and self._waiting.only(request):
            request.partial = True
            self._time(request.exchange, time_ns)
            self._count(request, pending + missing, time_ns)
        else:
            self._waiting.lost(sequence)

    def _find(self, data: bytes, at: int, end: int, sequence: int | None) -> int:
        """Where in ``data[at:end]``, which has that TCP sequence number, a message can be trusted to begin; or *end*.

        An answer begins behind what the client had read when it asked; rows that go on there are those of another one.
        """
        request = self._waiting.oldest()
        if request is not None and sequence is not None and not request.begun():
            skipped = (request.acknowledgment - sequence) & WRAP
            if ahead(request.acknowledgment, sequence):
                at = min(at + skipped, end)
            if end - at > HEADER and data[at + 4] == phases.ROW and request.kind != phases.CURSOR_FETCH:
                return end
        return at if answers.is_boundary(data, at, end) else end

    def _linger(self) -> None:
        request = self._waiting.oldest()
        if request is None or request.exchange is None or request.exchange.duration_ns < 0 or self._lingering:
            return
        self._lingering = True
        self._outbox.lingering.append(self)

    def _report_results(self) -> None:
        """What was answered with rows is reported, even where their end is not there: it may never be seen."""
        request = self._waiting.oldest()
        if request is not None and request.exchange is not None and request.exchange.status == RESULT:
            self._waiting.report(request)

    # --- the whole direction

    def stream(self, data: bytes, at: int, end: int, time_ns: int, sequence: int) -> bool:
        """Take the server's next in-order bytes ``data[at:end]``, the first at that TCP sequence number.

        Whether any of them answer.
        """
        self._position = (sequence + end - at) & WRAP
        if not self._synced:
            at = self._find(data, at, end, sequence)
            self._synced = at < end
        return self._synced and self._read(data, at, end, time_ns)

    def gap(self, missing: int, sequence: int) -> None:
        """*missing* bytes of the server were lost, up to that TCP sequence number. Inside a message nothing changes."""
        self._position = sequence
        if self._synced and self._framing.gap(missing):
            if self._framing.complete:
                self._complete(self._began_ns)
            return
        self._lose(sequence, missing, self._began_ns)

    # --- messages

    def _read(self, data: bytes, at: int, end: int, time_ns: int) -> bool:
        """Take messages. Whether any belongs to something, or one has begun."""
        framing = self._framing
        matched = not framing.inside
        try:
            while at < end and not self.encrypted:
                if not framing.inside:
                    self._began_ns = time_ns
                begin = at
                at = self._step_over_rows(data, at, end, time_ns)
                if at > begin:
                    continue
                at = framing.next(data, at, end)
                self._pending += at - begin
                if framing.complete:
                    matched = self._complete(time_ns)
        except StreamViolation:
            self._lose(self._position, end - at, time_ns)
            return False
        return matched or framing.inside

    def _step_over_rows(self, data: bytes, at: int, end: int, time_ns: int) -> int:
        """Count the rows that lie whole at *at*, where rows are awaited; where to go on."""
        if self._framing.inside or end - at <= HEADER or data[at + 4] != phases.ROW:
            return at
        request = self._waiting.oldest()
        if request is None or request.rows < 0:
            return at
        stop, rows = answers.whole_rows(data, at, end)
        request.rows += rows
        self._count(request, stop - at, time_ns)
        return stop

    def _complete(self, time_ns: int) -> bool:
        self._pending = 0
        matched = self._answer(self._framing, time_ns)
        self._framing.reset_message()
        return matched

    def _answer(self, framing: Framing, time_ns: int) -> bool:
        """A whole message of the server is there. Whether it belongs to anything."""
        kind = framing.kind
        if kind == phases.SERVER_COMPRESSION:
            return self._compressed(framing, time_ns)
        if kind == phases.NOTICE:
            return self._notice(framing, time_ns)
        request = self._waiting.answered_by(kind)
        if request is None:
            self._astray = True
            return False
        exchange = request.exchange
        if exchange is not None:
            self._time(exchange, self._began_ns)
            self._count(request, framing.length + phases.HEADER_SIZE, time_ns)
            if kind in phases.RESULTS:
                exchange.status = RESULT
                request.rows = max(request.rows, 0) + (kind == phases.ROW)
            elif kind == phases.ERROR:
                answers.error(exchange, framing.data, framing.begin, framing.finish)
            elif kind in phases.ENDINGS and exchange.status == UNKNOWN and not request.obscured:
                exchange.status = OK
        if kind in phases.ENDINGS:
            self._end(request, kind, time_ns)
        return True

    def _count(self, request: Request, size: int, time_ns: int) -> None:
        """So many bytes more of its answer have come."""
        exchange = request.exchange
        request.answer_bytes += size
        if self._timed and exchange is not None:
            exchange.bytes_out = request.answer_bytes
            exchange.duration_ns = max(exchange.duration_ns, time_ns - exchange.time_ns, 0)

    def _time(self, exchange: Exchange, time_ns: int) -> None:
        if exchange.latency_ns < 0:
            exchange.latency_ns = max(0, time_ns - exchange.time_ns)

    def _end(self, request: Request, kind: int, time_ns: int) -> None:
        """The answer has ended. What it was is known where it was seen whole and has not been reported before."""
        exchange = request.exchange
        if exchange is not None and (self._timed or not request.obscured):
            exchange.duration_ns = max(0, time_ns - exchange.time_ns)
            exchange.bytes_out = request.answer_bytes
            exchange.rows = -1 if request.partial else request.rows
        if request.wanted is not None or request.kind == phases.PREPARE:
            self.ended.append((request, kind))
        self._waiting.end(request)
        if request.wanted is not None and kind != phases.ERROR:
            self.encrypted = request.wanted.tls

    def _compressed(self, framing: Framing, time_ns: int) -> bool:
        """The messages in a Compression message of the server; False where they can't be read."""
        try:
            for inside in self._tunnel.messages(framing):
                self._answer(inside, time_ns)
        except StreamViolation:
            self.unread = True
            self._obscure(framing, time_ns)
            return False
        return True

    def _obscure(self, framing: Framing, time_ns: int) -> None:
        """A Compression message that is part of an answer can't be read; at most the type of what is in it is known."""
        request = self._waiting.oldest()
        if request is None:
            return
        request.obscured = request.partial = True
        if request.exchange is not None:
            self._time(request.exchange, self._began_ns)
            self._count(request, framing.length + phases.HEADER_SIZE, time_ns)
            if answers.kind_inside(framing.data, framing.begin, framing.finish) in phases.RESULTS:
                request.exchange.status = RESULT

    def _notice(self, framing: Framing, time_ns: int) -> bool:
        """What the server mentions beside its answers."""
        said = answers.notice(framing.data, framing.begin, framing.finish)
        if said.kind == answers.STATE_CHANGED and said.parameter == answers.CLIENT_ID_ASSIGNED:
            if isinstance(said.value, int) and 0 < said.value < 1 << 64:
                self.number = said.value
            return True
        request = self._waiting.oldest()
        if not said.local or request is None or request.exchange is None:
            return not said.local
        self._time(request.exchange, self._began_ns)
        self._count(request, framing.length + phases.HEADER_SIZE, time_ns)
        if said.kind == answers.WARNING:
            request.exchange.warnings = min(request.exchange.warnings + 1, _MOST_WARNINGS)
        elif said.kind == answers.STATE_CHANGED:
            _state_changed(request.exchange, said)
        return True


def _state_changed(exchange: Exchange, said: answers.Notice) -> None:
    if isinstance(said.value, bytes):
        if said.parameter == answers.CURRENT_SCHEMA and said.value:
            exchange.moves_to = said.value
    elif said.value is not None and said.value >= 0:
        if said.parameter == answers.ROWS_AFFECTED:
            exchange.affected_rows = said.value
        elif said.parameter == answers.GENERATED_INSERT_ID:
            exchange.last_insert_id = said.value
