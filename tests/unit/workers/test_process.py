from __future__ import annotations

import contextlib
import mmap
import os
import select
import signal
import time
from pathlib import Path
from typing import Any, cast

import pytest
import zmq

from workers import message, process
from workers.arrivals import Arrivals
from workers.clock import Reading
from workers.page import (
    BLOCK_AGE_WORD,
    COMMAND_WORD,
    DRAIN,
    FIRST_COUNTER_WORD,
    HEARTBEAT_WORD,
    LEAVE,
    PORTS_KNOWN_WORD,
    Ports,
    write_ports,
)
from workers.process import Block, Loop

SECOND = 1_000_000_000
AGED = 10_000 * SECOND


class Ring:
    """Gives one "packet" a block, as many blocks as *ready*."""

    def __init__(self, ready: int = 0) -> None:
        self.ready = ready

    def drain(self, pipeline: Pipeline, most_blocks: int) -> int:
        taken = min(self.ready, most_blocks)
        self.ready -= taken
        pipeline.packets += taken
        return taken


class Pipeline:
    """A block is ready with *every* packets, or with one once it is AGED."""

    def __init__(self, every: int = 1) -> None:
        self.packets = 0
        self.packed = 0
        self.arrivals = Arrivals()
        self.ticks: list[int] = []
        self.clocks: list[tuple[int, int]] = []
        """After how many packets it was told how far the clock is ahead."""
        self.stepped: list[tuple[int, int, int, int]] = []
        """After how many packets it was told of a step, since which row, by how much, and what the clock shows."""
        self.settled: list[int] = []
        self.served: list[tuple[int, tuple[int, ...], tuple[int, ...]]] = []
        """After how many packets it was told which ports."""
        self.block_age_ns = SECOND
        self.saved: list[int] = []
        """After how many packets it was to write down what it knows."""
        self._every = every

    @property
    def rows(self) -> int:
        return self.packets - self.packed

    def save(self) -> None:
        self.saved.append(self.packets)

    def clock_is(self, ahead_ns: int) -> None:
        self.clocks.append((self.packets, ahead_ns))

    def clock_stepped(self, rows: int, by_ns: int, now_ns: int) -> None:
        self.stepped.append((self.packets, rows, by_ns, now_ns))

    def clock_settled(self, now_ns: int) -> None:
        self.settled.append(now_ns)

    def tick(self, now_ns: int) -> None:
        self.ticks.append(now_ns)

    @property
    def full(self) -> bool:
        return self.packets - self.packed >= self._every

    def finish(self, now_ns: int) -> None:
        self.finished_ns = now_ns

    def block_ready(self, now_ns: int) -> bool:
        held = self.packets - self.packed
        return held >= self._every or (held > 0 and now_ns > AGED)

    def block_open(self) -> bool:
        return self.packets > self.packed

    def take_block(self, now_ns: int, final: bool = False) -> Block:  # noqa: ARG002
        self.packed = self.packets
        return (b"final" if final else b"head", b"%d" % self.packets)

    def store_counters(self, words: memoryview) -> None:
        words[0] = self.packets

    def serve(self, ports: tuple[int, ...], x_ports: tuple[int, ...]) -> None:
        self.served.append((self.packets, ports, x_ports))


class Sender:
    """Takes as many blocks as there is *room* for."""

    def __init__(self, room: int = 1000) -> None:
        self.room = room
        self.sent: list[Block] = []
        self.waits = 0

    def send(self, block: Block) -> bool:
        if not self.room:
            return False
        self.room -= 1
        self.sent.append(block)
        return True

    def wait(self, most_ms: int) -> None:  # noqa: ARG002
        self.waits += 1


def loop(ring: Ring, pipeline: Pipeline, sender: Sender) -> tuple[Loop, memoryview]:
    page = mmap.mmap(-1, mmap.PAGESIZE)
    made = Loop(cast("Any", ring), cast("Any", pipeline), sender, memoryview(page))
    return made, memoryview(page).cast("Q")


def test_each_step_takes_one_block_of_the_ring_and_says_whether_there_was_one() -> None:
    ring, pipeline, sender = Ring(2), Pipeline(), Sender()
    made, _ = loop(ring, pipeline, sender)
    assert [made.step(0) for _ in range(3)] == [True, True, False]
    assert sender.sent == [(b"head", b"1"), (b"head", b"2")]


def test_without_room_a_block_is_kept_and_nothing_more_is_taken_from_the_ring() -> None:
    ring, pipeline, sender = Ring(5), Pipeline(), Sender(room=1)
    made, _ = loop(ring, pipeline, sender)
    assert [made.step(0) for _ in range(4)] == [True, True, False, False]
    assert made.stalled
    assert ring.ready == 3
    sender.room = 10
    while made.step(0):
        pass
    assert [body for _, body in sender.sent] == [b"1", b"2", b"3", b"4", b"5"]
    assert not made.stalled


