"""The connections of a worker: how they open, who is heard on them, and how they end (RFC 9293, RFC 5961).

What a packet does to a connection is decided by what its receiver would do, as far as that can be known from outside:
whoever can put packets on the network must not be able to hide what others, or they themselves, say.
"""

import struct
from typing import Final

import cython

from workers.checkpoint import Checkpoint
from workers.encrypted import Encrypted
from workers.mysql.connection import Connection
from workers.mysql.events import Outbox
from workers.mysql.rules import ENCRYPTED, UNMATCHED, USED, Rules
from workers.mysqlx.conversation import XConversation
from workers.packet import ACK, FIN, RST, SYN, Packet
from workers.reassembly import ASTRAY, NOTHING, NOTHING_NEW, Owner, Reassembly
from workers.settings import Settings
from workers.tcp.flows import CLIENT_FIRST, CLOSED, CONFIRMED, HALF_OPEN, OPEN, SERVER_FIRST, Flow, FlowTable
from workers.tcp.pieces import REACH, distance, wrapped
from workers.tcp.stream import Stream

# What a server speaks on a port.
CLASSIC: Final = 1
X: Final = 2

_X = cython.declare(cython.int, X)
_ACK = cython.declare(cython.uint, ACK)
_FIN = cython.declare(cython.uint, FIN)
_RST = cython.declare(cython.uint, RST)
_SYN = cython.declare(cython.uint, SYN)
_USED = cython.declare(cython.int, USED)
_UNMATCHED = cython.declare(cython.int, UNMATCHED)
_ENCRYPTED = cython.declare(cython.int, ENCRYPTED)
_ASTRAY = cython.declare(cython.int, ASTRAY)
_NOTHING = cython.declare(cython.int, NOTHING)
_NOTHING_NEW = cython.declare(cython.int, NOTHING_NEW)
_OPEN = cython.declare(cython.int, OPEN)
_CLOSED = cython.declare(cython.int, CLOSED)
_HALF_OPEN = cython.declare(cython.int, HALF_OPEN)
_CLIENT_FIRST = cython.declare(cython.int, CLIENT_FIRST)
_SERVER_FIRST = cython.declare(cython.int, SERVER_FIRST)
_CONFIRMED = cython.declare(cython.int, CONFIRMED)
_END = cython.declare(cython.int, 8)
"""Beside these: where the client's bytes ended."""
_REACH = cython.declare(cython.longlong, REACH)

# Which ends are closed.
_CLIENT_ENDED = cython.declare(cython.int, 1)
_SERVER_ENDED = cython.declare(cython.int, 2)
_CLIENT_RESET = cython.declare(cython.int, 4)
"""There was a RST, though not just where its receiver takes one: what follows tells whether it was one."""
_SERVER_RESET = cython.declare(cython.int, 8)
_BOTH_ENDED = cython.declare(cython.int, 3)
_ANY_RESET = cython.declare(cython.int, 12)

_FRESH = cython.declare(cython.longlong, 1 << 20)
"""Within so many bytes of its SYN, a segment may be the first that is seen of a connection."""
_LINGER_NS = cython.declare(cython.longlong, 10_000_000_000)
"""A closed connection is remembered for so long: what is sent again late must not look like a new one."""
_HALF_OPEN_NS = cython.declare(cython.longlong, 60_000_000_000)
"""A client that was answered is spoken to at once, and one that was not gives up before long."""
_LONGEST_VERSION: Final = 64
_ENDS = struct.Struct("<QQHQQH")
"""Of a session: client address (two halves) and port, server address and port."""


