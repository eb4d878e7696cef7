from __future__ import annotations

import array
import ctypes
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from collector.capture.mapping import Area
from collector.capture.slots import Slot
from collector.capture.sockets import KernelCounters
from workers import counters, page
from workers.page import Ports

PORTS = Ports((3306, 3307), (33060,))

USED = counters.NAMES.index("packets_used")


@dataclass
class Socket:
    """Counts what it is told to."""

    passes: list[int] = field(default_factory=list)
    """Packets that passed before each question."""
    waiting: int = 0
    room: int = 0
    gathers: bool = True
    due_at: float | None = None

    def gather(self, _now: float) -> bool:
        return self.gathers

    def due(self, _now: float) -> float | None:
        return self.due_at

    def take_counters(self) -> KernelCounters:
        return KernelCounters(passed=self.passes.pop(0) if self.passes else 0, dropped=0, freezes=0)

    def packets_waiting(self) -> int:
        return self.waiting


@pytest.fixture
def packet_socket() -> Socket:
    return Socket()


@pytest.fixture
def slot(packet_socket: Socket, tmp_path: Path) -> Slot:
    return Slot(3, cast("Any", packet_socket), tmp_path, 0, Area(0, ""))


def words(slot: Slot) -> memoryview:
    return memoryview(slot._page).cast("Q")  # noqa: SLF001  # as the worker has it


def test_what_a_dead_worker_had_taken_is_what_passed_and_does_not_wait(slot: Slot, packet_socket: Socket) -> None:
    packet_socket.passes, packet_socket.waiting = [100], 30
    words(slot)[page.FIRST_COUNTER_WORD + USED] = 60
    slot.settle()
    assert slot.taken == 70  # ten of them it had not counted yet
    slot.next_incarnation()
    packet_socket.passes, packet_socket.waiting = [50], 0
    slot.settle()
    assert slot.taken == 80  # the 30 that waited, and the 50


def test_a_figure_that_changes_meanwhile_is_read_again(slot: Slot, packet_socket: Socket) -> None:
    packet_socket.passes, packet_socket.waiting = [10, 5, 1, 0], 2
    slot.settle()
    assert slot.taken == 14


def test_what_a_worker_counted_is_taken_where_it_can_be_so(slot: Slot, packet_socket: Socket) -> None:
    packet_socket.passes, packet_socket.waiting = [10], 10
    words(slot)[page.FIRST_COUNTER_WORD + USED] = 7
    slot.settle()
    assert slot.taken == 7


@pytest.mark.parametrize("forged", [11, 2**64 - 1])
def test_a_forged_counter_or_ring_cannot_make_it_more_than_came_nor_touch_the_next(
    slot: Slot, packet_socket: Socket, forged: int
) -> None:
    packet_socket.passes, packet_socket.waiting = [10], 2**40
    for number in range(len(counters.NAMES)):
        words(slot)[page.FIRST_COUNTER_WORD + number] = forged
    slot.settle()
    assert slot.taken == 10
    slot.next_incarnation()
    packet_socket.passes, packet_socket.waiting = [5], 1
    slot.settle()
    assert slot.taken == 4


def test_a_worker_that_fills_what_wakes_it_does_not_stop_who_wakes_it(slot: Slot) -> None:
    for _ in range(1 << 17):  # more than a pipe holds
        slot.kick()
    slot.drain()


def test_a_worker_that_makes_its_end_wait_does_not_make_ours_wait(slot: Slot) -> None:
    os.set_blocking(slot._wake, True)  # noqa: SLF001  # as the worker has it
    for _ in range(1 << 17):
        slot.kick()


def test_the_counters_of_a_dead_worker_are_not_those_of_the_next(slot: Slot) -> None:
    words(slot)[page.FIRST_COUNTER_WORD + USED] = 7
    words(slot)[page.HEARTBEAT_WORD] = 99
    slot.settle()
    slot.next_incarnation()
    assert slot.incarnation == 1
    assert not any(slot.counters)
    assert slot.heartbeat_ns == 0
    assert slot.taken == 0


def test_draining_is_told_to_whoever_has_the_page(slot: Slot) -> None:
    slot.drain()
    assert words(slot)[page.COMMAND_WORD] == page.DRAIN
    slot.next_incarnation()
    assert words(slot)[page.COMMAND_WORD] == page.DRAIN


def test_leaving_the_rest_is_told_to_whoever_has_the_page(slot: Slot) -> None:
    slot.leave()
    slot.next_incarnation()
    assert words(slot)[page.COMMAND_WORD] == page.LEAVE


def test_a_worker_cannot_tell_the_next_one_to_end_nor_what_to_read(slot: Slot) -> None:
    forge(slot)
    assert page.read_ports(words(slot)) == (0, Ports((), ()))
    slot.serve(PORTS)
    forge(slot)
    assert page.read_ports(words(slot)) == (1, PORTS)