def test_what_is_known_is_written_down_behind_each_block_of_the_ring_and_not_at_the_end() -> None:
    ring, pipeline, sender = Ring(2), Pipeline(), Sender()
    made, _ = loop(ring, pipeline, sender)
    for _ in range(3):
        made.step(0)
    made.finish(0, SECOND)
    assert pipeline.saved == [1, 2, 2]


def test_counters_are_in_the_page_before_the_block_that_they_belong_to_is_sent() -> None:
    ring, pipeline = Ring(3), Pipeline(every=2)
    seen: list[int] = []

    class Watching(Sender):
        def send(self, block: Block) -> bool:
            seen.append(words[FIRST_COUNTER_WORD])
            return super().send(block)

    made, words = loop(ring, pipeline, Watching())
    for _ in range(4):
        made.step(0)
    assert seen == [2]
    assert words[FIRST_COUNTER_WORD] == 3  # and in the end, when the ring is empty


def test_time_passes_for_the_pipeline_only_up_to_what_is_still_in_the_ring() -> None:
    ring, pipeline = Ring(3), Pipeline()
    made, _ = loop(ring, pipeline, Sender())
    made.step(1000 * SECOND)
    made.step(1000 * SECOND + SECOND // 2)
    assert pipeline.ticks == [990 * SECOND]  # busy: what waits may be seconds old
    made.step(1001 * SECOND)
    assert pipeline.ticks == [990 * SECOND, 991 * SECOND]
    assert not made.step(1002 * SECOND)
    assert pipeline.ticks[-1] == 1002 * SECOND  # nothing waits any more


def test_a_block_is_open_from_its_first_statement_until_it_is_handed_over() -> None:
    ring, pipeline, sender = Ring(2), Pipeline(every=2), Sender(room=0)
    made, _ = loop(ring, pipeline, sender)
    assert not made.block_open
    made.step(0)
    assert made.block_open
    made.step(0)
    assert made.stalled
    assert made.block_open
    sender.room = 1
    made.step(0)
    assert not made.block_open


def test_finishing_sends_a_final_block_even_when_it_is_empty() -> None:
    ring, pipeline, sender = Ring(), Pipeline(), Sender()
    made, words = loop(ring, pipeline, sender)
    assert made.finish(0, wait_ns=SECOND)
    assert sender.sent == [(b"final", b"0")]
    assert words[FIRST_COUNTER_WORD] == 0


def test_finishing_sends_what_was_kept_first() -> None:
    ring, pipeline, sender = Ring(1), Pipeline(), Sender(room=0)
    made, _ = loop(ring, pipeline, sender)
    made.step(0)
    assert made.stalled
    sender.room = 2
    assert made.finish(0, wait_ns=SECOND)
    assert [head for head, _ in sender.sent] == [b"head", b"final"]


def test_finishing_gives_up_when_there_is_no_room_in_time() -> None:
    made, _ = loop(Ring(), Pipeline(), Sender(room=0))
    assert not made.finish(0, wait_ns=0)


def test_blocks_reach_who_connects_and_who_connects_after_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("blocks.sock").touch()  # what an earlier worker left
    with contextlib.closing(sender()) as made, zmq.Context() as context:
        for _ in range(2):
            with context.socket(zmq.DEALER) as receiver:
                receiver.connect(f"ipc://{tmp_path}/blocks.sock")
                # More than one: of the first it may not be known yet that its receiver is gone.
                while not receiver.poll(50):
                    made.send((b"head", b"body"))
                assert message.split(receiver.recv()) == (b"head", b"body")


RECEIPT = message.receipt(7)


def sender() -> process._ZmqSender:
    listening = process.listen("/elsewhere/blocks.sock")
    return process._ZmqSender("/elsewhere/blocks.sock", listening, RECEIPT)  # noqa: SLF001


def test_a_sender_waits_for_the_receipt_of_its_own_worker_and_then_all_was_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with contextlib.closing(sender()) as made, zmq.Context() as context, context.socket(zmq.DEALER) as receiver:
        receiver.connect(f"ipc://{tmp_path}/blocks.sock")
        while not made.send((b"head", b"body")):
            made.wait(50)
        assert not made.taken(50)
        receiver.send(message.receipt(6))
        assert not made.taken(50)
        receiver.send(RECEIPT)
        assert made.taken(10_000)


def test_the_page_carries_the_command_and_the_heartbeat() -> None:
    made, words = loop(Ring(), Pipeline(), Sender())
    assert not made.drain_wanted
    words[COMMAND_WORD] = DRAIN
    assert (made.drain_wanted, made.leave_wanted) == (True, False)
    words[COMMAND_WORD] = LEAVE
    assert (made.drain_wanted, made.leave_wanted) == (True, True)
    made.beat(12345)
    assert words[HEARTBEAT_WORD] == 12345


def test_ports_are_taken_before_what_is_in_the_ring_then_and_capture_sees_it() -> None:
    pipeline = Pipeline()
    made, words = loop(Ring(ready=3), pipeline, Sender())
    made.step(0)
    assert pipeline.served == []
    write_ports(words, Ports((3306, 3307), (33060,)), 1)
    made.step(0)
    made.step(0)
    assert pipeline.served == [(1, (3306, 3307), (33060,))]
    assert words[PORTS_KNOWN_WORD] == 1


def test_the_age_of_blocks_is_what_capture_says_once_it_does_and_waiting_is_no_longer_than_that() -> None:
    pipeline = Pipeline(every=9)
    made, words = loop(Ring(ready=2), pipeline, Sender())
    made.step(0)
    assert (pipeline.block_age_ns, made.wait_ms) == (SECOND, 200)
    words[BLOCK_AGE_WORD] = 50_000_000
    made.step(0)
    assert (pipeline.block_age_ns, made.wait_ms) == (50_000_000, 50)


class Times:
    """A host's clocks, which stand still unless they are moved."""

    def __init__(self) -> None:
        self.realtime_ns = 1_000 * SECOND
        self.monotonic_ns = 10 * SECOND

    def read(self) -> Reading:
        return Reading(self.monotonic_ns, self.realtime_ns, self.monotonic_ns)

    def pass_(self, ns: int) -> None:
        self.realtime_ns += ns
        self.monotonic_ns += ns


def test_a_step_of_the_clock_cuts_the_block_and_settles_when_no_stamp_of_the_old_clock_can_come() -> None:
    times, pipeline, sender, ring = Times(), Pipeline(every=100), Sender(), Ring(ready=2)
    page = memoryview(mmap.mmap(-1, mmap.PAGESIZE))
    made = Loop(cast("Any", ring), cast("Any", pipeline), sender, page, times.read)
    made.step(times.realtime_ns)
    assert (pipeline.clocks, pipeline.stepped) == ([(0, 990 * SECOND)], [])
    times.realtime_ns -= 300 * SECOND  # while the second block is filled
    made.step(times.realtime_ns)
    assert pipeline.stepped == [(2, 1, -300 * SECOND, 700 * SECOND)]  # the second one may have met it
    assert sender.sent == []
    made.step(times.realtime_ns)
    assert sender.sent == [(b"head", b"2")]  # nothing of the new clock is with it
    assert pipeline.clocks[1:] == [(2, 690 * SECOND)]
    assert pipeline.settled == []
    times.pass_(2 * SECOND)
    ring.ready = 1
    made.step(times.realtime_ns)
    assert pipeline.settled == []  # what was in the ring may be older
    made.step(times.realtime_ns)
    assert pipeline.settled == [times.realtime_ns]
    made.step(times.realtime_ns)
    assert (len(pipeline.settled), len(pipeline.stepped)) == (1, 1)


def test_a_block_that_a_step_cuts_waits_for_room_and_nothing_is_taken_meanwhile() -> None:
    times, pipeline, sender, ring = Times(), Pipeline(every=100), Sender(room=0), Ring(ready=3)
    page = memoryview(mmap.mmap(-1, mmap.PAGESIZE))
    made = Loop(cast("Any", ring), cast("Any", pipeline), sender, page, times.read)
    times.realtime_ns += SECOND
    made.step(0)
    assert not made.step(0)
    assert (made.stalled, ring.ready) == (True, 2)
    sender.room = 1
    made.step(0)
    assert sender.sent == [(b"head", b"1")]
    assert ring.ready == 1


def test_a_busy_worker_ticks_again_soon_after_the_clock_was_set_back() -> None:
    times, pipeline, ring = Times(), Pipeline(every=1000), Ring(ready=100)
    page = memoryview(mmap.mmap(-1, mmap.PAGESIZE))
    made = Loop(cast("Any", ring), cast("Any", pipeline), Sender(), page, times.read)
    for _ in range(2):
        times.pass_(12 * SECOND)
        made.step(times.realtime_ns)
    times.realtime_ns -= 500 * SECOND
    made.step(times.realtime_ns)
    ticks = len(pipeline.ticks)
    times.pass_(12 * SECOND)
    made.step(times.realtime_ns)
    assert len(pipeline.ticks) == ticks + 1


def test_a_worker_that_is_left_alone_takes_from_its_ring_for_some_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signal, "alarm", lambda _: 0)
    before = signal.getsignal(process.ORPHANED)
    try:
        flag = process._Flag()  # noqa: SLF001  # the worker that has it is a process of its own
        assert not flag.long_ago(1 << 62)
        signal.raise_signal(process.ORPHANED)
        assert select.select([flag.fd], [], [], 0)[0]
        assert not flag.long_ago(time.monotonic_ns() + 1 * SECOND)
        assert flag.long_ago(time.monotonic_ns() + 9 * SECOND)
        os.close(flag.fd)
    finally:
        signal.signal(process.ORPHANED, before)
