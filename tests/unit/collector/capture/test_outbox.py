from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from collector.capture.outbox import Outbox
from collector.channel import Statistics, Traffic, unpack
from collector.outlet import Inherited


def record(packets: int, *, ended: bool = False) -> Statistics:
    return Statistics(worker=0, incarnation=0, ended=ended, kernel_passed=packets)


@pytest.fixture
def pair() -> Iterator[tuple[Outbox, socket.socket]]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    theirs.setblocking(False)
    with theirs:
        outbox = Outbox(Inherited(ours.detach()))
        yield outbox, theirs
        outbox.close()


def received(channel: socket.socket) -> list[int]:
    found: list[int] = []
    while True:
        try:
            one = unpack(channel.recv(1000))
        except BlockingIOError:
            return found
        assert isinstance(one, Statistics | Traffic)
        found.append(one.kernel_passed if isinstance(one, Statistics) else one.incoming)


def test_records_arrive_one_a_message_and_in_order(pair: tuple[Outbox, socket.socket]) -> None:
    outbox, theirs = pair
    for number in range(3):
        outbox.send(record(number))
    assert received(theirs) == [0, 1, 2]


def test_without_room_a_plain_record_is_dropped_and_an_ended_one_is_kept_and_sent_first(
    pair: tuple[Outbox, socket.socket],
) -> None:
    outbox, theirs = pair
    for number in range(5_000):
        outbox.send(record(number))
    assert outbox.waiting == 0
    outbox.send(record(10_000, ended=True))
    outbox.send(record(10_001))
    assert outbox.waiting == 1
    assert 10_000 not in received(theirs)
    outbox.send(record(10_002))
    assert received(theirs) == [10_000, 10_002]
    assert outbox.waiting == 0


def test_an_aggregator_that_is_gone_is_waited_for(pair: tuple[Outbox, socket.socket]) -> None:
    outbox, theirs = pair
    theirs.close()
    outbox.send(record(1))
    outbox.send(record(2, ended=True))
    assert outbox.waiting == 1


def test_the_last_packets_of_an_interface_are_kept_until_there_is_room_and_others_are_not(
    pair: tuple[Outbox, socket.socket],
) -> None:
    outbox, theirs = pair
    sent = 0
    while not outbox.waiting:
        outbox.send(Traffic(worker=0, incarnation=0, interface="lo", incoming=sent, outgoing=0))
        outbox.send(Traffic(worker=0, incarnation=0, interface="lo", incoming=sent + 1, outgoing=0, final=True))
        sent += 2
    found = received(theirs)
    outbox.flush()
    found += received(theirs)
    assert found[-1] == sent - 1
