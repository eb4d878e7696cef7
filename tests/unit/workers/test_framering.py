from __future__ import annotations

import ctypes
import mmap
import struct

import pytest

from tests.unit.workers.test_ring import START_NS, Client, Recorder
from workers import page
from workers.framering import FrameRing

BLOCK_BYTES, FRAME_BYTES = 4096, 1008  # four frames a block, and a rest
HEADER = struct.Struct("=3I2H2I2H4x")  # struct tpacket2_hdr
PACKET_AT = 80


class FrameMemory:
    """The memory of a TPACKET_V2 ring, in which the caller plays the kernel."""

    def __init__(self, block_count: int = 2) -> None:
        self.block_count = block_count
        self.count = block_count * (BLOCK_BYTES // FRAME_BYTES)
        self._memory = ctypes.create_string_buffer(BLOCK_BYTES * block_count)
        self.address = ctypes.addressof(self._memory)
        self.next = 0

    def place(self, number: int) -> int:
        block, frame = divmod(number, BLOCK_BYTES // FRAME_BYTES)
        return self.address + block * BLOCK_BYTES + frame * FRAME_BYTES

    def put(self, packet: bytes, time_ns: int = START_NS, *, mac: int = PACKET_AT, captured: int | None = None) -> None:
        """Fill the next frame as the kernel does."""
        at = self.place(self.next)
        assert not self.ready(self.next), "the ring is full"
        kept = len(packet) if captured is None else captured
        seconds, rest = divmod(time_ns, 1_000_000_000)
        ctypes.memmove(at + PACKET_AT, packet, len(packet))
        ctypes.memmove(at, HEADER.pack(1, len(packet), kept, mac, mac, seconds, rest, 0, 0), HEADER.size)
        self.next = (self.next + 1) % self.count

    def ready(self, number: int) -> bool:
        return bool(ctypes.c_uint32.from_address(self.place(number)).value & 1)

    def reader(self) -> FrameRing:
        return FrameRing(self.address, BLOCK_BYTES, self.block_count, FRAME_BYTES)


def test_packets_come_in_the_order_of_the_frames_round_and_round_with_their_times() -> None:
    memory, client, recorder = FrameMemory(), Client(), Recorder()
    ring = memory.reader()
    sent = []
    for number in range(50):
        sent.append(b"SELECT %d" % number)
        memory.put(client.query(sent[-1]).data, START_NS + number)
        if number % 3 == 0:
            assert ring.drain(recorder.pipeline, 8) == 1
    assert ring.drain(recorder.pipeline, 8) == 1
    assert recorder.sql == sent
    assert recorder.times == [START_NS + number for number in range(50)]
    assert not any(memory.ready(number) for number in range(memory.count))
    assert ring.drain(recorder.pipeline, 8) == 0
    assert ring.corrupt == 0


@pytest.mark.parametrize("read_before", range(9))
@pytest.mark.parametrize("waiting", [1, 3, 8])
def test_a_reader_goes_on_where_the_one_before_it_stopped(read_before: int, waiting: int) -> None:
    memory, client, recorder = FrameMemory(), Client(), Recorder()
    first = memory.reader()
    for number in range(read_before):
        memory.put(client.query(b"SELECT 0").data, START_NS + number)
        first.drain(recorder.pipeline, 8)
    recorder.collect()
    second, left = memory.reader(), Recorder()
    second.resume()
    assert second.drain(left.pipeline, 8) == 0
    for number in range(waiting):
        memory.put(client.query(b"SELECT %d" % number).data, START_NS + 100 + number)
    second.drain(left.pipeline, 8)
    assert left.taken == waiting
    memory.put(client.query(b"SELECT 'more'").data, START_NS + 200)
    assert second.drain(left.pipeline, 8) == 1
    assert left.times == [*(START_NS + 100 + number for number in range(waiting)), START_NS + 200]


@pytest.mark.parametrize(("mac", "captured"), [(80, 1008 - 79), (8, 60), (1008, 1), (80, 0xFFFFFFFF), (0xFFFF, 0)])
def test_a_packet_that_leaves_its_frame_is_counted_and_the_next_one_read(mac: int, captured: int) -> None:
    memory, client, recorder = FrameMemory(), Client(), Recorder()
    memory.put(b"", mac=mac, captured=captured)
    memory.put(client.query(b"SELECT 1").data)
    ring = memory.reader()
    assert ring.drain(recorder.pipeline, 8) == 1
    assert ring.corrupt == 1
    assert recorder.pipeline.counters()["packets_malformed"] == 1
    assert recorder.sql == [b"SELECT 1"]


def test_a_packet_may_end_with_its_frame() -> None:
    memory, recorder = FrameMemory(), Recorder()
    memory.put(bytes(FRAME_BYTES - PACKET_AT))
    ring = memory.reader()
    ring.drain(recorder.pipeline, 8)
    assert (recorder.taken, ring.corrupt) == (1, 0)


def test_no_more_is_taken_than_was_asked_for() -> None:
    memory, client, recorder = FrameMemory(block_count=40), Client(), Recorder()
    for number in range(130):
        memory.put(client.query(b"SELECT %d" % number).data)
    ring = memory.reader()
    assert ring.drain(recorder.pipeline, 0) == 0
    assert ring.drain(recorder.pipeline, 1) == 1
    assert recorder.taken == 64
    assert ring.drain(recorder.pipeline, 8) == 2
    assert recorder.taken == 130


def test_packets_are_counted_by_the_interface_that_their_address_names_and_turns_that_tell_of_drops() -> None:
    memory, client, recorder = FrameMemory(), Client(), Recorder()
    ring = memory.reader()
    for index, kind in ((3, 0), (3, 4), (1, 0)):
        at = memory.place(memory.next)
        ctypes.memmove(at + HEADER.size, struct.pack("=HHiHBB8s", 17, 8, index, 1, kind, 6, bytes(8)), 20)
        memory.put(client.query(b"SELECT 1").data)
    ctypes.c_uint32.from_address(memory.place(1)).value |= 4  # TP_STATUS_LOSING
    ring.drain(recorder.pipeline, 8)
    words = memoryview(bytearray(mmap.PAGESIZE)).cast("Q")
    recorder.pipeline.arrivals.store(words[page.INTERFACE_WORDS])
    assert page.read_interfaces(words) == {3: (1, 1), 1: (1, 0)}
    assert recorder.pipeline.counters()["blocks_losing"] == 1
