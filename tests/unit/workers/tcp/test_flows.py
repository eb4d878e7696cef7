from __future__ import annotations

import random

import pytest

from workers.tcp.flows import CLIENT_FIRST, CLOSED, HALF_OPEN, NO_STREAM, OPEN, SERVER_FIRST, Flow, FlowTable

Ends = tuple[int, int, int, int, int, int]

MAPPED = 0xFFFF00000000  # IPv4 addresses stand in the low half behind this, RFC 4291
SERVER = (0, MAPPED | 0x0A000002, 3306)


def ends(number: int) -> Ends:
    """The two ends of the connection from a client of that number."""
    return (0, MAPPED | 0x0B000000 | number >> 16, number & 0xFFFF, *SERVER)


def test_a_flow_is_found_by_both_its_ends() -> None:
    table = FlowTable(10)
    flow = table.add(1, 2, 3, 4, 5, 6)
    assert table.find(1, 2, 3, 4, 5, 6) is flow
    assert (flow.client_high, flow.client_low, flow.client_port) == (1, 2, 3)
    assert (flow.server_high, flow.server_low, flow.server_port) == (4, 5, 6)
    assert table.count == 1


@pytest.mark.parametrize("place", range(6))
def test_a_flow_is_not_found_where_one_part_of_its_ends_differs(place: int) -> None:
    table = FlowTable(10)
    key = [2**64 - 1, 2**64 - 1, 65535, 2**64 - 1, 2**64 - 1, 65535]
    flow = table.add(*key)
    assert table.find(*key) is flow
    for bit in range(16):
        other = list(key)
        other[place] ^= 1 << bit
        assert table.find(*other) is None


def test_the_ends_of_a_flow_are_not_interchangeable() -> None:
    table = FlowTable(10)
    table.add(0, 1, 1000, 0, 2, 3306)
    assert table.find(0, 2, 3306, 0, 1, 1000) is None


def test_an_empty_table_finds_nothing_and_gives_nothing_up() -> None:
    table = FlowTable(10)
    assert table.find(*ends(1)) is None
    assert table.least_useful() is None
    assert table.all() == []
    assert table.stale(2**62, 2**62, 2**62) == []
    assert table.count == 0


def test_a_new_flow_is_half_open_and_has_seen_nothing() -> None:
    flow = FlowTable(10).add(*ends(1))
    assert flow.state == HALF_OPEN
    assert (flow.last_ns, flow.known, flow.ended, flow.charged, flow.disagreements) == (0, 0, 0, 0, 0)
    assert (flow.waiting, flow.has_rival, flow.minded) == (False, False, True)
    assert flow.owner is None
    assert flow.client is flow.server is NO_STREAM


def test_a_flow_on_which_something_is_said_has_a_stream_a_direction_until_it_ends() -> None:
    flow = Flow()
    flow.first, flow.server_first, flow.known = 7, 8, CLIENT_FIRST
    flow.begin()
    assert flow.client is not flow.server
    assert (flow.client.started, flow.client.next, flow.server.started) == (True, 7, False)
    flow.known = SERVER_FIRST
    flow.begin()
    assert (flow.client.started, flow.server.started, flow.server.next) == (False, True, 8)
    flow.owner = "somebody"
    flow.end()
    assert flow.client is flow.server is NO_STREAM
    assert flow.owner is None
    assert not NO_STREAM.started


def test_a_table_grows_and_still_finds_everything() -> None:
    table = FlowTable(5000)
    flows = {number: table.add(*ends(number)) for number in range(5000)}
    assert table.count == 5000
    assert all(table.find(*ends(number)) is flow for number, flow in flows.items())
    assert table.find(*ends(5000)) is None
    assert len(table.all()) == 5000


def test_a_flow_removed_is_gone_and_all_others_stay() -> None:
    table = FlowTable(3000)
    flows = {number: table.add(*ends(number)) for number in range(3000)}
    order = list(flows)
    random.Random(1).shuffle(order)
    for number in order[:1500]:
        table.remove(flows.pop(number))
    assert table.count == 1500
    assert all(table.find(*ends(number)) is flow for number, flow in flows.items())
    assert all(table.find(*ends(number)) is None for number in order[:1500])
    assert {id(flow) for flow in table.all()} == {id(flow) for flow in flows.values()}


def test_ends_can_come_again_after_their_flow_was_removed() -> None:
    table = FlowTable(10)
    table.remove(table.add(*ends(1)))
    again = table.add(*ends(1))
    assert table.find(*ends(1)) is again
    assert table.count == 1


def test_a_flow_that_is_not_in_the_table_can_not_be_removed() -> None:
    table = FlowTable(10)
    flow = table.add(*ends(1))
    table.remove(flow)
    for stranger in (flow, Flow(), FlowTable(10).add(*ends(1))):
        with pytest.raises(KeyError):
            table.remove(stranger)
    assert table.count == 0


def test_flows_that_share_a_bucket_are_told_apart_and_removed_one_by_one() -> None:
    table = FlowTable(256)
    flows = {number: table.add(*ends(number)) for number in range(256)}  # no growth yet: by chance, many share one
    for number in sorted(flows, reverse=True):
        assert table.find(*ends(number)) is flows[number]
        table.remove(flows[number])
        assert table.find(*ends(number)) is None


