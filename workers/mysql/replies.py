"""The server's direction of a connection that is logged in: takes what answers the commands that wait. No clock.

Answers come in the order of their commands and carry no number but the sequence id, which goes on from the command's.
Where it is not known what came before, one is taken to begin where a segment does, if it reads like one.
"""

import cython

from workers.mysql import beginnings, events
from workers.mysql.beginnings import Beginning
from workers.mysql.events import Exchange, Outbox
from workers.mysql.framing import Allowance
from workers.mysql.results import Answers
from workers.mysql.waiting import Waiting

if not cython.compiled:
    from workers.wire import u24

_NOTHING = cython.declare(cython.int, beginnings.NOTHING)
_INTERIM = cython.declare(cython.int, beginnings.INTERIM)
_FILE = cython.declare(cython.int, beginnings.FILE)
_WHOLE = cython.declare(cython.int, beginnings.WHOLE)
_PREPARED = cython.declare(cython.int, beginnings.PREPARED)
_STREAM = cython.declare(cython.int, beginnings.STREAM)
_STATUS_UNKNOWN = cython.declare(cython.uint, events.UNKNOWN)
_HEADER = cython.declare(cython.Py_ssize_t, 4)
_WRAP = cython.declare(cython.longlong, 0xFFFFFFFF)
_HALF = cython.declare(cython.longlong, 0x80000000)


@cython.cfunc
def _distance(later: cython.longlong, earlier: cython.longlong) -> cython.longlong:
    """How far one TCP sequence number lies behind another: RFC 9293 section 3.4."""
    forward: cython.longlong = (later - earlier) & _WRAP
    return forward if forward < _HALF else forward - _WRAP - 1