def test_the_age_of_blocks_is_told_to_whoever_has_the_page(slot: Slot) -> None:
    forge(slot)
    assert words(slot)[page.BLOCK_AGE_WORD] == 0
    slot.hand_on_after(70)
    forge(slot)
    assert words(slot)[page.BLOCK_AGE_WORD] == 70


def forge(slot: Slot) -> None:
    """A worker writes what it likes to its page, and is followed by another."""
    words(slot)[page.COMMAND_WORD] = page.DRAIN
    page.write_ports(words(slot), Ports((1,), ()), 2**64 - 1)
    words(slot)[page.BLOCK_AGE_WORD] = 1
    slot.next_incarnation()
    assert words(slot)[page.COMMAND_WORD] == page.RUN


def test_a_successor_that_is_to_come_counts_as_wanted(slot: Slot) -> None:
    assert not slot.wanted
    slot.due = 1.0
    assert slot.wanted
    slot.due, slot.pid = None, 1
    assert slot.wanted


def test_ports_are_known_once_the_worker_says_so_and_to_whoever_comes_after_it(slot: Slot) -> None:
    slot.serve(PORTS)
    assert page.read_ports(words(slot)) == (1, PORTS)
    assert slot.knows_ports  # nobody reads the ring, and who will reads the page first
    slot.pid = 1
    assert not slot.knows_ports
    words(slot)[page.PORTS_KNOWN_WORD] = 1
    assert slot.knows_ports
    slot.next_incarnation()
    assert not slot.knows_ports


def test_what_a_worker_writes_over_the_version_of_its_ports_is_not_believed(slot: Slot) -> None:
    words(slot)[page.PORTS_VERSION_WORD] = 2**64 - 1
    slot.serve(PORTS)
    assert page.read_ports(words(slot)) == (1, PORTS)


def kicks(slot: Slot) -> int:
    """How often the worker was woken since it was last asked."""
    try:
        return len(os.read(slot._wake, 1000))  # noqa: SLF001  # as the worker has it
    except BlockingIOError:
        return 0


def test_a_worker_is_woken_at_once_where_packets_do_not_gather(slot: Slot) -> None:
    slot.noticed(5.0)
    assert (kicks(slot), slot.look_at) == (1, None)


def test_where_they_gather_it_is_looked_at_them_later_and_sooner_the_more_came(
    packet_socket: Socket, tmp_path: Path
) -> None:
    packet_socket.room = 6400
    slot = Slot(3, cast("Any", packet_socket), tmp_path, 0, Area(0, ""))
    slot.noticed(5.0)
    assert slot.look_at == pytest.approx(5.1)
    slot.noticed(5.05)
    assert slot.look_at == pytest.approx(5.1), "what is noticed later changes nothing"
    packet_socket.passes = [4000]
    slot.look(5.1)
    packet_socket.passes = [4000]
    slot.look(5.2)
    assert (kicks(slot), slot.look_at) == (2, None)
    slot.noticed(6.0)
    assert slot.look_at == pytest.approx(6.02), "800 packets at 40,000 a second"
    packet_socket.gathers, packet_socket.due_at = False, 7.0
    slot.look(6.02)
    assert (kicks(slot), slot.look_at) == (0, 7.0)


def test_packets_by_interface_add_up_over_processes_and_are_no_more_than_the_kernel_passed(
    slot: Slot, packet_socket: Socket
) -> None:
    packet_socket.passes = [100]
    slot.count()
    words(slot)[page.FIRST_INTERFACE_WORD + 3 : page.FIRST_INTERFACE_WORD + 6] = array.array("Q", [2, 30, 4])
    assert slot.interfaces == {2: (30, 4)}
    slot.next_incarnation()
    assert slot.interfaces == {2: (30, 4)}
    words(slot)[page.FIRST_INTERFACE_WORD : page.FIRST_INTERFACE_WORD + 6] = array.array(
        "Q", [9, 1, 1, 2, 5, 2**64 - 1]
    )
    assert slot.interfaces == {2: (35, 100), 9: (1, 1)}


def test_what_workers_know_of_connections_outlives_them_unless_they_fail_at_it(
    packet_socket: Socket, tmp_path: Path
) -> None:
    slot = Slot(3, cast("Any", packet_socket), tmp_path, 0, Area(1 << 16, "test"))
    memory = memoryview((ctypes.c_char * slot.checkpoint.size).from_address(slot.checkpoint.address)).cast("B")
    memory[:5] = b"known"
    slot.next_incarnation()
    assert os.pread(slot.checkpoint.fd, 5, 0) == b"known", "by its fd another capture process has it"
    slot.next_incarnation(afresh=True)
    assert bytes(memory) == bytes(1 << 16)


def test_nobody_changes_the_size_of_that_memory() -> None:
    area = Area(1 << 16, "test")
    for size in (0, 1 << 17):
        with pytest.raises(PermissionError):
            os.ftruncate(area.fd, size)
