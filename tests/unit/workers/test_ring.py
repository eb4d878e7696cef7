from __future__ import annotations

import ctypes
import mmap
import struct

import pytest

from tests.support import packets
from tests.support.packets import BLOCK_HEADER, FRAME_HEADER, Captured, Connection, RingMemory, block, frame
from workers import page
from workers.pipeline import Pipeline
from workers.records import statements
from workers.ring import Ring
from workers.settings import Settings

START_NS = 1_700_000_000_000_000_000


class Recorder:
    """A pipeline, and the statements that reached it."""

    def __init__(self) -> None:
        self.pipeline = Pipeline(0, 0, Settings(ports=(packets.SERVER_PORT,), responses="none"))
        self._found: list[tuple[int, bytes]] = []

    def collect(self) -> int:
        """Take the block as it is; how many statements it holds."""
        _, body = self.pipeline.take_block(START_NS)
        found = [(each.time_ns, each.sql or b"") for each in statements(body)] if body else []
        self._found += found
        return len(found)

    @property
    def sql(self) -> list[bytes]:
        """The statements' texts in the order in which they came."""
        self.collect()
        return [sql for _, sql in self._found]

    @property
    def times(self) -> list[int]:
        """When they were captured."""
        self.collect()
        return [time_ns for time_ns, _ in self._found]

    @property
    def taken(self) -> int:
        """How many packets came, whatever they were."""
        return sum(value for name, value in self.pipeline.counters().items() if name.startswith("packets_"))


class Client:
    """A connection that is open, whose queries come one packet each."""

    def __init__(self) -> None:
        self._connection = Connection()
        self._time_ns = START_NS

    def query(self, sql: bytes) -> Captured:
        payload = struct.pack("<I", len(sql) + 1) + b"\x03" + sql  # COM_QUERY, the first of its sequence
        self._time_ns += 1
        return Captured(self._connection.client(payload), self._time_ns)


def reader(memory: RingMemory) -> Ring:
    return Ring(memory.address, memory.block_bytes, memory.block_count)


def test_packets_come_in_the_order_of_the_ring_with_their_times() -> None:
    memory, client, recorder = RingMemory(), Client(), Recorder()
    memory.put([client.query(b"SELECT 1"), client.query(b"SELECT 2")])
    memory.put([client.query(b"SELECT 3")])
    assert reader(memory).drain(recorder.pipeline, 8) == 2
    assert recorder.sql == [b"SELECT 1", b"SELECT 2", b"SELECT 3"]
    assert recorder.times == [START_NS + 1, START_NS + 2, START_NS + 3]


def test_the_largest_time_of_a_frame_is_after_1970() -> None:
    memory, client, recorder = RingMemory(), Client(), Recorder()
    late = 0xFFFFFFFF * 1_000_000_000 + 999_999_999
    memory.put([client.query(b"SELECT 1")._replace(time_ns=late)])
    reader(memory).drain(recorder.pipeline, 8)
    assert recorder.times == [late]


def test_a_snapped_packet_keeps_its_length_on_the_wire() -> None:
    memory, client, recorder = RingMemory(), Client(), Recorder()
    whole = client.query(b"SELECT 1 /* " + b"x" * 100_000 + b"*/").data[:60]  # BIG TCP
    memory.put([Captured(whole, START_NS, 100_060)])
    reader(memory).drain(recorder.pipeline, 8)
    counters = recorder.pipeline.counters()
    assert (counters["frames_snapped"], counters["gap_bytes"]) == (1, 100_000)


def test_an_empty_ring_gives_nothing_and_waits_for_nothing() -> None:
    memory, recorder = RingMemory(), Recorder()
    assert reader(memory).drain(recorder.pipeline, 8) == 0
    assert recorder.taken == 0


def test_a_block_without_packets_is_taken_and_given_back() -> None:
    memory, client, recorder = RingMemory(), Client(), Recorder()
    ring = reader(memory)
    memory.put([])
    assert ring.drain(recorder.pipeline, 8) == 1
    assert not memory.ready(0)
    memory.put([client.query(b"SELECT 1")])
    assert ring.drain(recorder.pipeline, 8) == 1
    assert recorder.sql == [b"SELECT 1"]
    assert ring.corrupt == 0


def test_no_more_blocks_are_taken_than_were_asked_for() -> None:
    memory, client, recorder = RingMemory(), Client(), Recorder()
    ring = reader(memory)
    for number in range(4):
        memory.put([client.query(b"SELECT %d" % number)])
    assert ring.drain(recorder.pipeline, 0) == 0
    assert ring.drain(recorder.pipeline, 3) == 3
    assert [memory.ready(index) for index in range(4)] == [False, False, False, True]
    assert ring.drain(recorder.pipeline, 3) == 1
    assert len(recorder.sql) == 4


