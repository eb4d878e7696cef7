"""Delivers the directions of connections in order, and declares what is missing. No I/O and no clock.

A connection has an owner that makes sense of what is said. The client's direction always comes in order; the server's
does where the owner reads all of it.
"""

from typing import Final

import cython

from workers.mysql.connection import Connection
from workers.mysql.framing import Allowance
from workers.mysql.rules import USED
from workers.mysqlx.conversation import XConversation
from workers.tcp.flows import Flow
from workers.tcp.pieces import Held
from workers.tcp.stream import DELIVER, EMPTY, HELD, STRAY, Stream

Owner = Connection | XConversation
"""Of a flow: who makes sense of what is said in it."""

NOTHING_NEW: Final = -1
"""Beside what an owner says of a segment: all of it was there before."""
NOTHING: Final = -2
"""It carries no bytes."""
ASTRAY: Final = -3
"""It cannot belong to what its stream has come to."""

# Why a hole was given up.
WAITED: Final = 0
FLOW_FULL: Final = 1
MEMORY_FULL: Final = 2
SNAPPED: Final = 3
ENDED: Final = 4
REASONS: Final = 5

_NOTHING_NEW = cython.declare(cython.int, NOTHING_NEW)
_NOTHING = cython.declare(cython.int, NOTHING)
_USED = cython.declare(cython.int, USED)
_DELIVER = cython.declare(cython.int, DELIVER)
_HELD = cython.declare(cython.int, HELD)
_EMPTY = cython.declare(cython.int, EMPTY)
_STRAY = cython.declare(cython.int, STRAY)
_ASTRAY = cython.declare(cython.int, ASTRAY)
_WAITED = cython.declare(cython.int, WAITED)
_FLOW_FULL = cython.declare(cython.int, FLOW_FULL)
_MEMORY_FULL = cython.declare(cython.int, MEMORY_FULL)
_SNAPPED = cython.declare(cython.int, SNAPPED)
_ENDED = cython.declare(cython.int, ENDED)
_ANYWHERE = cython.declare(cython.longlong, 1 << 62)
"""More than any payload has left: the stream goes on at a place that what was begun does not reach."""
_FEW = cython.declare(cython.Py_ssize_t, 1024)
_WRAP = cython.declare(cython.longlong, 0xFFFFFFFF)
_SET_BACK_NS = cython.declare(cython.longlong, 60_000_000_000)
"""Held since so long after now: the clock was set back. By less it may be, as ticks lag behind while it is busy."""


@cython.cfunc
@cython.exceptval(-1)
def _hear(
    owner: Owner,
    data: bytes,
    at: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    time_ns: cython.longlong,
    acknowledgment: cython.uint,
) -> cython.int:
    """Give bytes of the client to the owner of its flow."""
    connection: Connection
    if isinstance(owner, Connection):
        connection = owner
        return connection.client(data, at, end, time_ns, acknowledgment)
    verdict: cython.int = owner.client(data, at, end, time_ns, acknowledgment)
    return verdict


@cython.cfunc
def _hear_server(
    owner: Owner,
    data: bytes,
    at: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    time_ns: cython.longlong,
    sequence: cython.uint,
) -> cython.int:
    """The same of the server, to an owner that reads all that it says."""
    connection: Connection
    if isinstance(owner, Connection):
        connection = owner
        return connection.server_stream(data, at, end, time_ns, sequence)
    verdict: cython.int = owner.server_stream(data, at, end, time_ns, sequence)
    return verdict


