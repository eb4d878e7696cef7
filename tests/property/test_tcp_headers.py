"""Headers that are damaged in any way are read within their bounds, or refused."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.packets import Captured, RingMemory, block, extension, ipv4, ipv6, tcp
from workers.packet import FRAGMENT, MALFORMED, NOT_TCP, TCP, Packet
from workers.pipeline import Pipeline
from workers.ring import Ring
from workers.settings import Settings

SEGMENT = tcp(b"\x09\0\0\0\x03SELECT 1", options=bytes(12))
SOUND = [
    ipv4(SEGMENT),
    ipv4(SEGMENT, options=bytes(8)),
    ipv4(SEGMENT, length=0),
    ipv6(SEGMENT),
    ipv6(SEGMENT, following=0, extensions=extension(43) + extension(60, 16) + extension(6)),
    ipv6(SEGMENT, length=0),
]
CHANGES = st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=6)


def damaged(content: bytes, changes: list[tuple[int, int]]) -> bytes:
    changed = bytearray(content)
    for place, value in changes:
        changed[place % len(changed)] = value
    return bytes(changed)


@given(
    st.one_of(st.builds(damaged, st.sampled_from(SOUND), CHANGES), st.binary(max_size=120)),
    st.integers(0, 120),
    st.integers(0, 200),
    st.binary(max_size=9),
)
@settings(max_examples=500)
def test_what_is_read_of_a_packet_lies_inside_it(data: bytes, cut: int, more: int, before: bytes) -> None:
    data = data[:cut] if cut < 100 else data
    at, end = len(before), len(before) + len(data)
    wire_length = len(data) + more
    packet = Packet()
    found = packet.decode(before + data + b"\xff" * 80, at, end, wire_length)
    assert found in {TCP, NOT_TCP, FRAGMENT, MALFORMED}
    if found == TCP:
        assert at <= packet.payload <= packet.payload_end <= end
        assert packet.missing >= 0
        assert packet.payload_end - at + packet.missing <= wire_length
        alone = Packet()
        assert alone.decode(data, 0, len(data), wire_length) == TCP, "what lies around a packet does not matter"
        assert (alone.payload + at, alone.missing) == (packet.payload, packet.missing)
        assert (alone.sequence, alone.source_port) == (packet.sequence, packet.source_port)


@given(
    st.lists(st.sampled_from(SOUND), max_size=4), CHANGES, st.lists(st.tuples(st.integers(0, 79), st.integers(0, 255)))
)
def test_a_damaged_block_is_read_within_its_bounds_and_given_back(
    sent: list[bytes], changes: list[tuple[int, int]], lies: list[tuple[int, int]]
) -> None:
    memory = RingMemory(block_bytes=1024, block_count=2)
    content = bytearray(damaged(damaged(block([Captured(data, 1) for data in sent]), changes), lies))
    content[8:12] = b"\x01\0\0\0"  # TP_STATUS_USER
    memory.write(0, bytes(content))
    pipeline = Pipeline(0, 0, Settings(ports=(3306,)))
    ring = Ring(memory.address, memory.block_bytes, memory.block_count)
    assert ring.drain(pipeline, 8) == 1
    assert not memory.ready(0)
    taken = sum(value for name, value in pipeline.counters().items() if name.startswith("packets_"))
    assert taken <= 1024
    assert ring.corrupt <= 1
