from __future__ import annotations

import ctypes
import socket
import struct
from collections.abc import Iterator

import pytest

from collector.capture import rings
from tests.unit.workers.test_ring import Client, Recorder
from workers.ring import Ring
from workers.softring import SoftRing

BLOCK_BYTES, BLOCKS = 4096, 4
TIMEOUT_NS = 1000
_SO_TIMESTAMPNS = 35


class Sockets:
    """A socket whose packets go into a ring, and the end that sends them."""

    def __init__(self, receiving: socket.socket, sending: socket.socket) -> None:
        self.around = ctypes.create_string_buffer(b"\x5a" * (BLOCK_BYTES * (BLOCKS + 2)))
        self.address = ctypes.addressof(self.around) + BLOCK_BYTES
        self.memory = (ctypes.c_char * (BLOCK_BYTES * BLOCKS)).from_address(self.address)
        ctypes.memset(self.address, 0, BLOCK_BYTES * BLOCKS)
        self._receiving, self._sending = receiving, sending
        self.ring = SoftRing(receiving.fileno(), self.address, BLOCK_BYTES, BLOCKS, TIMEOUT_NS)
        self.reader = Ring(self.address, BLOCK_BYTES, BLOCKS)

    def send(self, packet: bytes) -> None:
        self._sending.send(packet)

    def waiting(self) -> int:
        return self.ring.waiting + rings.waiting(memoryview(self.memory).cast("B"), BLOCK_BYTES, BLOCKS)


@pytest.fixture
def sockets() -> Iterator[Sockets]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with ours, theirs:
        yield Sockets(ours, theirs)


def test_packets_come_out_of_the_ring_as_they_went_into_the_socket(sockets: Sockets) -> None:
    client, recorder = Client(), Recorder()
    sent = []
    for number in range(500):
        sent.append(b"SELECT %d" % number)
        sockets.send(client.query(sent[-1]).data)
        if number % 7 == 0:
            sockets.ring.gather(number * TIMEOUT_NS)
            sockets.ring.gather((number + 1) * TIMEOUT_NS)
            sockets.reader.drain(recorder.pipeline, BLOCKS)
    sockets.ring.gather(10**9)
    sockets.ring.gather(2 * 10**9)
    sockets.reader.drain(recorder.pipeline, BLOCKS)
    assert recorder.sql == sent
    assert sockets.ring.received == 500
    assert (sockets.waiting(), sockets.reader.corrupt, sockets.ring.freezes) == (0, 0, 0)


def test_a_block_is_handed_over_when_it_is_old_and_not_before(sockets: Sockets) -> None:
    recorder = Recorder()
    assert sockets.ring.due_ns() is None
    assert not sockets.ring.gather(50)
    sockets.send(Client().query(b"SELECT 1").data)
    assert not sockets.ring.gather(100)
    assert sockets.ring.due_ns() == 100 + TIMEOUT_NS
    assert not sockets.ring.gather(99 + TIMEOUT_NS)
    assert sockets.reader.drain(recorder.pipeline, BLOCKS) == 0
    assert sockets.waiting() == 1
    assert sockets.ring.gather(100 + TIMEOUT_NS)
    assert sockets.ring.due_ns() is None
    assert sockets.reader.drain(recorder.pipeline, BLOCKS) == 1
    assert recorder.sql == [b"SELECT 1"]


def test_a_block_is_handed_over_when_it_is_full(sockets: Sockets) -> None:
    for _ in range(5):
        sockets.send(bytes(1000))
    assert sockets.ring.gather(0)
    assert sockets.reader.drain(Recorder().pipeline, BLOCKS) == 1


def test_where_no_block_is_free_packets_wait_and_none_is_lost(sockets: Sockets) -> None:
    recorder = Recorder()
    for _ in range(18):  # three a block
        sockets.send(bytes(1200))
    assert sockets.ring.gather(0)
    assert sockets.ring.frozen
    assert sockets.ring.freezes == 1
    assert (sockets.ring.received, sockets.waiting()) == (18, 18)
    assert not sockets.ring.gather(10 * TIMEOUT_NS), "there was no room still"
    assert sockets.ring.freezes == 1
    sockets.reader.drain(recorder.pipeline, BLOCKS)
    sockets.ring.gather(20 * TIMEOUT_NS)
    sockets.ring.gather(30 * TIMEOUT_NS)
    sockets.reader.drain(recorder.pipeline, BLOCKS)
    assert (recorder.taken, sockets.waiting(), sockets.ring.frozen) == (18, 0, False)


@pytest.mark.parametrize("rounds", range(6))
def test_another_reader_takes_over_where_the_one_before_it_stopped(sockets: Sockets, rounds: int) -> None:
    client = Client()
    for _ in range(rounds):
        sockets.send(client.query(b"SELECT 0").data)
        sockets.ring.gather(0)
        sockets.ring.gather(TIMEOUT_NS)
        sockets.reader.drain(Recorder().pipeline, BLOCKS)
    recorder, reader = Recorder(), Ring(sockets.address, BLOCK_BYTES, BLOCKS)
    reader.resume()
    sockets.send(client.query(b"SELECT 1").data)
    sockets.ring.gather(0)
    sockets.ring.gather(TIMEOUT_NS)
    assert reader.drain(recorder.pipeline, BLOCKS) == 1
    assert recorder.sql == [b"SELECT 1"]


def test_whatever_a_reader_writes_to_the_ring_the_writer_stays_in_it(sockets: Sockets) -> None:
    for pattern in (0xFF, 0, 0xA5):
        for at in range(0, BLOCK_BYTES * BLOCKS, 4):
            ctypes.memset(sockets.address + at, pattern, 4)
        for _ in range(40):
            sockets.send(bytes(1000))
        sockets.ring.gather(0)
        sockets.ring.gather(TIMEOUT_NS)
    assert sockets.ring.received > 0
    around = sockets.around.raw
    assert set(around[:BLOCK_BYTES] + around[BLOCK_BYTES * (1 + BLOCKS) : BLOCK_BYTES * (2 + BLOCKS)]) == {0x5A}


def test_a_packet_longer_than_a_block_is_cut_to_what_fits(sockets: Sockets) -> None:
    sockets.send(bytes(BLOCK_BYTES * 2))
    sockets.ring.gather(0)
    sockets.ring.gather(TIMEOUT_NS)
    _, _, _, packets, first, length, sequence = struct.unpack_from("=6IQ", sockets.memory, 0)
    captured = struct.unpack_from("=I", sockets.memory, first + 12)[0]
    assert (packets, sequence) == (1, 1)
    assert BLOCK_BYTES - 256 < captured < length <= BLOCK_BYTES


def test_the_stamp_of_the_kernel_is_kept_in_nanoseconds() -> None:
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiving,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sending,
    ):
        receiving.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        receiving.bind(("127.0.0.1", 0))
        sending.connect(receiving.getsockname())
        made = Sockets(receiving, sending)
        made.send(b"one")
        _, control, _, _ = receiving.recvmsg(16, 256, socket.MSG_PEEK)
        made.ring.gather(0)
        stamp = struct.unpack_from("=II", made.memory, 48 + 4)
        assert stamp == struct.unpack("=QQ", control[0][2])


def test_an_error_of_the_socket_is_raised(sockets: Sockets) -> None:
    broken = SoftRing(-1, sockets.address, BLOCK_BYTES, BLOCKS, TIMEOUT_NS)
    with pytest.raises(OSError, match="recvmmsg"):
        broken.gather(0)