def test_the_reader_goes_round_and_round() -> None:
    memory, client, recorder = RingMemory(block_count=3), Client(), Recorder()
    ring = reader(memory)
    sent = []
    for number in range(20):
        sent.append(b"SELECT %d" % number)
        memory.put([client.query(sent[-1])])
        if number % 2:
            assert ring.drain(recorder.pipeline, 8) == 2
    assert recorder.sql == sent


def test_blocks_that_are_not_next_wait_for_the_one_that_is() -> None:
    memory, client, recorder = RingMemory(), Client(), Recorder()
    memory.write(1, block([client.query(b"SELECT 1")], sequence=2))
    assert reader(memory).drain(recorder.pipeline, 8) == 0
    assert memory.ready(1)


def test_a_ring_of_one_block_is_a_ring() -> None:
    memory, client, recorder = RingMemory(block_count=1), Client(), Recorder()
    ring = reader(memory)
    for number in range(3):
        memory.put([client.query(b"SELECT %d" % number)])
        assert ring.drain(recorder.pipeline, 8) == 1
    assert len(recorder.sql) == 3


# --- a pipeline that is full


def full_ring() -> tuple[RingMemory, list[bytes]]:
    """A ring whose first block holds more than a block of statements takes, and its second one a little."""
    memory, client = RingMemory(block_bytes=2 << 20), Client()
    texts = [b"SELECT '%06d%s'" % (number, b"x" * 60_000) for number in range(30)]
    memory.put([client.query(text) for text in texts])
    memory.put([client.query(b"SELECT 'last'")])
    return memory, [*texts, b"SELECT 'last'"]


def test_reading_stops_inside_a_block_where_the_pipeline_is_full_and_goes_on_there() -> None:
    memory, sent = full_ring()
    ring, recorder = reader(memory), Recorder()
    assert ring.drain(recorder.pipeline, 8) == 1
    assert recorder.pipeline.full
    assert 0 < recorder.taken < 30
    rounds = 0
    while recorder.pipeline.full:
        recorder.collect()
        ring.drain(recorder.pipeline, 8)
        rounds += 1
    assert rounds >= 2
    assert recorder.sql == sent
    assert recorder.taken == len(sent)


def test_what_is_left_of_a_block_is_the_readers_own_copy() -> None:
    memory, sent = full_ring()
    ring, recorder = reader(memory), Recorder()
    ring.drain(recorder.pipeline, 8)
    assert not memory.ready(0), "the kernel has it back already"
    memory.write(0, b"\xee" * (1 << 20))
    while recorder.pipeline.full:
        recorder.collect()
        ring.drain(recorder.pipeline, 8)
    assert recorder.sql == sent
    assert ring.corrupt == 0


# --- a reader that comes after another


@pytest.mark.parametrize("given_back", range(9))
@pytest.mark.parametrize("ready", [1, 3, 4])
def test_a_reader_that_resumes_begins_with_the_oldest_block_not_given_back(given_back: int, ready: int) -> None:
    memory, client = RingMemory(), Client()
    first = reader(memory)
    for _ in range(given_back):
        memory.put([client.query(b"SELECT 'before'")])
        first.drain(Recorder().pipeline, 1)
    sent = [b"SELECT %d" % number for number in range(ready)]
    for text in sent:
        memory.put([client.query(text)])
    second, recorder = reader(memory), Recorder()
    second.resume()
    assert second.drain(recorder.pipeline, 8) == ready
    assert recorder.sql == sent


def opened(sequence: int) -> bytes:
    """A block that the kernel has begun to fill."""
    content = bytearray(block([], sequence=sequence))
    content[8:12] = bytes(4)  # TP_STATUS_KERNEL
    return bytes(content)


@pytest.mark.parametrize("blocks", range(10))
def test_where_all_was_given_back_a_reader_resumes_at_the_block_being_filled(blocks: int) -> None:
    memory, client = RingMemory(), Client()
    first = reader(memory)
    for _ in range(blocks):
        memory.put([client.query(b"SELECT 'before'")])
        first.drain(Recorder().pipeline, 1)
    filling = blocks % memory.block_count
    memory.write(filling, opened(blocks + 1))
    second, recorder = reader(memory), Recorder()
    second.resume()
    assert second.drain(recorder.pipeline, 8) == 0
    memory.put([client.query(b"SELECT 'after'")])
    assert second.drain(recorder.pipeline, 8) == 1
    assert recorder.sql == [b"SELECT 'after'"]