def test_a_table_is_full_at_its_limit() -> None:
    table = FlowTable(2)
    assert not table.full()
    first = table.add(*ends(1))
    assert not table.full()
    table.add(*ends(2))
    assert table.full()
    table.remove(first)
    assert not table.full()


@pytest.mark.parametrize("limit", [0, -1])
def test_a_table_without_room_is_refused(limit: int) -> None:
    with pytest.raises(ValueError, match=f"at least 1 flow, not {limit}"):
        FlowTable(limit)


def test_a_table_with_room_for_one_flow_is_full_with_it() -> None:
    table = FlowTable(1)
    flow = table.add(*ends(1))
    assert table.full()
    assert table.least_useful() is flow


def opened(table: FlowTable, number: int, last_ns: int = 0) -> Flow:
    """A flow on which something was said."""
    flow = table.add(*ends(number))
    table.move(flow, OPEN)
    flow.last_ns = last_ns
    return flow


def test_the_flow_silent_for_longest_is_given_up_first() -> None:
    table = FlowTable(10)
    for number, last_ns in enumerate((50, 30, 40)):
        opened(table, number, last_ns)
    assert table.least_useful() is table.find(*ends(1))


def test_half_open_flows_go_first_then_closed_ones_the_oldest_of_each_before() -> None:
    table = FlowTable(10)
    states = [OPEN, CLOSED, HALF_OPEN, OPEN, CLOSED, HALF_OPEN]
    flows = [opened(table, number, last_ns) for number, last_ns in enumerate((1, 9, 9, 2, 8, 8))]
    for flow, state in zip(flows, states, strict=True):
        table.move(flow, state)
    order = []
    while (worst := table.least_useful()) is not None:
        order.append(flows.index(worst))
        table.remove(worst)
    assert order == [2, 5, 1, 4, 0, 3]


def test_a_flow_that_comes_to_a_state_again_is_the_newest_there() -> None:
    table = FlowTable(10)
    first, second, third = (table.add(*ends(number)) for number in range(3))
    table.move(first, HALF_OPEN)
    assert table.least_useful() is second
    table.move(third, OPEN)
    table.remove(second)
    assert table.least_useful() is first
    table.remove(first)
    assert table.least_useful() is third


def test_one_half_open_flow_among_many_is_found() -> None:
    table = FlowTable(5000)
    for number in range(4999):
        opened(table, number)
    flow = table.add(*ends(4999))
    assert table.least_useful() is flow


def test_one_eviction_looks_at_a_sample_and_the_next_at_others() -> None:
    table = FlowTable(4096)
    for number in range(4096):
        opened(table, number, number)
    given_up = []
    for _ in range(256):
        worst = table.least_useful()
        assert worst is not None
        given_up.append(worst.last_ns)
        table.remove(worst)
    assert len(set(given_up)) == 256
    assert sum(given_up) / len(given_up) < 4096 / 8, "they are among the oldest"
    assert table.count == 4096 - 256


def test_flows_silent_for_too_long_are_stale() -> None:
    table = FlowTable(10)
    for number, last_ns in enumerate((99, 100, 101)):
        opened(table, number, last_ns)
    assert [flow.last_ns for flow in table.stale(100, 2**62, 2**62)] == [99]


@pytest.mark.parametrize(("state", "ended"), [(CLOSED, 0), (CLOSED, 3), (OPEN, 1), (OPEN, 2), (OPEN, 4)])
def test_flows_with_an_end_closed_are_stale_sooner(state: int, ended: int) -> None:
    table = FlowTable(10)
    for number, last_ns in enumerate((499, 500)):
        flow = opened(table, number, last_ns)
        table.move(flow, state)
        flow.ended = ended
    assert [flow.last_ns for flow in table.stale(100, 100, 500)] == [499]


def test_half_open_flows_have_a_time_of_their_own() -> None:
    table = FlowTable(10)
    for number, last_ns in enumerate((299, 300)):
        table.add(*ends(number)).last_ns = last_ns
    assert [flow.last_ns for flow in table.stale(100, 300, 500)] == [299]


def test_holes_of_streams_are_forgotten_in_time() -> None:
    table = FlowTable(10)
    stream = opened(table, 1, 900).client
    assert stream is NO_STREAM
    flow = opened(table, 2, 900)
    flow.begin()
    flow.client.open(0)
    flow.client.offer(5, b"x", 0, 1, 0, 0)
    flow.client.skip()
    assert flow.client.take() is not None
    table.stale(0, 0, 0)
    assert flow.client.kept_bytes > 0
    flow.client.offer(6, b"", 0, 0, 0x3FFFFFFF, 0)
    flow.client.offer(0x40000005, b"", 0, 0, 0x100, 0)
    table.stale(0, 0, 0)
    assert flow.client.kept_bytes == 0


def test_addresses_with_all_bits_set_are_kept_apart() -> None:
    table = FlowTable(1000)
    top = 2**64 - 1
    keys: set[Ends] = {
        (high, low, port, other, lowest, 3306)
        for high in (0, top)
        for low in (0, top, 1 << 63)
        for port in (0, 65535)
        for other in (0, top)
        for lowest in (0, top, 1 << 63)
    }
    flows = {key: table.add(*key) for key in keys}
    assert all(table.find(*key) is flow for key, flow in flows.items())
