"""One worker: ring in, blocks out over ZeroMQ. The only place where compiled code meets files, clocks and sockets.

It starts as a fork of capture, holding its ring's mapping, a page it shares with capture and the end of a pipe that
wakes it, and nothing else. It is made in steps, each of which needs less of the kernel than the one before: prepare()
files, listen() a folder, Worker() threads, and Worker.run() only what it has by then.
"""

from __future__ import annotations

import ctypes
import gc
import logging
import mmap
import os
import select
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from workers import clock, message
from workers.allocator import keep_freed_memory
from workers.area import Area
from workers.checkpoint import Checkpoint
from workers.clock import Clock, Reading
from workers.framering import FrameRing
from workers.page import (
    ANSWERS_WORD,
    BLOCK_AGE_WORD,
    COMMAND_WORD,
    DRAIN,
    FIRST_COUNTER_WORD,
    HEARTBEAT_WORD,
    INTERFACE_WORDS,
    LEAVE,
    PORTS_KNOWN_WORD,
    PORTS_VERSION_WORD,
    read_ports,
)
from workers.pipeline import Pipeline
from workers.ring import Ring
from workers.settings import Settings

HIGH_WATER_MARK: Final = 4
"""Blocks ZeroMQ may hold on each side."""

ORPHANED: Final = signal.SIGUSR1
"""Says to a worker that capture is gone."""

_WAIT_MS: Final = 200  # at most, while a block is open: it gets no older than it should by more than this
_LEAST_WAIT_MS: Final = 10
_IDLE_WAIT_MS: Final = 5_000  # a wake-up that got lost costs no more than this
_MOST_WAKE_UPS: Final = 1 << 16  # a pipe holds no more
_LAST_BLOCK_NS: Final = 10_000_000_000
_LINGER_MS: Final = 5_000
_COLLECT_NS: Final = 60_000_000_000
_ORPHAN_S: Final = 20
_ORPHAN_DRAIN_NS: Final = 8_000_000_000  # with _LAST_BLOCK_NS it is within that
_BUSY_TICK_NS: Final = 1_000_000_000
_LONGEST_IN_RING_NS: Final = 10_000_000_000
_IN_KERNEL_NS: Final = 1_500_000_000  # a block that is not full is handed over after a second at the latest

_log = logging.getLogger(__name__)