def test_a_block_that_the_kernel_closes_while_a_reader_looks_for_its_place_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    memory, client, recorder = RingMemory(), Client(), Recorder()
    memory.put([client.query(b"SELECT 'before'")])
    reader(memory).drain(Recorder().pipeline, 1)
    memory.write(1, opened(2))
    read = ctypes.string_at
    meanwhile = [block([client.query(b"SELECT 'meanwhile'")], sequence=2), opened(3)]

    def read_while_the_kernel_goes_on(address: int, size: int) -> bytes:
        data = read(address, size)
        if address == memory.address + memory.block_bytes and meanwhile:
            memory.write(1, meanwhile.pop(0))
            memory.write(2, meanwhile.pop(0))
        return data

    ring = reader(memory)
    with monkeypatch.context() as patch:
        patch.setattr(ctypes, "string_at", read_while_the_kernel_goes_on)
        ring.resume()
    assert not meanwhile
    assert ring.drain(recorder.pipeline, 8) == 1
    assert recorder.sql == [b"SELECT 'meanwhile'"]


def test_a_reader_resumes_at_the_start_of_a_ring_that_was_never_used() -> None:
    memory, client, recorder = RingMemory(), Client(), Recorder()
    ring = reader(memory)
    ring.resume()
    memory.put([client.query(b"SELECT 1")])
    assert ring.drain(recorder.pipeline, 8) == 1


def test_the_oldest_block_is_found_by_all_64_bits_of_its_number() -> None:
    memory, client, recorder = RingMemory(), Client(), Recorder()
    for index, sequence in enumerate((2**64 - 2, 2**64 - 1, 2**63, 2**64 - 3)):
        memory.write(index, block([client.query(b"SELECT %d" % index)], sequence=sequence))
    ring = reader(memory)
    ring.resume()
    ring.drain(recorder.pipeline, 1)
    assert recorder.sql == [b"SELECT 2"]


# --- blocks that lie


LIES = [
    pytest.param({"first": 0xFFFFFFFF}, id="the first frame lies far outside"),
    pytest.param({"first": 4096}, id="the first frame lies right behind the block"),
    pytest.param({"count": 3}, id="there are fewer frames than it says"),
    pytest.param({"count": 0xFFFFFFFF}, id="there are fewer frames than the largest number"),
]


@pytest.mark.parametrize("claims", LIES)
def test_a_block_that_lies_about_its_frames_is_counted_as_corrupt(claims: dict[str, int]) -> None:
    memory, client, recorder = RingMemory(), Client(), Recorder()
    memory.write(0, block([client.query(b"SELECT 1"), client.query(b"SELECT 2")], **claims))
    memory.write(1, block([client.query(b"SELECT 3")]))
    ring = reader(memory)
    assert ring.drain(recorder.pipeline, 8) == 2, "the next block is read all the same"
    assert ring.corrupt == 1
    assert recorder.sql[-1] == b"SELECT 3"
    assert recorder.pipeline.counters()["packets_used"] <= 3
    assert not memory.ready(0)


def with_frames(*frames: bytes, count: int | None = None, length: int | None = None) -> bytes:
    """A block of *frames* as they are; *length* is the size that it claims."""
    content = b"".join(frames)
    head = bytearray(block([], count=len(frames) if count is None else count))
    struct.pack_into("=I", head, 20, BLOCK_HEADER + len(content) if length is None else length)
    return bytes(head) + content


SOUND = Captured(packets.ipv4(packets.tcp(b"ab")), START_NS)

BAD_FRAMES = [
    pytest.param([frame(SOUND, step=0, captured=0xFFFFFFFF)], 0, id="a packet of 4 GiB"),
    pytest.param([frame(SOUND, step=0, captured=len(SOUND.data) + 1)], 0, id="a packet one byte too long"),
    pytest.param([frame(SOUND, step=0, at=0xFFFF)], 0, id="a packet far behind its header"),
    pytest.param([frame(SOUND, step=0)[:20]], 0, id="half a header"),
    pytest.param([frame(SOUND, step=0), frame(SOUND, step=0)], 1, id="a frame without successor before another"),
    pytest.param([frame(SOUND, step=0xFFFFFFFF), frame(SOUND, step=0)], 1, id="a successor far outside"),
]


@pytest.mark.parametrize(("frames", "sound"), BAD_FRAMES)
def test_a_frame_that_leaves_its_block_ends_it_and_is_counted(frames: list[bytes], sound: int) -> None:
    memory, recorder = RingMemory(), Recorder()
    memory.write(0, with_frames(*frames))
    ring = reader(memory)
    assert ring.drain(recorder.pipeline, 8) == 1
    assert ring.corrupt == 1
    counted = recorder.pipeline.counters()
    assert counted["packets_malformed"] == len(frames) - sound
    assert recorder.taken == len(frames)
    assert ring.drain(recorder.pipeline, 8) == 0


def test_a_packet_may_end_with_its_block() -> None:
    memory, recorder = RingMemory(), Recorder()
    memory.write(0, with_frames(frame(SOUND, step=0)))
    ring = reader(memory)
    ring.drain(recorder.pipeline, 8)
    assert (recorder.taken, ring.corrupt) == (1, 0)


