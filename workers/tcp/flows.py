"""The table of TCP connections, by address and port of both ends, with a bound and an order of who has to go.

A chained hash table of our own rather than a dict: a lookup makes no Python object.
"""

from typing import Any, Final

import cython

from workers.tcp.stream import Stream

# How far a connection has come, as a sniffer sees it.
OPEN: Final = 0
"""Something was said."""
CLOSED: Final = 1
"""Kept for a while, so that a segment sent again late does not look like a new connection."""
HALF_OPEN: Final = 2
"""A SYN was seen, and nothing said: whoever scans ports or floods them leaves only such."""

# Which first sequence numbers are known.
CLIENT_FIRST: Final = 1
SERVER_FIRST: Final = 2
CONFIRMED: Final = 4
"""The server has acknowledged the client's."""

_OPEN = cython.declare(cython.int, OPEN)
_CLOSED = cython.declare(cython.int, CLOSED)
_HALF_OPEN = cython.declare(cython.int, HALF_OPEN)
_GOLDEN = cython.declare(cython.ulonglong, 0x9E3779B97F4A7C15)
_WORD = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFF)  # masks what Python's numbers would keep
_PROBES = cython.declare(cython.int, 64)
"""How many connections one eviction looks at: bounded work in a SYN flood."""


NO_STREAM: Final = Stream()
"""Of connections on which nothing is said, or no longer: nobody offers it anything."""
_NO_STREAM = cython.declare(Stream, NO_STREAM)


@cython.final
@cython.cclass
class Flow:
    """One connection: its key, a stream a direction, and whatever the caller keeps with it.

    It begins half open; begin() gives it streams, end() takes them away. ``known``: which of ``first``, the number
    behind the client's SYN, and ``server_first`` are. ``ended``: bit 0 once the client has sent a FIN, bit 1 once the
    server has, bit 2 where a RST may have ended it. ``client_end``: where the client's bytes end, once it has ended or
    the flow is closed. ``rival``: behind another SYN between the same ends, of which nothing more has been seen, where
    ``has_rival``. ``back``: where the connection before went on, where ``has_back``: no server has confirmed this one.
    ``minded``: for the caller to set where a packet must not be taken in the usual way. ``encrypted``: for it to set
    where nothing that is said can be read. ``charged`` and ``disagreements``: what the caller has accounted for of the
    streams.
    """

    client_high: cython.ulonglong
    client_low: cython.ulonglong
    server_high: cython.ulonglong
    server_low: cython.ulonglong
    client_port: cython.uint
    server_port: cython.uint
    client: Stream
    server: Stream
    state: cython.int
    last_ns: cython.longlong
    waiting: cython.bint
    minded: cython.bint
    has_rival: cython.bint
    has_back: cython.bint
    encrypted: cython.bint
    known: cython.int
    ended: cython.int
    first: cython.uint
    server_first: cython.uint
    client_end: cython.uint
    rival: cython.uint
    back: cython.uint
    charged: cython.Py_ssize_t
    disagreements: cython.ulonglong
    owner: Any
    _hash: cython.ulonglong
    _chain: "Flow | None"
    _older: "Flow | None"
    _newer: "Flow | None"

    def __init__(self) -> None:
        self.client = _NO_STREAM
        self.server = _NO_STREAM
        self.state = _HALF_OPEN
        self.last_ns = 0
        self.waiting = False
        self.minded = True
        self.has_rival = False
        self.has_back = False
        self.encrypted = False
        self.known = 0
        self.ended = 0
        self.first = self.server_first = self.client_end = self.rival = self.back = 0
        self.charged = 0
        self.disagreements = 0
        self.owner = None
        self._hash = 0
        self._chain = None
        self._older = None
        self._newer = None

    @cython.ccall
    def begin(self) -> cython.int:
        """Something is said: streams, which begin behind the SYNs where those are known."""
        self.client = Stream()
        self.server = Stream()
        self.encrypted = False
        self.disagreements = 0
        if self.known & CLIENT_FIRST:
            self.client.open(self.first)
        if self.known & SERVER_FIRST:
            self.server.open(self.server_first)
        return 0

    @cython.ccall
    def end(self) -> cython.int:
        """Nothing more is said."""
        self.client = _NO_STREAM
        self.server = _NO_STREAM
        self.owner = None
        return 0