@cython.final
@cython.cclass
class Replies:
    """Matches what the server sends with what waits.

    segment() takes segments by themselves and reads the beginning of an answer; with *timed* it counts the rest of it
    too, which ends with the next command, the connection, or silence: quiet(). stream() takes the whole direction in
    order, and reads all. ``in_step``: the next byte begins an answer. ``position``: the TCP sequence number up to which
    stream() has come; ``holding``: what lies behind it has been captured and waits for a hole to be filled. ``strict``:
    as that of Answers.
    """

    in_step: cython.bint
    position: cython.uint
    holding: cython.bint
    strict: cython.bint
    _outbox: Outbox
    _waiting: Waiting
    _timed: cython.bint
    _lingering: cython.bint
    _beginning: Beginning
    _allowance: Allowance
    _answers: Answers | None

    def __init__(self, outbox: Outbox, waiting: Waiting, allowance: Allowance, timed: bool) -> None:
        self.in_step = False
        self.position = 0
        self.holding = False
        self.strict = True
        self._outbox = outbox
        self._waiting = waiting
        self._timed = timed
        self._lingering = False
        self._beginning = Beginning()
        self._allowance = allowance
        self._answers = None

    # --- what the client's direction tells

    @cython.ccall
    @cython.exceptval(-1)
    def settle(self, acknowledgment: cython.uint) -> cython.int:
        """A client that has read more since it sent the open command has its answer; what we have not seen won't come.

        Where it has read nothing more it sends ahead, and the answers come in order. Of an answer that is read in whole
        the client may have read the part that we have, and what is held back has still its chance.
        """
        waiting: Waiting = self._waiting
        answers: Answers | None = self._answers
        while waiting.open is not None and waiting.open.acknowledgment != acknowledgment:
            if answers is not None:
                if self.holding:
                    return 0
                if answers.exchange is waiting.open and _distance(acknowledgment, self.position) <= 0:
                    return 0
            waiting.finish_oldest()
        return 0

    @cython.ccall
    def close(self) -> cython.int:
        """The connection is over, or another login begins."""
        self.in_step = False
        if self._answers is not None:
            self._answers.end()
        return 0

    # --- segments by themselves

    @cython.ccall
    @cython.exceptval(-1)
    def segment(
        self,
        data: bytes,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        time_ns: cython.longlong,
        missing: cython.Py_ssize_t,
        before: cython.Py_ssize_t,
    ) -> cython.bint:
        """Take the segment ``data[at:end]``. Whether it answers.

        Behind it *missing* bytes were not captured, and *before* it so many were not seen: fewer than none where it
        brings some again.
        """
        waiting: Waiting = self._waiting
        exchange: Exchange | None = waiting.open
        used: cython.bint = False
        stop: cython.Py_ssize_t
        if exchange is not None and exchange.status != _STATUS_UNKNOWN:
            if not self._another_begins(data, at, end):
                self._more(exchange, before + (end - at) + missing, time_ns)
                return True
            waiting.finish_oldest()
            exchange = waiting.open
        while exchange is not None and end - at > _HEADER and data[at + 3] == exchange.sequence:
            stop = at + _HEADER + u24(data, at, end)
            kind: cython.int = self._begin(exchange, data, at, end)
            if kind == _NOTHING:
                break
            used = True
            if kind == _INTERIM or kind == _FILE:
                exchange.bytes_out += stop - at if self._timed else 0
                exchange.sequence = (exchange.sequence + 1) & 0xFF
                waiting.wants_file = kind == _FILE
            elif kind == _WHOLE:
                self._time(exchange, stop - at, time_ns)
                waiting.finish_oldest()
                exchange = waiting.open
            else:
                self._time(exchange, end - at + missing, time_ns)
                self._begun(kind)
                break
            at = stop
        return used

    @cython.cfunc
    @cython.exceptval(-1)
    def _time(self, exchange: Exchange, length: cython.Py_ssize_t, time_ns: cython.longlong) -> cython.int:
        """*length* bytes have begun the answer."""
        exchange.latency_ns = time_ns - exchange.time_ns if time_ns > exchange.time_ns else 0
        if self._timed:
            exchange.bytes_out += length
            exchange.duration_ns = exchange.latency_ns
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _begin(self, exchange: Exchange, data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.int:
        """What the packet at *at* is to *exchange*; nothing where too little of it is there."""
        length: cython.Py_ssize_t = u24(data, at, end)
        at += _HEADER
        if length < end - at:
            end = at + length
        kind: cython.int
        try:
            kind = self._beginning.read(exchange, data, at, end, length)
        except IndexError:
            exchange.status = _STATUS_UNKNOWN
            return _NOTHING
        if kind == _FILE and not self._waiting.file_follows():
            return _NOTHING
        if kind == _PREPARED and self._beginning.definitions + self._beginning.columns == 0:
            return _WHOLE
        return kind

    @cython.cfunc
    @cython.exceptval(-1)
    def _begun(self, kind: cython.int) -> cython.int:
        """More of the answer is to come, which is nobody's business unless it is timed; replication never ends."""
        if not self._timed or kind == _STREAM:
            self._waiting.finish_oldest()
            return 0
        if not self._lingering:
            self._lingering = True
            self._outbox.lingering.append(self)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _more(self, exchange: Exchange, length: cython.Py_ssize_t, time_ns: cython.longlong) -> cython.int:
        exchange.bytes_out += length
        if time_ns - exchange.time_ns > exchange.duration_ns:
            exchange.duration_ns = time_ns - exchange.time_ns
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _another_begins(self, data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.bint:
        """Whether the next command was sent ahead and its answer begins here; the open one's is over then."""
        following: Exchange | None = self._waiting.following()
        if following is None or end - at <= _HEADER or data[at + 3] != following.sequence:
            return False
        kind: cython.int = self._begin(following, data, at, end)
        following.status = _STATUS_UNKNOWN
        following.affected_rows = following.warnings = 0
        return kind != _NOTHING

    @cython.ccall
    def quiet(self, before_ns: cython.longlong) -> cython.bint:
        """Report the open exchange where nothing of its answer has come since *before_ns*. Whether some is to come."""
        exchange: Exchange | None = self._waiting.open
        if exchange is not None and exchange.status != _STATUS_UNKNOWN:
            if exchange.time_ns + exchange.duration_ns >= before_ns:
                return True
            self._waiting.finish_oldest()
        self._lingering = False
        return False

    # --- the whole direction

    @cython.ccall
    @cython.exceptval(-1)
    def stream(
        self,
        data: bytes,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        time_ns: cython.longlong,
        sequence: cython.uint,
    ) -> cython.bint:
        """Take the server's next in-order bytes ``data[at:end]``, the first at that TCP sequence number.

        Whether any of them answer.
        """
        waiting: Waiting = self._waiting
        answers: Answers = self._reader()
        answers.strict = self.strict
        begin: cython.Py_ssize_t = at
        used: cython.bint = False
        if answers.exchange is not None and answers.exchange is not waiting.open:
            self._lose_step()
        while at < end:
            if answers.exchange is None:
                if not self._find(answers, data, at, end, sequence + (at - begin)):
                    return used
            elif answers.wants_file and waiting.open is not None:
                answers.sequence = waiting.open.sequence
            at = answers.take(data, at, end, time_ns)
            waiting.wants_file = answers.wants_file
            if answers.broken:
                self._give_up(answers)
                return used
            used = True
            if answers.done:
                self.in_step = True
                answers.end()
                waiting.finish_oldest()
        return used

    @cython.cfunc
    def _reader(self) -> Answers:
        answers: Answers | None = self._answers
        if answers is None:
            answers = Answers(self._allowance)
            self._answers = answers
        return answers

    @cython.ccall
    def learn(self, capabilities: cython.ulonglong) -> cython.int:
        """A login has succeeded whose answer the stream has read to its end: what both sides can do."""
        self.in_step = True
        return self._reader().learn(capabilities)

    @cython.cfunc
    @cython.exceptval(-1)
    def _find(
        self,
        answers: Answers,
        data: bytes,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        sequence: cython.longlong,
    ) -> cython.bint:
        """Whether an answer begins at *at*: it must where the stream is in step, and must look so where it is not."""
        waiting: Waiting = self._waiting
        exchange: Exchange | None = waiting.open
        following: Exchange | None
        if exchange is None:
            self.in_step = False  # nobody has asked for this
            return False
        if not self.in_step:
            following = waiting.following()
            while following is not None and following.acknowledgment != exchange.acknowledgment:
                if _distance(sequence, following.acknowledgment) < 0:
                    break
                waiting.finish_oldest()  # the client sent the next one when it had read all before this place
                exchange = following
                following = waiting.following()
            if _distance(sequence, exchange.acknowledgment) < 0:
                return False
            if end - at <= _HEADER or (data[at + 3] != exchange.sequence and self.strict):
                return False
        answers.begin(exchange, exchange.sequence)
        return True

    @cython.cfunc
    def _give_up(self, answers: Answers) -> cython.int:
        """What came is no answer, or not the rest of the one that had begun: that one is told as far as it goes."""
        exchange: Exchange | None = answers.exchange
        self._lose_step()
        if exchange is None:
            return 0
        if exchange.status == _STATUS_UNKNOWN:
            exchange.bytes_out = 0
            exchange.latency_ns = -1
        else:
            self._waiting.finish_oldest()
        return 0

    @cython.cfunc
    def _lose_step(self) -> cython.int:
        self.in_step = False
        self._reader().end()
        return 0

    @cython.ccall
    def gap(self, missing: cython.longlong, sequence: cython.uint) -> cython.int:
        """*missing* bytes of the server were lost, up to that TCP sequence number.

        Inside a packet of an answer that changes nothing. Else the answers that may have begun before it are waited for
        no longer, and the next one is looked for.
        """
        waiting: Waiting = self._waiting
        answers: Answers = self._reader()
        if answers.exchange is not None and answers.exchange is waiting.open and answers.gap(missing):
            if answers.done:
                self.in_step = True
                answers.end()
                waiting.finish_oldest()
            return 0
        self._lose_step()
        while waiting.open is not None and _distance(sequence, waiting.open.acknowledgment) > 0:
            waiting.finish_oldest()
        return 0