@cython.final
@cython.cclass
class Connections:
    """Every connection of a worker, in bounded memory.

    client() and server() take a packet of that side and return what it was: what the owner of the connection said of
    it, or one of NOTHING, NOTHING_NEW and ASTRAY. Promises, each pinned by a test: nobody gets a conversation by a SYN;
    half-open connections are the first to go; a segment that its receiver can have taken is never silently left out.
    ``checkpoint``: what another worker knew of connections that this one joins late.
    """

    reassembly: Reassembly
    encrypted: Encrypted
    opened: cython.ulonglong
    evicted: cython.ulonglong
    half_open: cython.ulonglong
    checkpoint: Checkpoint | None
    _table: FlowTable
    _protocols: bytes
    _outbox: Outbox
    _rules: Rules
    _whole: cython.bint
    _idle_ns: cython.longlong

    def __init__(self, settings: Settings, protocols: bytes, outbox: Outbox, rules: Rules) -> None:
        """*protocols*: one byte a port, which protocol a server speaks there."""
        self._whole = settings.responses == "all"
        self.reassembly = Reassembly(
            rules.allowance, settings.max_flow_buffer_bytes, settings.gap_timeout_ns, self._whole
        )
        self.encrypted = Encrypted(self.reassembly)
        self.opened = self.evicted = self.half_open = 0
        self.checkpoint = None
        self._table = FlowTable(settings.max_flows, settings.secret)
        self._protocols = protocols
        self._outbox = outbox
        self._rules = rules
        self._idle_ns = settings.idle_timeout_ns

    def touch(self, now_ns: int) -> None:
        """The clock was set: how long connections were silent is counted from now."""
        self._table.touch(now_ns)
        if self.checkpoint is not None:
            self.checkpoint.touch(now_ns)

    def serve(self, protocols: bytes) -> None:
        """Servers speak otherwise from here on: *protocols* as before."""
        self._protocols = protocols

    # --- the client's packets

    @cython.ccall
    @cython.exceptval(-1)
    def client(self, packet: Packet, data: bytes, time_ns: cython.longlong) -> cython.int:
        """A packet to a server."""
        flow: Flow | None = self._table.find(
            packet.source_high, packet.source_low, packet.source_port,
            packet.target_high, packet.target_low, packet.target_port,
        )  # fmt: skip
        if packet.flags & (_SYN | _RST) == _SYN:
            return self._client_syn(flow, packet, data, time_ns)
        size: cython.Py_ssize_t = packet.payload_end - packet.payload + packet.missing
        if flow is None:
            if size == 0 or packet.flags & _RST:
                return _NOTHING
            flow = self._add(
                packet.source_high, packet.source_low, packet.source_port,
                packet.target_high, packet.target_low, packet.target_port,
            )  # fmt: skip
        if flow.minded:
            return self._client_minded(flow, packet, data, size, time_ns)
        flow.last_ns = time_ns
        if packet.flags & (_FIN | _RST):
            return self._client_ends(flow, packet, data, size, time_ns)
        if size == 0:
            return _NOTHING
        return self._client_data(flow, packet, data, packet.sequence, time_ns)

    @cython.cfunc
    @cython.exceptval(-1)
    def _client_data(
        self, flow: Flow, packet: Packet, data: bytes, sequence: cython.uint, time_ns: cython.longlong
    ) -> cython.int:
        if flow.encrypted:
            return self.encrypted.client(flow, packet)
        verdict: cython.int = self.reassembly.client(
            flow, flow.owner, data, packet.payload, packet.payload_end, packet.missing, sequence,
            packet.acknowledgment, time_ns,
        )  # fmt: skip
        if verdict == _ENCRYPTED:
            self.encrypted.begin_by_client(flow, packet)
        return verdict

    @cython.cfunc
    def _client_minded(
        self, flow: Flow, packet: Packet, data: bytes, size: cython.Py_ssize_t, time_ns: cython.longlong
    ) -> cython.int:
        """A packet where more than the usual has to be minded: half open, closing, closed, or opened twice."""
        verdict: cython.int = _NOTHING
        if size and (flow.has_rival or flow.has_back):
            self._change_over(flow, packet.sequence)
        if flow.state == _CLOSED:
            if packet.flags & _RST or not self._goes_on(flow, packet.sequence, size):
                return _NOTHING_NEW if size or packet.flags & (_FIN | _RST) else _NOTHING
            flow.known &= ~(_CLIENT_FIRST | _SERVER_FIRST)
        if flow.state == _HALF_OPEN and (size == 0 or packet.flags & _RST):
            known: cython.bint = flow.known & _CLIENT_FIRST != 0
            return self._unspoken(flow, packet, known and packet.sequence != flow.first, time_ns)
        flow.last_ns = time_ns
        if flow.state != _OPEN:
            self._begin(flow, packet.sequence)
        behind: cython.longlong = distance(wrapped(packet.sequence + size), flow.client_end)
        if flow.ended and size and packet.flags & _RST == 0 and behind > 0:
            flow.ended &= ~(_CLIENT_ENDED | _CLIENT_RESET)  # it still talks behind its end: that was none
        if packet.flags & (_FIN | _RST):
            verdict = self._client_ends(flow, packet, data, size, time_ns)
        elif size:
            verdict = self._client_data(flow, packet, data, packet.sequence, time_ns)
        self._mind(flow)
        return verdict

    @cython.cfunc
    def _client_ends(
        self, flow: Flow, packet: Packet, data: bytes, size: cython.Py_ssize_t, time_ns: cython.longlong
    ) -> cython.int:
        """A FIN ends one direction where its bytes end; a RST both, where its receiver is just there (RFC 5961)."""
        verdict: cython.int = _USED
        stream: Stream = flow.client
        if packet.flags & _RST:
            return self._client_resets(flow, packet.sequence)
        if size:
            verdict = self._client_data(flow, packet, data, packet.sequence, time_ns)
        elif not stream.started:
            stream.open(packet.sequence)
        end: cython.uint = wrapped(packet.sequence + size)
        if not 0 <= distance(end, stream.next) < _REACH:
            return verdict if size else _ASTRAY
        if size == 0 and flow.ended & _CLIENT_ENDED and flow.client_end == end:
            return _NOTHING_NEW
        if size == 0 and flow.encrypted:
            self.encrypted.client(flow, packet)
        flow.ended |= _CLIENT_ENDED
        flow.client_end = end
        self._mind(flow)
        return verdict

    @cython.cfunc
    def _client_resets(self, flow: Flow, sequence: cython.uint) -> cython.int:
        ahead: cython.longlong = distance(sequence, flow.client.next) if flow.client.started else 0
        if not 0 <= ahead < _REACH:
            return _ASTRAY
        if ahead == 0:
            self._close(flow)
        else:
            flow.ended |= _CLIENT_RESET
            flow.client_end = sequence
            flow.minded = True
        return _USED

    @cython.cfunc
    def _client_syn(self, flow: Flow | None, packet: Packet, data: bytes, time_ns: cython.longlong) -> cython.int:
        """A SYN announces a connection; it is another one once something more is seen of it."""
        first: cython.uint = wrapped(cython.cast(cython.longlong, packet.sequence) + 1)
        if flow is None:
            flow = self._add(
                packet.source_high, packet.source_low, packet.source_port,
                packet.target_high, packet.target_low, packet.target_port,
            )  # fmt: skip
        elif flow.known & _CLIENT_FIRST and flow.first == first:
            return _NOTHING_NEW
        elif flow.state == _OPEN or (flow.state == _HALF_OPEN and flow.known & _CONFIRMED):
            flow.rival = first
            flow.has_rival = True
            flow.minded = True
            return _USED
        elif flow.state == _CLOSED:
            self._renew(flow, first)
        flow.first = first
        flow.known |= _CLIENT_FIRST
        flow.last_ns = time_ns
        if packet.payload_end > packet.payload:  # TCP Fast Open, RFC 7413
            self._begin(flow, first)
            return self._client_data(flow, packet, data, first, time_ns)
        return _USED

    # --- the server's packets

    @cython.ccall
    @cython.exceptval(-1)
    def server(self, packet: Packet, data: bytes, time_ns: cython.longlong) -> cython.int:
        """A packet from a server."""
        flow: Flow | None = self._table.find(
            packet.target_high, packet.target_low, packet.target_port,
            packet.source_high, packet.source_low, packet.source_port,
        )  # fmt: skip
        if packet.flags & (_SYN | _RST) == _SYN:
            return self._server_syn(flow, packet, time_ns)
        size: cython.Py_ssize_t = packet.payload_end - packet.payload
        if flow is None:
            if size == 0:
                return _NOTHING
            if not _is_greeting(data, packet.payload, packet.payload_end):
                return _UNMATCHED
            flow = self._add_of_server(packet)
            flow.first = packet.acknowledgment
            flow.known = _CLIENT_FIRST
        if flow.minded:
            return self._server_minded(flow, packet, data, size, time_ns)
        flow.last_ns = time_ns
        if packet.flags & (_FIN | _RST):
            return self._server_ends(flow, packet, data, size, time_ns)
        if size == 0:
            return _NOTHING
        return self._server_data(flow, packet, data, time_ns)

    @cython.cfunc
    @cython.exceptval(-1)
    def _server_data(self, flow: Flow, packet: Packet, data: bytes, time_ns: cython.longlong) -> cython.int:
        if flow.encrypted:
            return self.encrypted.server(flow, packet)
        verdict: cython.int = self._server_said(flow, packet, data, time_ns)
        if verdict == _ENCRYPTED:
            self.encrypted.begin_by_server(flow, packet)
        return verdict

    @cython.cfunc
    def _server_said(self, flow: Flow, packet: Packet, data: bytes, time_ns: cython.longlong) -> cython.int:
        owner: Owner = flow.owner
        connection: Connection
        if self._whole:
            return self.reassembly.server(
                flow, owner, data, packet.payload, packet.payload_end, packet.missing, packet.sequence, time_ns
            )
        before: cython.longlong = flow.server.skipped(packet.sequence)
        if not flow.server.advance(packet.sequence, packet.payload_end - packet.payload + packet.missing):
            return _NOTHING_NEW
        if isinstance(owner, Connection):
            connection = owner
            return connection.server(data, packet.payload, packet.payload_end, time_ns, packet.missing, before)
        verdict: cython.int = owner.server(
            data, packet.payload, packet.payload_end, time_ns, packet.missing, packet.sequence
        )
        return verdict

    @cython.cfunc
    def _server_minded(
        self, flow: Flow, packet: Packet, data: bytes, size: cython.Py_ssize_t, time_ns: cython.longlong
    ) -> cython.int:
        verdict: cython.int = _NOTHING
        if flow.state == _CLOSED:
            return _NOTHING_NEW if size or packet.flags & (_FIN | _RST) else _NOTHING
        if flow.state == _HALF_OPEN:
            if size == 0 or packet.flags & _RST:
                known: cython.bint = flow.known & _CLIENT_FIRST != 0 and packet.flags & _ACK != 0
                return self._unspoken(flow, packet, known and packet.acknowledgment != flow.first, time_ns)
            self._begin(flow, flow.first)
        flow.last_ns = time_ns
        place: cython.uint = flow.server.next
        if packet.flags & (_FIN | _RST):
            return self._server_ends(flow, packet, data, size, time_ns)
        if size:
            verdict = self._server_data(flow, packet, data, time_ns)
        if flow.server.next != place:  # it still talks
            flow.ended &= ~(_ANY_RESET | _SERVER_ENDED)
        self._mind(flow)
        return verdict

    @cython.cfunc
    def _server_ends(
        self, flow: Flow, packet: Packet, data: bytes, size: cython.Py_ssize_t, time_ns: cython.longlong
    ) -> cython.int:
        """As for the client; but of what the server says not all may be looked at, so where it is may not be known."""
        verdict: cython.int = _USED
        if packet.flags & _RST:
            if not flow.server.started or packet.sequence == flow.server.farthest():
                self._close(flow)
                return _USED
            flow.ended |= _SERVER_RESET
            flow.minded = True
            return _USED if distance(packet.sequence, flow.server.next) > 0 else _ASTRAY
        if size:
            verdict = self._server_data(flow, packet, data, time_ns)
        elif flow.server.started and distance(packet.sequence, flow.server.next) < 0:
            return _ASTRAY
        elif flow.ended & _SERVER_ENDED:
            return _NOTHING_NEW
        elif flow.encrypted:
            self.encrypted.server(flow, packet)
        flow.ended |= _SERVER_ENDED
        self._mind(flow)
        return verdict

    @cython.cfunc
    def _server_syn(self, flow: Flow | None, packet: Packet, time_ns: cython.longlong) -> cython.int:
        """The answer to a SYN, which may not have been captured, or the server's half of a simultaneous open."""
        answers: cython.bint = packet.flags & _ACK != 0
        first: cython.uint = packet.acknowledgment
        if flow is None:
            flow = self._add_of_server(packet)
        elif answers and flow.state != _HALF_OPEN and flow.known & _CLIENT_FIRST and flow.first == first:
            if flow.state == _OPEN and not flow.server.started:
                flow.server.open(wrapped(cython.cast(cython.longlong, packet.sequence) + 1))
                return _USED
            return _NOTHING_NEW
        elif flow.state == _CLOSED or (flow.has_rival and answers and first == flow.rival):
            self._renew(flow, first)
            flow.known = 0
            flow.has_back = False
        elif flow.state == _OPEN:
            if answers:
                flow.rival = first
                flow.has_rival = True
                flow.minded = True
            return _USED if answers else _ASTRAY
        flow.server_first = wrapped(cython.cast(cython.longlong, packet.sequence) + 1)
        flow.known |= _SERVER_FIRST
        if answers:
            flow.first = first
            flow.known |= _CLIENT_FIRST | _CONFIRMED
        flow.last_ns = time_ns
        return _USED

    # --- from one state to the next

    @cython.cfunc
    def _add_of_server(self, packet: Packet) -> Flow:
        return self._add(
            packet.target_high, packet.target_low, packet.target_port,
            packet.source_high, packet.source_low, packet.source_port,
        )  # fmt: skip

    @cython.cfunc
    def _add(
        self,
        client_high: cython.ulonglong,
        client_low: cython.ulonglong,
        client_port: cython.uint,
        server_high: cython.ulonglong,
        server_low: cython.ulonglong,
        server_port: cython.uint,
    ) -> Flow:
        """A flow, half open; without room for it the least useful one goes."""
        if self._table.full():
            worst: Flow | None = self._table.least_useful()
            if worst is not None:
                if worst.state == _OPEN:
                    self.evicted += 1
                self._remove(worst)
        return self._table.add(client_high, client_low, client_port, server_high, server_low, server_port)

    @cython.cfunc
    def _begin(self, flow: Flow, sequence: cython.uint) -> cython.int:
        """Something is said for the first time, by the client at *sequence*, or again on a connection that was over."""
        from_start: cython.bint = flow.known & (_CLIENT_FIRST | _SERVER_FIRST) != 0
        if flow.known & _CLIENT_FIRST and not 0 <= distance(sequence, flow.first) < _REACH:
            flow.known &= ~_CLIENT_FIRST
            from_start = False
        ends = _ENDS.pack(
            flow.client_high, flow.client_low, flow.client_port, flow.server_high, flow.server_low, flow.server_port
        )
        flow.begin()
        if flow.state == _CLOSED and flow.known & _END and 0 < distance(flow.client_end, sequence) < _REACH:
            flow.client.open(flow.client_end)  # the segment repeats what was there before
        self._table.move(flow, _OPEN)
        if self._protocols[flow.server_port] == _X:
            flow.owner = XConversation(self._outbox, self._rules, ends, from_start)
        else:
            flow.owner = Connection(self._outbox, self._rules, ends, from_start)
        if self.checkpoint is not None:
            self.checkpoint.begun(flow.owner, ends, from_start)
        flow.ended = 0
        self.opened += 1
        flow.minded = flow.has_rival or flow.has_back
        return 0

    @cython.cfunc
    def _unspoken(self, flow: Flow, packet: Packet, strange: cython.bint, time_ns: cython.longlong) -> cython.int:
        """A packet without data on a half-open connection; *strange*: it does not belong to its SYN."""
        if packet.flags & (_FIN | _RST) == 0:
            flow.last_ns = time_ns
            return _NOTHING
        if strange:
            return _ASTRAY
        self._remove(flow)
        return _USED

    @cython.cfunc
    def _goes_on(self, flow: Flow, sequence: cython.uint, size: cython.Py_ssize_t) -> cython.bint:
        """Whether data on a closed connection is more than what was sent again late."""
        if size == 0 or flow.known & _END == 0:
            return size > 0
        return not -_REACH < distance(wrapped(sequence + size), flow.client_end) <= 0

    @cython.cfunc
    def _mind(self, flow: Flow) -> cython.int:
        """Close what is over; of the others say whether anything has to be minded."""
        if flow.state != _OPEN:
            return 0
        complete: cython.bint = not flow.client.started or flow.client.next == flow.client_end
        if complete and (flow.ended & _CLIENT_RESET or flow.ended & _BOTH_ENDED == _BOTH_ENDED):
            self._close(flow)
            return 0
        flow.minded = flow.ended != 0 or flow.has_rival or flow.has_back
        return 0

    @cython.cfunc
    def _close(self, flow: Flow) -> cython.int:
        """The connection is over; it stays in the table for a while, without its conversation."""
        owner: Owner | None = flow.owner
        missing: cython.longlong = 0
        if owner is not None:
            if flow.ended & _CLIENT_ENDED and flow.client.started:
                missing = distance(flow.client_end, flow.client.next)
            self.reassembly.end(flow, missing)
            if owner.session.encrypted:
                self.encrypted.begin(flow)
            owner.close()
            if flow.client.started:
                if missing <= 0:
                    flow.client_end = flow.client.next
                flow.known |= _END
        flow.end()
        flow.ended = 0
        flow.has_rival = False
        flow.minded = True
        self._table.move(flow, _CLOSED)
        return 0

    @cython.cfunc
    def _renew(self, flow: Flow, first: cython.uint) -> cython.int:
        """Another connection between the same ends, half open; what was said on the one before is complete."""
        if flow.state == _OPEN:
            self._close(flow)
        flow.known = _CLIENT_FIRST
        flow.first = first
        flow.has_rival = False
        self._table.move(flow, _HALF_OPEN)
        return 0

    @cython.cfunc
    def _change_over(self, flow: Flow, sequence: cython.uint) -> cython.int:
        """Where the client speaks on the connection that a later SYN announced, or again on the one before, follow it.

        Without the server's word for the later one the way back stays open: both its SYN and its data may be forged.
        """
        here: cython.uint = flow.client.next if flow.client.started else flow.first
        said: cython.bint = flow.state == _OPEN and flow.client.started
        if flow.has_rival and _is_nearer(sequence, flow.rival, here):
            self._renew(flow, flow.rival)
            if said and not flow.has_back:
                flow.back = here
                flow.has_back = True
        elif flow.has_back and _is_nearer(sequence, flow.back, here):
            self._renew(flow, flow.back)
            flow.known = 0
            flow.has_back = False
        return 0

    @cython.cfunc
    def _remove(self, flow: Flow) -> cython.int:
        if flow.state == _HALF_OPEN:
            self.half_open += 1
        elif flow.state == _OPEN:
            self._close(flow)
        self._table.remove(flow)
        return 0

    # --- all of them

    def is_client(self, packet: Packet) -> bool:
        """Where both ports are servers': whether the packet is one of a client."""
        if packet.flags & _SYN:
            return not packet.flags & _ACK
        flow = self._table.find(
            packet.source_high, packet.source_low, packet.source_port,
            packet.target_high, packet.target_low, packet.target_port,
        )  # fmt: skip
        other = self._table.find(
            packet.target_high, packet.target_low, packet.target_port,
            packet.source_high, packet.source_low, packet.source_port,
        )  # fmt: skip
        return flow is not None or other is None

    @cython.ccall
    def sweep(self, now_ns: cython.longlong) -> cython.int:
        """Forget what is silent."""
        flow: Flow
        for flow in self._table.stale(now_ns - self._idle_ns, now_ns - _HALF_OPEN_NS, now_ns - _LINGER_NS):
            self._remove(flow)
        if self.checkpoint is not None:
            self.checkpoint.forget(now_ns - self._idle_ns)
        return 0

    def owners(self) -> list[Owner]:
        """Who has the state of connections on which something was said, those heard last first."""
        flows = sorted(self._table.all(), key=lambda flow: flow.last_ns, reverse=True)
        return [flow.owner for flow in flows if flow.owner is not None]

    def finish(self) -> None:
        """Nothing will follow."""
        for flow in self._table.all():
            self._remove(flow)


@cython.cfunc
def _is_nearer(sequence: cython.uint, place: cython.uint, here: cython.uint) -> cython.bint:
    """Whether a segment belongs to a connection that would go on at *place*, and not where this one is."""
    behind: cython.longlong = distance(sequence, place)
    now: cython.longlong = distance(sequence, here)
    return 0 <= behind < _FRESH and behind < (now if now >= 0 else -now)


@cython.cfunc
def _is_greeting(data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.bint:
    """Whether a server's greeting begins at *at*: sequence id 0, protocol 10 or 9, a version that can be read."""
    if end - at < 8 or data[at + 2] != 0 or data[at + 3] != 0 or (data[at + 4] != 10 and data[at + 4] != 9):
        return False
    stop: cython.Py_ssize_t = data.find(b"\0", at + 5, min(end, at + 5 + _LONGEST_VERSION))
    version: bytes = data[at + 5 : stop] if stop > 0 else b""
    return len(version) > 2 and version[:1].isdigit() and version.isascii() and version.decode("ascii").isprintable()
