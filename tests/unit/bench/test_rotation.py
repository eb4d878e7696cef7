"""Traffic that is sent round and round stays valid TCP, and no connection has two statements open."""

from __future__ import annotations

import struct

from bench import frames
from bench.rotation import Rotation
from bench.traffic import Traffic, Workload, generate

TCP_AT = frames.ETHERNET_BYTES + frames.IP_BYTES


def turn(rotation: Rotation, wanted: int) -> list[bytes]:
    """One whole turn, in batches of at most *wanted*, as it would be sent: statements, then their answers."""
    sent: list[bytes] = []
    at = 0
    while at < len(rotation):
        count = rotation.batch(at, wanted)
        rotation.stamp(at, count)
        for buffer, starts in ((rotation.requests, rotation.requests_at), (rotation.answers, rotation.answers_at)):
            sent += [bytes(buffer[starts[n] : starts[n + 1]]) for n in range(at, at + count)]
        at += count
    return sent


def numbers(data: bytes) -> tuple[int, int]:
    sequence, acknowledged = struct.unpack_from("!II", data, frames.SEQUENCE_AT)
    return sequence, acknowledged


def test_the_first_turn_is_the_workload_as_generated() -> None:
    traffic = generate(Workload(80, connections=8))
    sent = turn(Rotation(traffic), wanted=1)
    assert sent == [frame for exchange in traffic.exchanges for frame in (exchange.request, exchange.answer)]


def test_later_turns_and_the_closing_go_on_where_the_turn_before_ended() -> None:
    rotation = Rotation(generate(Workload(80, connections=8)))
    sent = [frame.data for frame in rotation.opening()]
    sent += turn(rotation, wanted=3) + turn(rotation, wanted=5)
    sent += [frame.data for frame in rotation.closing()]
    following: dict[bytes, int] = {}
    for data in sent:
        direction = data[TCP_AT : TCP_AT + 4]
        sequence, acknowledged = numbers(data)
        flags = data[TCP_AT + 13]
        assert following.get(direction, sequence) == sequence
        if flags & frames.ACK:
            assert acknowledged == following[direction[2:] + direction[:2]]
        payload = len(data) - TCP_AT - (data[TCP_AT + 12] >> 4) * 4
        moved = payload + (1 if flags & (frames.SYN | frames.FIN) else 0)
        following[direction] = (sequence + moved) & 0xFFFFFFFF
    assert len(following) == 16


def test_a_batch_has_no_connection_twice_and_ends_with_the_turn() -> None:
    traffic: Traffic = generate(Workload(80, connections=8))
    rotation = Rotation(traffic)
    at = 0
    while at < len(rotation):
        count = rotation.batch(at, 5)
        assert 1 <= count <= 5
        batch = [exchange.connection for exchange in traffic.exchanges[at : at + count]]
        assert len(set(batch)) == count
        at += count
    assert at == len(rotation)


def test_sequence_numbers_wrap_at_32_bits() -> None:
    traffic = generate(Workload(8, connections=1))
    rotation = Rotation(traffic)
    start, _ = numbers(traffic.exchanges[0].request)
    each = sum(len(exchange.request) - frames.HEADER_BYTES for exchange in traffic.exchanges)
    for turns in range(3):
        assert numbers(turn(rotation, wanted=1)[0])[0] == (start + turns * each) & 0xFFFFFFFF