Block = tuple[bytes, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What a worker gets from capture."""

    worker: int
    incarnation: int
    address: int
    """Where the ring is mapped: block_count blocks of block_bytes each. It outlives the worker."""
    block_bytes: int
    block_count: int
    frame_bytes: int
    """Of the places for one packet each, if blocks have such (TPACKET_V2); 0: blocks are those of TPACKET_V3."""
    page: mmap.mmap
    checkpoint_address: int = 0
    """Where the area is mapped in which the worker before left what it knew of connections."""
    checkpoint_bytes: int = 0
    """0: there is none."""
    wake: int
    """The end of a pipe, readable when a block of the ring may be ready; reading does not block."""
    endpoint: str
    """Path of the Unix socket to bind; its folder is the present one."""
    settings: Settings


class Source(Protocol):
    """Where packets come from: Ring, FrameRing."""

    def drain(self, pipeline: Pipeline, most_blocks: int) -> int:
        """Feed at most so many blocks to *pipeline*; how many there were."""


class Sender(Protocol):
    """Where blocks go."""

    def send(self, block: Block) -> bool:
        """Hand a block over without blocking; False when there is no room for it."""

    def wait(self, most_ms: int) -> None:
        """Return when there may be room, at the latest after *most_ms*."""


class Loop:
    """Moves what is in the ring through the pipeline to the sender.

    A block that the sender has no room for is kept, and until it is gone nothing is taken from the ring: the kernel
    counts what finds no room there. So a worker never holds more than one finished block.

    The clock is looked at after each block of the ring, so that a step is known before what is behind it is handed on.
    """

    def __init__(
        self,
        ring: Source,
        pipeline: Pipeline,
        sender: Sender,
        page: memoryview,
        read_clock: Callable[[], Reading] = clock.read,
    ) -> None:
        self._ring = ring
        self._pipeline = pipeline
        self._sender = sender
        self._words = page.cast("Q")
        self._kept: Block | None = None
        self._ticked_ns = 0
        self._ports_version = 0
        self._age_told_ns = 0
        self._answers_told = 0
        self._read_clock = read_clock
        self._clock = Clock(read_clock())
        self._cut = False
        """Whether the block that is open is to be handed over, as the next one has another clock."""
        self._settled_ns: int | None = None
        """When (monotonic) no stamp of the clock before is in the kernel's hands any more; None: there is none."""
        pipeline.clock_is(self._clock.ahead_ns)

    @property
    def stalled(self) -> bool:
        """Whether a finished block waits for room."""
        return self._kept is not None

    @property
    def block_open(self) -> bool:
        """Whether there are statements that have not been handed over, and get older."""
        return self.stalled or self._pipeline.block_open()

    @property
    def wait_ms(self) -> int:
        """How long to wait for more at most."""
        if not self.block_open:
            return _IDLE_WAIT_MS
        return max(min(self._pipeline.block_age_ns // 1_000_000, _WAIT_MS), _LEAST_WAIT_MS)

    @property
    def drain_wanted(self) -> bool:
        """Whether capture asked for the end."""
        return self._words[COMMAND_WORD] in {DRAIN, LEAVE}

    @property
    def leave_wanted(self) -> bool:
        """Whether it is to end with what it has taken, whatever else is in the ring."""
        return self._words[COMMAND_WORD] == LEAVE

    def step(self, now_ns: int) -> bool:
        """Take at most one block of the ring; True when there was one, so that there may be more.

        *now_ns* is on the clock of the packets' stamps, CLOCK_REALTIME.
        """
        if not self._hand_over():
            return False
        if self._words[PORTS_VERSION_WORD] != self._ports_version:
            self._take_ports()
        if self._words[BLOCK_AGE_WORD] != self._age_told_ns:
            self._pipeline.block_age_ns = self._age_told_ns = self._words[BLOCK_AGE_WORD]
        if self._words[ANSWERS_WORD] != self._answers_told:
            self._answers_told = self._words[ANSWERS_WORD]
            self._pipeline.answers_are_left_out(self._answers_told != 0)
        if self._cut and not self._cut_block(now_ns):
            return False
        rows = self._pipeline.rows
        taken = self._ring.drain(self._pipeline, 1)
        self._watch_clock(rows, taken > 0)
        # What waits in the ring is older than now, and must not time out before it was seen.
        if not taken:
            self._tick(now_ns)
        elif now_ns - self._ticked_ns >= _BUSY_TICK_NS + _LONGEST_IN_RING_NS:
            self._tick(now_ns - _LONGEST_IN_RING_NS)
        self._pipeline.save()
        ready = self._pipeline.block_ready(now_ns)
        if ready or not taken:  # not for each block of the ring: capture reads them once a second
            self._store_counters()
        if ready:
            self._kept = self._pipeline.take_block(now_ns)
            self._hand_over()
        return taken > 0

    def finish(self, now_ns: int, wait_ns: int) -> bool:
        """Hand over what is left as the final block; False when there was no room within *wait_ns*.

        Blocks for that long at most. The ring must have been emptied.
        """
        deadline = time.monotonic_ns() + wait_ns
        if not self._hand_over_until(deadline):
            return False
        self._pipeline.tick(now_ns)
        self._pipeline.finish(now_ns)
        while self._pipeline.full:
            self._kept = self._pipeline.take_block(now_ns)
            if not self._hand_over_until(deadline):
                return False
        self._kept = self._pipeline.take_block(now_ns, final=True)
        self._store_counters()
        return self._hand_over_until(deadline)

    def beat(self, monotonic_ns: int) -> None:
        """Show capture that the loop is alive."""
        self._words[HEARTBEAT_WORD] = monotonic_ns

    def _hand_over_until(self, deadline: int) -> bool:
        while not self._hand_over():
            left_ms = (deadline - time.monotonic_ns()) // 1_000_000
            if left_ms <= 0:
                return False
            self._sender.wait(min(left_ms, _WAIT_MS))
            self.beat(time.monotonic_ns())
        return True

    def _watch_clock(self, rows: int, taken: bool) -> None:
        """Look whether the clock was set since the last time; *rows* were there before the ring was looked at."""
        reading = self._read_clock()
        before_ns = self._clock.ahead_ns
        if self._clock.stepped(reading):
            self._pipeline.clock_stepped(rows, self._clock.ahead_ns - before_ns, reading.realtime_ns)
            self._cut = True
            self._ticked_ns = reading.realtime_ns
            self._settled_ns = reading.after_ns + _IN_KERNEL_NS
        elif self._settled_ns is not None and not taken and reading.before_ns >= self._settled_ns:
            self._settled_ns = None
            self._pipeline.clock_settled(reading.realtime_ns)
            self._ticked_ns = reading.realtime_ns

    def _cut_block(self, now_ns: int) -> bool:
        """Hand the open block over, as what follows goes by another clock; False while there is no room for it."""
        self._cut = False
        if self._pipeline.rows:
            self._kept = self._pipeline.take_block(now_ns)
        self._pipeline.clock_is(self._clock.ahead_ns)
        return self._hand_over()

    def _take_ports(self) -> None:
        self._ports_version, ports = read_ports(self._words)
        self._pipeline.serve(*ports)
        self._words[PORTS_KNOWN_WORD] = self._ports_version

    def _tick(self, now_ns: int) -> None:
        self._pipeline.tick(now_ns)
        self._ticked_ns = now_ns

    def _hand_over(self) -> bool:
        if self._kept is not None and self._sender.send(self._kept):
            self._kept = None
        return self._kept is None

    def _store_counters(self) -> None:
        self._pipeline.store_counters(self._words[FIRST_COUNTER_WORD:])
        self._pipeline.arrivals.store(self._words[INTERFACE_WORDS])


def prepare() -> None:
    """Have what is in files, ZeroMQ and the time zone: after the fork, which ZeroMQ's threads would not survive."""
    import zmq  # noqa: F401

    time.localtime()  # for log lines; C's library reads the zone's file once


def listen(path: str) -> int:
    """A Unix socket at *path*, which takes the place of what was there; its fd. The folder is the present one.

    By its name alone: the folders above need not be within reach of the worker's user. Raises OSError.
    """
    name = Path(path).name
    Path(name).unlink(missing_ok=True)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
    made.bind(name)
    made.listen()
    return made.detach()


class Worker:
    """All of a worker once it listens. From here on it opens nothing and, after the constructor, starts no thread."""

    def __init__(self, setup: Setup, listening: int) -> None:
        _quiet_garbage_collector()
        keep_freed_memory()
        self._orphaned = _Flag()
        self._sender = _ZmqSender(setup.endpoint, listening, message.receipt(setup.incarnation))
        pipeline = Pipeline(setup.worker, setup.incarnation, setup.settings)
        self._pipeline = pipeline
        self._area = _area(setup)
        self._loop = Loop(_ring(setup), pipeline, self._sender, memoryview(setup.page))
        self._wake = select.poll()
        for fd in (setup.wake, self._orphaned.fd):
            self._wake.register(fd, select.POLLIN)

    def run(self) -> int:
        """Work until capture says drain, or is gone; the exit code comes back."""
        loop = self._loop
        self._take_over()
        collected = time.monotonic_ns()
        while True:
            loop.beat(now := time.monotonic_ns())
            stop = loop.drain_wanted or self._orphaned.up  # read before the ring: what is in it now is to be taken
            if loop.leave_wanted or self._orphaned.long_ago(now):
                break
            if loop.step(time.time_ns()):
                continue
            if loop.stalled:
                if stop:
                    break
                self._sender.wait(_WAIT_MS)
                continue
            if stop:
                break
            if now - collected > _COLLECT_NS:
                gc.collect()
                collected = now
            for fd, _ in self._wake.poll(loop.wait_ms):
                os.read(fd, _MOST_WAKE_UPS)
        return _end(loop, self._sender)

    def _take_over(self) -> None:
        if self._area is None:
            return
        checkpoint = Checkpoint(self._area)
        self._pipeline.take_over(checkpoint)
        if checkpoint.damage:
            _log.error(
                "what the worker before knew of open connections is damaged (%s): their users, databases and prepared"
                " statements are unknown until they are heard again",
                checkpoint.damage,
            )
        elif checkpoint.known:
            _log.info("goes on with what the worker before knew of %d connections", checkpoint.known)


def _area(setup: Setup) -> Area | None:
    """The memory for what is known of connections."""
    if not setup.checkpoint_bytes:
        return None
    memory = (ctypes.c_char * setup.checkpoint_bytes).from_address(setup.checkpoint_address)
    return Area(memoryview(memory).cast("B"))


def _ring(setup: Setup) -> Ring | FrameRing:
    """The reader of the ring, where the worker before this one stopped."""
    where = (setup.address, setup.block_bytes, setup.block_count)
    ring = FrameRing(*where, setup.frame_bytes) if setup.frame_bytes else Ring(*where)
    ring.resume()
    return ring


def _end(loop: Loop, sender: _ZmqSender) -> int:
    deadline = time.monotonic_ns() + _LAST_BLOCK_NS
    while loop.stalled and time.monotonic_ns() < deadline:
        sender.wait(_WAIT_MS)
        while loop.step(time.time_ns()):
            loop.beat(time.monotonic_ns())
        loop.beat(time.monotonic_ns())
    handed_over = not loop.stalled and loop.finish(time.time_ns(), max(deadline - time.monotonic_ns(), 0))
    while handed_over and not sender.taken(_WAIT_MS):
        loop.beat(time.monotonic_ns())
        handed_over = time.monotonic_ns() < deadline
    if not handed_over:
        _log.error("the aggregator took no block for %d s: the last ones are lost", _LAST_BLOCK_NS // 1_000_000_000)
    sender.close()
    return 0 if handed_over else 1


def _quiet_garbage_collector() -> None:
    # The pipeline makes no cycles; what capture made before the fork is never to be touched, so that its pages stay
    # shared. What little there is gets collected once a minute, when there is nothing else to do.
    gc.freeze()
    gc.disable()


class _Flag:
    """Goes up when ORPHANED arrives: capture is gone, and nobody is left to bound what the worker does then."""

    def __init__(self) -> None:
        self.up = False
        self._since_ns = 0
        self.fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        """Becomes readable then, which a signal alone does not do for who waits."""
        signal.signal(ORPHANED, self._raise)

    def long_ago(self, now_ns: int) -> bool:
        """Whether it is up for so long that what was in the ring is to be left there: packets may come for ever."""
        return self.up and now_ns - self._since_ns > _ORPHAN_DRAIN_NS

    def _raise(self, *_: object) -> None:
        self._since_ns = time.monotonic_ns()
        self.up = True
        signal.alarm(_ORPHAN_S)
        os.eventfd_write(self.fd, 1)


class _ZmqSender:
    """A DEALER socket over one that listens already; its path is guarded by the folder's permissions."""

    def __init__(self, path: str, listening: int, receipt: bytes) -> None:
        import zmq

        self._again = zmq.Again
        self._no_block = zmq.DONTWAIT
        self._receipt = receipt
        self._context = zmq.Context(io_threads=1)
        self._socket = self._context.socket(zmq.DEALER)
        self._socket.set_hwm(HIGH_WATER_MARK)
        self._socket.setsockopt(zmq.LINGER, _LINGER_MS)
        self._socket.setsockopt(zmq.USE_FD, listening)
        self._socket.bind(f"ipc://{Path(path).name}")

    def send(self, block: Block) -> bool:
        try:
            self._socket.send(message.join(*block), flags=self._no_block)
        except self._again:
            return False
        return True

    def wait(self, most_ms: int) -> None:
        import zmq

        self._socket.poll(most_ms, zmq.POLLOUT)

    def taken(self, most_ms: int) -> bool:
        """Whether the aggregator has taken the final block, and so all before it; waits at most *most_ms* for that."""
        while self._socket.poll(most_ms):
            if self._socket.recv(self._no_block) == self._receipt:  # not that of the worker before
                return True
        return False

    def close(self) -> None:
        """Blocks until what was sent is on its way, at most for the linger time."""
        self._socket.close()
        self._context.term()