def test_frames_that_overlap_end_with_the_block() -> None:
    memory, recorder = RingMemory(), Recorder()
    memory.write(0, with_frames(b"\x01\x00\x00\x00" * 256, count=0xFFFFFFFF))
    ring = reader(memory)
    assert ring.drain(recorder.pipeline, 8) == 1
    assert ring.corrupt == 1
    assert recorder.taken <= 1024


def test_a_block_that_claims_to_be_longer_than_a_block_is_read_to_its_end_only() -> None:
    memory, client, recorder = RingMemory(), Client(), Recorder()
    memory.write(0, with_frames(frame(client.query(b"SELECT 1"), step=0), length=0xFFFFFFFF))
    memory.write(1, with_frames(frame(SOUND, step=0, captured=4096), length=0xFFFFFFFF))
    ring = reader(memory)
    assert ring.drain(recorder.pipeline, 8) == 2
    assert recorder.sql == [b"SELECT 1"]
    assert ring.corrupt == 1


@pytest.mark.parametrize("length", [0, 1, BLOCK_HEADER - 1])
def test_a_block_too_short_for_its_own_header_is_counted_as_corrupt(length: int) -> None:
    memory, client, recorder = RingMemory(), Client(), Recorder()
    memory.write(0, with_frames(frame(SOUND, step=0), length=length))
    memory.write(1, block([client.query(b"SELECT 1")]))
    ring = reader(memory)
    assert ring.drain(recorder.pipeline, 8) == 2
    assert ring.corrupt == 1
    assert recorder.sql == [b"SELECT 1"]


def test_frames_beyond_the_number_a_block_tells_are_not_read() -> None:
    memory, client, recorder = RingMemory(), Client(), Recorder()
    memory.write(0, block([client.query(b"SELECT 1"), client.query(b"SELECT 2")], count=1))
    reader(memory).drain(recorder.pipeline, 8)
    assert recorder.sql == [b"SELECT 1"]


def test_a_block_of_nothing_but_ones_is_survived() -> None:
    memory, recorder = RingMemory(), Recorder()
    memory.write(0, b"\xff" * 4096)
    ring = reader(memory)
    assert ring.drain(recorder.pipeline, 8) == 1
    assert ring.corrupt == 1
    counted = recorder.pipeline.counters()
    assert counted["packets_malformed"] == recorder.taken == 4096 // 48, "as many as could have been in it"


def addressed(packet: Captured, step: int, interface: int, kind: int) -> bytes:
    """A frame as the kernel lays it out, with struct sockaddr_ll between header and packet."""
    whole = frame(packet, step=step, at=96)
    address = struct.pack("=HHiHBB8s", 17, 8, interface, 1, kind, 6, bytes(8))
    return whole[:FRAME_HEADER] + address.ljust(96 - FRAME_HEADER, b"\0") + whole[FRAME_HEADER:]


def interfaces(recorder: Recorder) -> dict[int, tuple[int, int]]:
    words = memoryview(bytearray(mmap.PAGESIZE)).cast("Q")
    recorder.pipeline.arrivals.store(words[page.INTERFACE_WORDS])
    return page.read_interfaces(words)


def test_packets_are_counted_by_the_interface_that_their_address_names() -> None:
    memory, recorder = RingMemory(), Recorder()
    step = (96 + len(SOUND.data) + 7) & ~7
    frames = [addressed(SOUND, step, 3, 0), addressed(SOUND, step, 3, 4), addressed(SOUND, 0, 1, 0)]
    content = b"".join(one.ljust(step, b"\0") for one in frames)
    head = bytearray(packets.block([SOUND] * 3)[:BLOCK_HEADER])
    struct.pack_into("=I", head, 20, BLOCK_HEADER + len(content))
    memory.write(0, bytes(head) + content)
    Ring(memory.address, memory.block_bytes, memory.block_count).drain(recorder.pipeline, 1)
    assert interfaces(recorder) == {3: (1, 1), 1: (1, 0)}


def test_packets_without_an_address_are_counted_as_others() -> None:
    memory, recorder = RingMemory(), Recorder()
    memory.put([SOUND])
    Ring(memory.address, memory.block_bytes, memory.block_count).drain(recorder.pipeline, 1)
    assert interfaces(recorder) == {0: (1, 0)}


def test_a_block_that_says_the_kernel_dropped_packets_is_counted() -> None:
    memory, recorder = RingMemory(), Recorder()
    ring = Ring(memory.address, memory.block_bytes, memory.block_count)
    for status in (1, 1 | 4, 1 | 4 | 32):
        content = bytearray(block([SOUND]))
        struct.pack_into("=I", content, 8, status)
        memory.write(ring_next := recorder.taken, bytes(content))
        assert ring.drain(recorder.pipeline, 1) == 1, ring_next
    assert recorder.pipeline.counters()["blocks_losing"] == 2
