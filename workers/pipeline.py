"""Packet → stream → conversation → block. No I/O and no clock: time comes with the packets, or with tick()."""

from typing import Final

import cython

from workers.arrivals import Arrivals
from workers.blocks import BlockBuilder
from workers.checkpoint import Checkpoint
from workers.connections import CLASSIC, Connections, X
from workers.counters import NAMES
from workers.mysql.events import Exchange, Outbox
from workers.mysql.framing import Allowance
from workers.mysql.rules import COMPRESSED, DESYNC, ENCRYPTED, UNMATCHED, Rules
from workers.packet import FRAGMENT, NOT_TCP, TCP, Packet
from workers.privacy import Privacy
from workers.reassembly import ASTRAY, NOTHING, NOTHING_NEW
from workers.settings import Settings
from workers.tunnels import TUNNELS

COMPILED: Final[bool] = cython.compiled

_TCP = cython.declare(cython.int, TCP)
_NOT_TCP = cython.declare(cython.int, NOT_TCP)
_FRAGMENT = cython.declare(cython.int, FRAGMENT)
_NOTHING_NEW = cython.declare(cython.int, NOTHING_NEW)
_NOTHING = cython.declare(cython.int, NOTHING)
_ASTRAY = cython.declare(cython.int, ASTRAY)
_UNMATCHED = cython.declare(cython.int, UNMATCHED)
_DESYNC = cython.declare(cython.int, DESYNC)
_ENCRYPTED = cython.declare(cython.int, ENCRYPTED)
_COMPRESSED = cython.declare(cython.int, COMPRESSED)

_SWEEP_NS = cython.declare(cython.longlong, 1_000_000_000)
_ACCOUNT_NS = cython.declare(cython.longlong, 10_000_000_000)
"""What packets were is told no later than this, even where no statement comes."""
_BATCH = cython.declare(cython.Py_ssize_t, 64)
"""Statements that are put into the block together: one at a time it takes half as long again."""
_BATCH_BYTES = cython.declare(cython.ulonglong, 1 << 16)
"""Or so many bytes of them, for what is finished is bounded by nothing else."""
_FAR_NS = cython.declare(cython.longlong, 1 << 62)
_SILENCE_NS = cython.declare(cython.longlong, 2_000_000_000)
"""An answer of which nothing more has come for so long is over, where its end is not read."""


def _port_map(ports: tuple[int, ...], x_ports: tuple[int, ...]) -> bytes:
    """One byte a port: which protocol a server speaks there, 0 where none listens."""
    known = bytearray(65536)
    for port in ports:
        known[port] = CLASSIC
    for port in x_ports:
        known[port] = X
    return bytes(known)