@cython.final
@cython.cclass
class Reassembly:
    """Streams of all connections of a worker, in bounded memory: what is held is charged to the allowance.

    ``gaps``, ``gap_bytes``: of the clients' bytes, those that never came; ``server_gaps``, ``server_gap_bytes``: of the
    servers'. ``held``: segments that came before their turn. ``disagreeing``: copies that differed. ``returns``: times
    a client's bytes came after they had been given up. ``impatient``: servers' bytes that are missing are not captured
    and never come, so nothing waits for them; it may be set at any time.
    """

    gaps: cython.ulonglong
    gap_bytes: cython.ulonglong
    server_gaps: cython.ulonglong
    server_gap_bytes: cython.ulonglong
    held: cython.ulonglong
    disagreeing: cython.ulonglong
    returns: cython.ulonglong
    impatient: cython.bint
    _reasons: list[int]
    _allowance: Allowance
    _most_held: cython.Py_ssize_t
    _patience_ns: cython.longlong
    _both: cython.bint
    _waiting: list[Flow]
    _many: cython.Py_ssize_t

    def __init__(self, allowance: Allowance, most_held_bytes: int, patience_ns: int, both: bool) -> None:
        """*most_held_bytes*: of one direction; *patience_ns*: how long to wait for a hole; *both*: server() is used."""
        self.gaps = self.gap_bytes = self.server_gaps = self.server_gap_bytes = self.held = self.disagreeing = 0
        self.returns = 0
        self.impatient = False
        self._reasons = [0] * REASONS
        self._allowance = allowance
        self._most_held = most_held_bytes
        self._patience_ns = patience_ns
        self._both = both
        self._waiting = []
        self._many = _FEW

    def reasons(self) -> tuple[int, ...]:
        """Of the gaps of clients, how many had each reason."""
        return tuple(self._reasons)

    @cython.ccall
    @cython.exceptval(-1)
    def client(
        self,
        flow: Flow,
        owner: Owner,
        data: bytes,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        missing: cython.Py_ssize_t,
        sequence: cython.uint,
        acknowledgment: cython.uint,
        time_ns: cython.longlong,
    ) -> cython.int:
        """Take a segment of the client, ``data[at:end]`` and *missing* bytes behind it; what it was to *owner*."""
        stream: Stream = flow.client
        stream.acknowledgment = acknowledgment
        verdict: cython.int = stream.offer(sequence, data, at, end, missing, time_ns)
        if verdict == _STRAY and time_ns - stream.strayed_ns > self._patience_ns:
            self._restart(flow, stream, owner, sequence, time_ns)
            verdict = stream.offer(sequence, data, at, end, missing, time_ns)
        if stream.returned:
            self.returns += 1
            owner.gap(_ANYWHERE, time_ns, acknowledgment)
        if verdict == _DELIVER:
            if self._both:
                self._tell_position(flow, owner)
            verdict = _hear(owner, data, stream.start, stream.stop, time_ns, acknowledgment)
            if stream.gap:
                self._lost(owner, stream.gap, time_ns, acknowledgment, _SNAPPED)
            if stream.held_bytes or flow.charged:
                self._deliver_held(flow, stream, owner)
            return verdict
        return self._not_delivered(flow, stream, verdict)

    @cython.cfunc
    def _restart(
        self, flow: Flow, stream: Stream, owner: Owner, sequence: cython.uint, time_ns: cython.longlong
    ) -> cython.int:
        """For a while nothing has come but what lies too far away: more was lost than can be told."""
        self._give_up(flow, stream, _WAITED)
        if stream is flow.client:
            self.gaps += 1
            self._reasons[_WAITED] += 1
            owner.gap(_ANYWHERE, time_ns, stream.acknowledgment)
        else:
            self.server_gaps += 1
            owner.server_gap(_ANYWHERE, sequence)
        stream.restart(sequence)
        self._charge(flow)
        return 0

    @cython.ccall
    @cython.exceptval(-1)
    def server(
        self,
        flow: Flow,
        owner: Owner,
        data: bytes,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        missing: cython.Py_ssize_t,
        sequence: cython.uint,
        time_ns: cython.longlong,
    ) -> cython.int:
        """The same of the server, for an owner that reads all that it says."""
        stream: Stream = flow.server
        verdict: cython.int = stream.offer(sequence, data, at, end, missing, time_ns)
        if verdict == _STRAY and time_ns - stream.strayed_ns > self._patience_ns:
            self._restart(flow, stream, owner, sequence, time_ns)
            verdict = stream.offer(sequence, data, at, end, missing, time_ns)
        if verdict == _DELIVER:
            place: cython.longlong = sequence + (stream.start - at)
            first: cython.uint = cython.cast(cython.uint, place & _WRAP)
            verdict = _hear_server(owner, data, stream.start, stream.stop, time_ns, first)
            if stream.gap:
                self._server_lost(owner, stream.gap, place + (stream.stop - stream.start) + stream.gap)
            if stream.held_bytes:
                self._deliver_held(flow, stream, owner)
            return verdict
        return self._not_delivered(flow, stream, verdict)

    @cython.cfunc
    @cython.exceptval(-1)
    def _tell_position(self, flow: Flow, owner: Owner) -> cython.int:
        connection: Connection
        if isinstance(owner, Connection):
            connection = owner
            connection.server_position(flow.server.next, flow.server.held_bytes > 0)
        else:
            owner.server_position(flow.server.next, flow.server.held_bytes > 0)
        return 0

    # --- what came before its turn

    @cython.cfunc
    @cython.exceptval(-1)
    def _not_delivered(self, flow: Flow, stream: Stream, verdict: cython.int) -> cython.int:
        if verdict == _HELD:
            self._wait(flow, stream)
            return _USED
        self._note_disagreements(flow)
        if verdict == _STRAY:
            return _ASTRAY
        return _NOTHING if verdict == _EMPTY else _NOTHING_NEW

    @cython.cfunc
    def _wait(self, flow: Flow, stream: Stream) -> cython.int:
        """A hole is open: mind its age, and its cost."""
        self.held += 1
        self._charge(flow)
        if self.impatient and stream is flow.server:
            self._give_up(flow, stream, _WAITED)
        elif stream.held_bytes > self._most_held:
            self._give_up(flow, stream, _FLOW_FULL)
        elif self._allowance.used > self._allowance.limit:
            self._give_up(flow, stream, _MEMORY_FULL)
        elif not flow.waiting:
            flow.waiting = True
            self._waiting.append(flow)
            if len(self._waiting) >= self._many:
                self._forget_those_that_wait_no_longer()
                self._many = max(_FEW, 2 * len(self._waiting))
        return 0

    @cython.cfunc
    def _forget_those_that_wait_no_longer(self) -> cython.int:
        still: list[Flow] = []
        flow: Flow
        for flow in self._waiting:
            flow.waiting = flow.client.held_bytes + flow.server.held_bytes > 0
            if flow.waiting:
                still.append(flow)
        self._waiting = still
        return 0

    @cython.cfunc
    def _charge(self, flow: Flow) -> cython.int:
        """Charge what is held to the allowance that all unfinished payloads share."""
        client: Stream = flow.client
        held: cython.Py_ssize_t = client.held_bytes + client.kept_bytes + flow.server.held_bytes
        self._allowance.used += held - flow.charged
        if client.kept_bytes and self._allowance.used > self._allowance.limit:
            self._allowance.used -= client.kept_bytes
            held -= client.kept_bytes
            client.forget_copies()
        flow.charged = held
        return 0

    @cython.cfunc
    def _deliver_held(self, flow: Flow, stream: Stream, owner: Owner) -> cython.int:
        held: Held | None = stream.take()
        while held is not None:
            self._deliver(flow, stream, held, owner)
            held = stream.take()
        self._charge(flow)
        self._note_disagreements(flow)
        return 0

    @cython.cfunc
    def _note_disagreements(self, flow: Flow) -> cython.int:
        disagreements: cython.ulonglong = flow.client.disagreements + flow.server.disagreements
        self.disagreeing += disagreements - flow.disagreements
        flow.disagreements = disagreements
        return 0

    @cython.cfunc
    def _deliver(self, flow: Flow, stream: Stream, held: Held, owner: Owner) -> cython.int:
        if held.seen:
            owner.gap(held.missing, held.time_ns, held.acknowledgment)
        elif stream is flow.client:
            if self._both:
                self._tell_position(flow, owner)
            _hear(owner, held.data, 0, len(held.data), held.time_ns, held.acknowledgment)
            if held.missing:
                self._lost(owner, held.missing, held.time_ns, held.acknowledgment, _SNAPPED)
        else:
            _hear_server(owner, held.data, 0, len(held.data), held.time_ns, held.sequence)
            if held.missing:
                place: cython.longlong = held.sequence
                self._server_lost(owner, held.missing, place + len(held.data) + held.missing)
        return 0

    @cython.ccall
    def release(self, flow: Flow) -> cython.int:
        """Nothing more of *flow* comes through here: what is held for it is dropped, and no gap."""
        flow.client.restart(flow.client.next)
        flow.server.restart(flow.server.next)
        return self._charge(flow)

    @cython.ccall
    def end(self, flow: Flow, missing: cython.longlong) -> cython.int:
        """The connection is over: give up what is missing, *missing* bytes at the client's end among it."""
        owner: Owner | None = flow.owner
        self._give_up(flow, flow.server, _ENDED)  # answers first: they would find nothing open behind the other's end
        self._give_up(flow, flow.client, _ENDED)
        if missing > 0 and owner is not None:
            self._lost(owner, missing, flow.last_ns, flow.client.acknowledgment, _ENDED)
        self._allowance.used -= flow.charged
        flow.charged = 0
        return 0

    @cython.cfunc
    def _give_up(self, flow: Flow, stream: Stream, reason: cython.int) -> cython.int:
        """Stop waiting for what is missing: declare the gaps and go on with what is held."""
        owner: Owner | None = flow.owner
        missing: cython.longlong
        while owner is not None and stream.held_bytes:
            missing = stream.skip()
            held: Held | None = stream.take()
            if held is not None:
                if stream is flow.client:
                    if missing and self._lost(owner, missing, held.time_ns, held.acknowledgment, reason):
                        stream.settle()
                else:
                    stream.settle()
                    self._server_lost(owner, missing, held.sequence)
                self._deliver(flow, stream, held, owner)
            self._deliver_held(flow, stream, owner)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _lost(
        self,
        owner: Owner,
        missing: cython.longlong,
        time_ns: cython.longlong,
        acknowledgment: cython.uint,
        reason: cython.int,
    ) -> cython.int:
        """Not 0 where all that is missing belongs to something that was begun before and goes on behind it."""
        self.gaps += 1
        self.gap_bytes += missing
        self._reasons[reason] += 1
        verdict: cython.int = owner.gap(missing, time_ns, acknowledgment)
        return verdict

    @cython.cfunc
    def _server_lost(self, owner: Owner, missing: cython.longlong, place: cython.longlong) -> cython.int:
        self.server_gaps += 1
        self.server_gap_bytes += missing
        owner.server_gap(missing, cython.cast(cython.uint, place & _WRAP))
        return 0

    @cython.ccall
    def tick(self, now_ns: cython.longlong) -> cython.int:
        """Let time pass to *now_ns*, on the packets' clock: give up what was waited for too long."""
        if not self._waiting:
            return 0
        before_ns: cython.longlong = now_ns - self._patience_ns
        ahead_ns: cython.longlong = now_ns + _SET_BACK_NS
        flow: Flow
        for flow in self._waiting:
            if flow.server.is_due(before_ns, ahead_ns):
                self._give_up(flow, flow.server, _WAITED)
            if flow.client.is_due(before_ns, ahead_ns):
                self._give_up(flow, flow.client, _WAITED)
        self._forget_those_that_wait_no_longer()
        return 0