@cython.final
@cython.cclass
class _Queue:
    """Flows in the order in which they came to a state, linked through themselves."""

    oldest: Flow | None
    newest: Flow | None

    def __init__(self) -> None:
        self.oldest = None
        self.newest = None

    @cython.cfunc
    def append(self, flow: Flow) -> cython.int:
        last: Flow | None = self.newest
        flow._older = last
        flow._newer = None
        if last is None:
            self.oldest = flow
        else:
            last._newer = flow
        self.newest = flow
        return 0

    @cython.cfunc
    def take(self, flow: Flow) -> cython.int:
        before: Flow | None = flow._older
        behind: Flow | None = flow._newer
        if before is None:
            self.oldest = behind
        else:
            before._newer = behind
        if behind is None:
            self.newest = before
        else:
            behind._older = before
        flow._older = None
        flow._newer = None
        return 0


@cython.final
@cython.cclass
class FlowTable:
    """Flows by their ends. Who adds one keeps to *limit*: where full(), least_useful() goes first."""

    count: cython.Py_ssize_t
    _half_open: _Queue
    _closed: _Queue
    _buckets: list[Flow | None]
    _mask: cython.ulonglong
    _limit: cython.Py_ssize_t
    _secret: cython.ulonglong
    _hand: cython.ulonglong

    def __init__(self, limit: int, secret: int = 0) -> None:
        """Room for *limit* flows, at least 1. *secret*: 64 bits that those who open connections do not know."""
        if limit < 1:
            raise ValueError(f"a flow table needs room for at least 1 flow, not {limit}")
        self.count = 0
        self._half_open = _Queue()
        self._closed = _Queue()
        self._limit = limit
        self._secret = secret & _WORD
        self._buckets = [None] * 256
        self._mask = 255
        self._hand = 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _key(
        self,
        client_high: cython.ulonglong,
        client_low: cython.ulonglong,
        client_port: cython.uint,
        server_high: cython.ulonglong,
        server_low: cython.ulonglong,
        server_port: cython.uint,
    ) -> cython.ulonglong:
        # Client addresses can be chosen; what is not known to whoever chooses them comes first.
        mixed: cython.ulonglong = ((client_low ^ self._secret) * _GOLDEN) & _WORD
        mixed = (((mixed >> 29) ^ mixed ^ client_high) * _GOLDEN) & _WORD
        mixed = (((mixed >> 29) ^ mixed ^ server_low ^ server_high) * _GOLDEN) & _WORD
        ports: cython.ulonglong = client_port
        mixed = (((mixed >> 29) ^ mixed ^ (ports << 16) ^ server_port) * _GOLDEN) & _WORD
        return mixed >> 20

    @cython.ccall
    def find(
        self,
        client_high: cython.ulonglong,
        client_low: cython.ulonglong,
        client_port: cython.uint,
        server_high: cython.ulonglong,
        server_low: cython.ulonglong,
        server_port: cython.uint,
    ) -> Flow | None:
        """The flow between these two ends, or None."""
        key: cython.ulonglong = self._key(client_high, client_low, client_port, server_high, server_low, server_port)
        flow: Flow | None = self._buckets[cython.cast(cython.Py_ssize_t, key & self._mask)]
        while flow is not None:
            if (
                flow.client_port == client_port
                and flow.client_low == client_low
                and flow.server_port == server_port
                and flow.server_low == server_low
                and flow.client_high == client_high
                and flow.server_high == server_high
            ):
                return flow
            flow = flow._chain
        return None

    @cython.ccall
    def add(
        self,
        client_high: cython.ulonglong,
        client_low: cython.ulonglong,
        client_port: cython.uint,
        server_high: cython.ulonglong,
        server_low: cython.ulonglong,
        server_port: cython.uint,
    ) -> Flow:
        """A new flow, half open, between these two ends, which must not be in the table.

        The caller makes room first: full().
        """
        flow: Flow = Flow()
        flow.client_high = client_high
        flow.client_low = client_low
        flow.client_port = client_port
        flow.server_high = server_high
        flow.server_low = server_low
        flow.server_port = server_port
        flow._hash = self._key(client_high, client_low, client_port, server_high, server_low, server_port)
        if self.count > cython.cast(cython.Py_ssize_t, self._mask):
            self._grow()
        at: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, flow._hash & self._mask)
        flow._chain = self._buckets[at]
        self._buckets[at] = flow
        self.count += 1
        self._half_open.append(flow)
        return flow

    @cython.ccall
    def move(self, flow: Flow, state: cython.int) -> cython.int:
        """*flow*, which is in the table, has come to *state*: to the end of its queue, even where it was there."""
        self._leave(flow)
        flow.state = state
        if state == _HALF_OPEN:
            self._half_open.append(flow)
        elif state == _CLOSED:
            self._closed.append(flow)
        return 0

    @cython.cfunc
    def _leave(self, flow: Flow) -> cython.int:
        if flow.state == _HALF_OPEN:
            self._half_open.take(flow)
        elif flow.state == _CLOSED:
            self._closed.take(flow)
        return 0

    @cython.cfunc
    def _grow(self) -> cython.int:
        old: list[Flow | None] = self._buckets
        self._mask = self._mask * 2 + 1
        self._buckets = [None] * (len(old) * 2)
        bucket: Flow | None
        flow: Flow | None
        following: Flow | None
        at: cython.Py_ssize_t
        for bucket in old:
            flow = bucket
            while flow is not None:
                following = flow._chain
                at = cython.cast(cython.Py_ssize_t, flow._hash & self._mask)
                flow._chain = self._buckets[at]
                self._buckets[at] = flow
                flow = following
        return 0

    @cython.ccall
    def remove(self, flow: Flow) -> cython.int:
        """Take *flow* out. Raises KeyError where it is not in the table."""
        at: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, flow._hash & self._mask)
        here: Flow | None = self._buckets[at]
        before: Flow | None = None
        while here is not None:
            if here is flow:
                if before is None:
                    self._buckets[at] = flow._chain
                else:
                    before._chain = flow._chain
                flow._chain = None
                self.count -= 1
                self._leave(flow)
                return 0
            before = here
            here = here._chain
        raise KeyError("flow is not in the table")

    def full(self) -> bool:
        """Whether another flow needs one to go first."""
        return self.count >= self._limit

    def least_useful(self) -> Flow | None:
        """The one to give up: the oldest half open, else the oldest closed, else of a few in turn the most silent."""
        if self._half_open.oldest is not None:
            return self._half_open.oldest
        if self._closed.oldest is not None:
            return self._closed.oldest
        worst: Flow | None = None
        seen: cython.int = 0
        passed: cython.Py_ssize_t = 0
        flow: Flow | None
        while seen < _PROBES and passed <= cython.cast(cython.Py_ssize_t, self._mask):
            flow = self._buckets[cython.cast(cython.Py_ssize_t, self._hand & self._mask)]
            self._hand += 1
            passed += 1
            while flow is not None:
                seen += 1
                if worst is None or flow.last_ns < worst.last_ns:
                    worst = flow
                flow = flow._chain
        return worst

    def stale(self, before_ns: int, half_open_before_ns: int, closed_before_ns: int) -> list[Flow]:
        """The flows silent since *before_ns*, and of those half open, or with an end closed, since the others.

        Holes too far behind to be filled are forgotten on the way.
        """
        found: list[Flow] = []
        bucket: Flow | None
        flow: Flow | None
        limit: cython.longlong
        for bucket in self._buckets:
            flow = bucket
            while flow is not None:
                if flow.state == _HALF_OPEN:
                    limit = half_open_before_ns
                elif flow.state == _CLOSED or flow.ended:
                    limit = closed_before_ns
                else:
                    limit = before_ns
                if flow.last_ns < limit:
                    found.append(flow)
                elif flow.state == _OPEN:
                    flow.client.age()
                flow = flow._chain
        return found

    def touch(self, now_ns: int) -> None:
        """Take each flow for one heard just now: the clock was set, and nobody knows how long it was silent."""
        flow: Flow
        for flow in self.all():
            flow.last_ns = now_ns
            if flow.client.strayed_ns:
                flow.client.strayed_ns = now_ns
            if flow.server.strayed_ns:
                flow.server.strayed_ns = now_ns

    def all(self) -> list[Flow]:
        """Every flow."""
        found: list[Flow] = []
        bucket: Flow | None
        flow: Flow | None
        for bucket in self._buckets:
            flow = bucket
            while flow is not None:
                found.append(flow)
                flow = flow._chain
        return found
