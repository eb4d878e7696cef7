from __future__ import annotations

import dataclasses

import pytest

from collector.channel import (
    MAGIC,
    ORDER_BYTES,
    RECORD_BYTES,
    Costs,
    Order,
    Reach,
    Statistics,
    Traffic,
    unpack,
    unpack_order,
)

RECORD = Statistics(
    worker=63,
    incarnation=0xFFFF_FFFF,
    final=True,
    ended=True,
    kernel_passed=2**64 - 1,
    kernel_dropped=2**63,
    ring_freezes=7,
    page_packets=2**64 - 2,
    page_statements=5,
    crashes=3,
)


@pytest.mark.parametrize("final", [False, True])
@pytest.mark.parametrize("ended", [False, True])
def test_a_record_comes_back_as_it_was_packed(final: bool, ended: bool) -> None:
    record = dataclasses.replace(RECORD, final=final, ended=ended)
    assert len(record.pack()) == RECORD_BYTES
    assert unpack(record.pack()) == record


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"worker": 64}, "worker is 64, the limit is 63"),
        ({"worker": -1}, "worker is -1"),
        ({"incarnation": 2**32}, "incarnation is 4294967296"),
        ({"page_packets": 2**64}, "page_packets is"),
        ({"kernel_passed": 1, "kernel_dropped": 2}, "kernel_dropped is 2, more than kernel_passed"),
    ],
)
def test_values_that_do_not_fit_are_refused_by_name(change: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(RECORD, **change)  # type: ignore[arg-type]  # only numbers are changed


@pytest.mark.parametrize("length", [0, 1, RECORD_BYTES - 1, RECORD_BYTES + 1])
def test_a_record_of_another_length_is_refused(length: int) -> None:
    with pytest.raises(ValueError, match=f"{length} bytes, expected {RECORD_BYTES}"):
        unpack(RECORD.pack().ljust(length, b"\0")[:length])


def test_a_record_that_begins_otherwise_is_refused() -> None:
    with pytest.raises(ValueError, match="begins with b'XXXX'"):
        unpack(b"XXXX" + RECORD.pack()[4:])


def test_flags_that_are_not_known_are_refused() -> None:
    packed = bytearray(RECORD.pack())
    packed[6] |= 0x80
    with pytest.raises(ValueError, match="unknown flags 0x83"):
        unpack(bytes(packed))


def test_a_worker_beyond_the_limit_is_refused_at_the_other_end_too() -> None:
    packed = bytearray(RECORD.pack())
    packed[4] = 64
    with pytest.raises(ValueError, match="worker is 64"):
        unpack(bytes(packed))


def test_bytes_of_another_kind_never_pass_for_a_record() -> None:
    assert MAGIC not in {b"\0\0\0\0", b"\xff\xff\xff\xff"}
    with pytest.raises(ValueError, match="begins with"):
        unpack(bytes(RECORD_BYTES))


TRAFFIC = Traffic(worker=63, incarnation=5, interface="enp0s31f6", incoming=2**64 - 1, outgoing=0)


@pytest.mark.parametrize("final", [False, True])
@pytest.mark.parametrize("interface", ["x", "x" * 15, "others"])
def test_packets_of_an_interface_come_back_as_they_were_packed(interface: str, final: bool) -> None:
    record = dataclasses.replace(TRAFFIC, interface=interface, final=final)
    assert len(record.pack()) <= RECORD_BYTES
    assert unpack(record.pack()) == record


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"worker": 64}, "traffic record: worker is 64, the limit is 63"),
        ({"incoming": 2**64}, "incoming is"),
        ({"outgoing": -1}, "outgoing is"),
        ({"interface": ""}, "'' is no interface's name"),
        ({"interface": "x" * 16}, "no interface's name"),
    ],
)
def test_packets_of_an_interface_that_do_not_fit_are_refused(change: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(TRAFFIC, **change)  # type: ignore[arg-type]  # as above


def test_a_damaged_record_of_an_interface_is_refused() -> None:
    packed = TRAFFIC.pack()
    with pytest.raises(ValueError, match="traffic record: 43 bytes, expected 44"):
        unpack(packed[:-1])
    with pytest.raises(ValueError, match="unknown flags 0x80"):
        unpack(packed[:6] + b"\x80" + packed[7:])
    with pytest.raises(ValueError, match="no interface's name"):
        unpack(packed[:12] + bytes(16) + packed[28:])


@pytest.mark.parametrize(
    "record",
    [
        Costs(passed_ps=570_000, other_ps=350_000),
        Reach(kept=2**63, all=2**64 - 1, kept_connections=3, connections=9),
    ],
)
def test_costs_and_reach_come_back_as_they_were_packed(record: Costs | Reach) -> None:
    assert unpack(record.pack()) == record
    with pytest.raises(ValueError, match="bytes, expected"):
        unpack(record.pack() + b"x")


def test_a_part_that_is_more_than_the_whole_is_refused() -> None:
    with pytest.raises(ValueError, match="more than the whole"):
        Reach(kept=2, all=1, kept_connections=0, connections=0)


@pytest.mark.parametrize("responses", ["none", "first", "timing", "all"])
@pytest.mark.parametrize("captures", [False, True])
def test_an_order_comes_back_as_it_was_packed(responses: str, captures: bool) -> None:
    order = Order(responses=responses, halvings=10, captures=captures)
    assert len(order.pack()) == ORDER_BYTES
    assert unpack_order(order.pack()) == order


@pytest.mark.parametrize("record", [b"", b"QTO1", b"XXXX\0\0\0", b"QTO1\x09\0\0", b"QTO1\0\xff\0"])
def test_what_is_no_order_is_refused(record: bytes) -> None:
    with pytest.raises(ValueError, match="order"):
        unpack_order(record)