@cython.final
@cython.cclass
class Pipeline:
    """All a worker does between a packet and a block; its memory is bounded by its settings.

    Promises, each pinned by a test: every packet is counted under exactly one ``packets_`` counter; packet() raises
    for no input; no Python object is made for a packet that completes no statement and comes in order.
    ``full``: the block has to be taken before more packets come. ``block_age_ns``: when one with statements is ready;
    it may be set at any time. ``arrivals`` and ``blocks_losing`` are for whoever reads the ring to count in: packets by
    interface, and blocks before which the kernel had to drop some.
    """

    full: cython.bint
    arrivals: Arrivals
    blocks_losing: cython.ulonglong
    block_age_ns: cython.longlong

    _is_server: bytes
    _packet: Packet
    _outbox: Outbox
    _rules: Rules
    _allowance: Allowance
    _privacy: Privacy
    _builder: BlockBuilder
    _connections: Connections
    _now_ns: cython.longlong
    _swept_ns: cython.longlong
    _batched: cython.Py_ssize_t
    _batch_bytes: cython.ulonglong
    _told: cython.ulonglong
    _untold_since_ns: cython.longlong
    _used: cython.ulonglong
    _duplicate: cython.ulonglong
    _empty: cython.ulonglong
    _unmatched: cython.ulonglong
    _encrypted: cython.ulonglong
    _compressed: cython.ulonglong
    _desync: cython.ulonglong
    _stray: cython.ulonglong
    _fragment: cython.ulonglong
    _malformed: cython.ulonglong
    _foreign: cython.ulonglong
    _clock_in_doubt: cython.bint
    _set_from: cython.uint
    _set_at_ns: cython.longlong
    _set_by_ns: cython.longlong
    _clock_steps: cython.ulonglong
    _durations_unknown: cython.ulonglong
    _statements_packed: cython.ulonglong
    _statements_filtered: cython.ulonglong
    _snapped: cython.ulonglong

    def __init__(self, worker: int, incarnation: int, settings: Settings) -> None:
        self._is_server = _port_map(settings.ports, settings.x_ports)
        self._packet = Packet(sum(TUNNELS[name] for name in set(settings.tunnels)))
        self._outbox = Outbox()
        self._allowance = Allowance(settings.max_buffer_bytes)
        wanted = settings.responses
        self._rules = Rules(settings.max_statement_bytes, wanted != "none", self._allowance, timed=wanted == "timing")
        self._connections = Connections(settings, self._is_server, self._outbox, self._rules)
        self._now_ns = self._swept_ns = 0
        self.full = False
        self._batched = 0
        self._batch_bytes = 0
        self.arrivals = Arrivals()
        self.blocks_losing = 0
        self.block_age_ns = settings.block_age_ns
        self._told = 0
        self._untold_since_ns = 0
        self._used = self._duplicate = self._empty = self._unmatched = self._encrypted = self._compressed = 0
        self._desync = self._fragment = self._malformed = self._foreign = self._statements_packed = 0
        self._privacy = Privacy(settings)
        self._statements_filtered = 0
        self._snapped = self._stray = self._clock_steps = self._durations_unknown = 0
        self._clock_in_doubt = False
        self._set_from = 0
        self._set_at_ns = self._set_by_ns = 0
        self._builder = BlockBuilder(worker, incarnation, self._counted())

    def serve(self, ports: tuple[int, ...], x_ports: tuple[int, ...]) -> None:
        """From here on servers are on these ports, by protocol; what is known of connections stays."""
        self._is_server = _port_map(ports, x_ports)
        self._connections.serve(self._is_server)

    def answers_are_left_out(self, whether: bool) -> None:
        """From here on servers' bytes are left out where the settings would have them all; or they are no more."""
        self._connections.reassembly.impatient = whether

    def take_over(self, checkpoint: Checkpoint) -> None:
        """Go on with what the worker before knew of connections, and from now on save() what is known of them.

        To be called before the first packet.
        """
        checkpoint.read()
        self._outbox.unsaved = []
        self._connections.checkpoint = checkpoint

    def save(self) -> None:
        """Write down what has changed of what is known of connections, if anything and where it is written down."""
        checkpoint: Checkpoint | None = self._connections.checkpoint
        if checkpoint is not None:
            checkpoint.save(self._outbox.unsaved or (), self._connections.owners, self._now_ns)
            self._outbox.unsaved = []

    # --- packets

    @cython.ccall
    @cython.exceptval(-1)
    def packet(
        self,
        data: bytes,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        time_ns: cython.longlong,
        wire_length: cython.Py_ssize_t,
    ) -> cython.int:
        """Take the IP packet in ``data[at:end]``, captured at *time_ns*; it had *wire_length* bytes on the wire."""
        packet: Packet = self._packet
        kind: cython.int = packet.decode(data, at, end, wire_length)
        if kind != _TCP:
            return self._refuse(kind)
        self._now_ns = time_ns
        if packet.missing:
            self._snapped += 1
        if self._is_server[packet.target_port]:
            if self._is_server[packet.source_port] and not self._connections.is_client(packet):
                self._count(self._connections.server(packet, data, time_ns))
            else:
                self._count(self._connections.client(packet, data, time_ns))
        elif self._is_server[packet.source_port]:
            self._count(self._connections.server(packet, data, time_ns))
        else:
            self._foreign += 1
        if self._batched < len(self._outbox.finished):
            self._batch()
        return 0

    @cython.ccall
    @cython.exceptval(-1)
    def skip(self, packets: cython.ulonglong) -> cython.int:
        """So many packets were captured and can't be found, because what should lead to them is damaged."""
        self._malformed += packets
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _refuse(self, kind: cython.int) -> cython.int:
        if kind == _NOT_TCP:
            self._foreign += 1
        elif kind == _FRAGMENT:
            self._fragment += 1
        else:
            self._malformed += 1
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _count(self, verdict: cython.int) -> cython.int:
        if verdict == _UNMATCHED:
            self._unmatched += 1
        elif verdict == _DESYNC:
            self._desync += 1
        elif verdict == _ENCRYPTED:
            self._encrypted += 1
        elif verdict == _COMPRESSED:
            self._compressed += 1
        elif verdict == _NOTHING_NEW:
            self._duplicate += 1
        elif verdict == _NOTHING:
            self._empty += 1
        elif verdict == _ASTRAY:
            self._stray += 1
        else:
            self._used += 1
        return 0

    # --- time

    def tick(self, now_ns: int) -> None:
        """Let time pass to *now_ns*, on the packets' clock: give up what was waited for, forget what is silent."""
        self._now_ns = now_ns
        if self._clock_in_doubt:  # nobody knows how long anything has waited
            return
        self._connections.reassembly.tick(now_ns)
        if self._outbox.lingering:
            before_ns: cython.longlong = now_ns - _SILENCE_NS
            self._outbox.lingering = [one for one in self._outbox.lingering if one.quiet(before_ns)]
        if not 0 <= now_ns - self._swept_ns < _SWEEP_NS:  # below 0: the clock was set back
            self._swept_ns = now_ns
            self._connections.sweep(now_ns)
        self._pack()

    def clock_is(self, ahead_ns: int) -> None:
        """The clock of the packets' stamps is so far ahead of the monotonic one, from the block on that is open."""
        self._builder.clock_ns = ahead_ns

    @property
    def rows(self) -> int:
        """Statements in the block that is open."""
        return self._builder.rows

    def clock_stepped(self, rows: int, by_ns: int, now_ns: int) -> None:
        """The clock was set since the block had *rows*, and shows *now_ns*: times on both sides have no difference.

        What is open, what was packed since, and what is finished before clock_settled() has no times to its answer:
        until then stamps of either clock may come. What is open keeps its place in the order: it gets the time that the
        new clock would have given it.
        """
        self._pack()
        self._clock_steps += 1
        self._set_from = self._outbox.clock
        self._set_by_ns = by_ns
        self._set_at_ns = now_ns
        self._durations_unknown += self._builder.forget_times(rows)
        self._outbox.clock += 1
        self._clock_in_doubt = True

    def clock_settled(self, now_ns: int) -> None:
        """All stamps that come are of the new clock, which shows *now_ns*."""
        self._outbox.clock += 1
        # Their silence would be measured on two clocks.
        self._outbox.lingering = [one for one in self._outbox.lingering if one.quiet(_FAR_NS)]
        self._pack()
        self._clock_in_doubt = False
        self._connections.touch(now_ns)
        self._now_ns = self._swept_ns = now_ns

    # --- blocks

    @cython.cfunc
    @cython.exceptval(-1)
    def _batch(self) -> cython.int:
        """Something was finished: put it into the block where it is enough to be worth it."""
        exchange: Exchange
        while self._batched < len(self._outbox.finished):
            exchange = self._outbox.finished[self._batched]
            self._batched += 1
            self._batch_bytes += exchange.bytes_in
        if self._batched >= _BATCH or self._batch_bytes >= _BATCH_BYTES:
            self._pack()
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _pack(self) -> cython.int:
        """Put what is finished into the block, as far as it has room; the rest waits for the next one."""
        exchange: Exchange
        taken: cython.Py_ssize_t = 0
        for exchange in self._outbox.finished:
            if self._builder.full:
                break
            self._add(exchange)
            taken += 1
        if taken == len(self._outbox.finished):
            self._outbox.finished.clear()
        elif taken:
            del self._outbox.finished[:taken]
        self._batched = 0
        self._batch_bytes = 0
        self.full = self._builder.full
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _add(self, exchange: Exchange) -> cython.int:
        if not self._privacy.admits(exchange):
            self._statements_filtered += 1
            return 0
        if self._clock_in_doubt or exchange.clock != self._outbox.clock:
            self._forget_times(exchange)
        self._builder.add(exchange, self._now_ns)
        self._statements_packed += 1
        return 0

    @cython.cfunc
    def _forget_times(self, exchange: Exchange) -> cython.int:
        if exchange.latency_ns >= 0 or exchange.duration_ns >= 0:
            self._durations_unknown += 1
        exchange.latency_ns = exchange.duration_ns = -1
        # The stamp tells which clock it is of: set back, the new one has not shown it yet; set forward, never.
        before: cython.longlong = self._set_at_ns - max(self._set_by_ns, 0)
        of_old: cython.bint = exchange.time_ns > before if self._set_by_ns < 0 else exchange.time_ns <= before
        if of_old and exchange.clock <= self._set_from:
            exchange.time_ns += self._set_by_ns
            exchange.clock = self._set_from + 1
        return 0

    def block_ready(self, now_ns: int) -> bool:
        """Whether the block should be taken: it is full, or what it tells has waited long enough.

        *now_ns* is not before the packets that came; where it is, the clock was set back, and nobody knows how long.
        """
        self._pack()
        if self._builder.rows == 0:
            return self._account_due(now_ns)
        return self._builder.full or not 0 <= now_ns - self._builder.opened_ns < self.block_age_ns

    @cython.cfunc
    def _account_due(self, now_ns: cython.longlong) -> cython.bint:
        """Whether packets that made no statement have waited long enough to be told of."""
        if self._packets() == self._told:
            return False
        if self._untold_since_ns == 0:
            self._untold_since_ns = now_ns
        return not 0 <= now_ns - self._untold_since_ns < _ACCOUNT_NS

    @cython.cfunc
    def _packets(self) -> cython.ulonglong:
        """How many have come."""
        left: cython.ulonglong = self._desync + self._stray + self._fragment + self._malformed + self._foreign
        right: cython.ulonglong = self._unmatched + self._encrypted + self._compressed
        return self._used + self._duplicate + self._empty + left + right

    def block_open(self) -> bool:
        """Whether there are statements in the block."""
        self._pack()
        return self._builder.rows > 0

    def take_block(self, now_ns: int, final: bool = False) -> tuple[bytes, bytes]:
        """The block gathered so far: head and body.

        *final*: nothing will follow, so it takes all there is, whatever its size; to keep to the size call finish()
        before, and take what is then full.
        """
        self._now_ns = now_ns
        if final:
            self.finish(now_ns)
            for exchange in self._outbox.finished:
                self._add(exchange)
            self._outbox.finished.clear()
        block = self._builder.take(self.counters(), final)
        self._told = self._packets()
        self._untold_since_ns = 0
        self._pack()
        return block

    def finish(self, now_ns: int) -> None:
        """Nothing will follow: connections end, and what waits for an answer gets none."""
        self._now_ns = now_ns
        self._connections.finish()
        self._pack()

    def counters(self) -> dict[str, int]:
        """What was counted since the beginning, by the names of workers.counters; what is finished is packed before."""
        self._pack()
        return self._counted()

    def _counted(self) -> dict[str, int]:
        reassembly = self._connections.reassembly
        checkpoint: Checkpoint | None = self._connections.checkpoint
        values = (
            *self._classes(),
            self._outbox.decoded,
            self._statements_packed,
            self._statements_filtered,
            self._outbox.truncated,
            reassembly.gaps,
            reassembly.gap_bytes,
            *reassembly.reasons(),
            reassembly.returns,
            reassembly.server_gaps,
            reassembly.server_gap_bytes,
            self._snapped,
            reassembly.held,
            reassembly.disagreeing,
            self._outbox.desyncs,
            self._outbox.unread_parameters,
            self._outbox.forgotten_statements,
            self._durations_unknown,
            self._clock_steps,
            self.blocks_losing,
            self._connections.opened,
            self._connections.half_open,
            self._connections.evicted,
            *self._connections.encrypted.counted(),
            *((0, 0, 0) if checkpoint is None else checkpoint.counted()),
        )
        return dict(zip(NAMES, values, strict=True))

    def _classes(self) -> tuple[int, ...]:
        """Packets by what they were."""
        return (
            self._used,
            self._duplicate,
            self._empty,
            self._unmatched,
            self._encrypted,
            self._compressed,
            self._desync,
            self._stray,
            self._fragment,
            self._malformed,
            self._foreign,
        )

    def kept_bytes(self) -> int:
        """What is kept of all that is unfinished or was prepared, bounded by the settings; 0 after finish()."""
        return self._allowance.used + self._allowance.remembered

    def store_counters(self, words: memoryview) -> None:
        """Write the counters into *words*, unsigned 64-bit numbers in the order of workers.counters.NAMES."""
        for at, value in enumerate(self.counters().values()):
            words[at] = value
