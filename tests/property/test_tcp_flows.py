"""A table of flows is a bounded dictionary."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from workers.tcp.flows import CLOSED, HALF_OPEN, OPEN, Flow, FlowTable

TOP = 2**64 - 1

# Few values, so that ends repeat in all parts but one.
HALVES = st.sampled_from([0, 1, 0xFFFF0A000001, 0xFFFF0A000002, 1 << 63, TOP])
PORTS = st.sampled_from([0, 1, 3306, 40000, 65535])
ENDS = st.tuples(HALVES, HALVES, PORTS, HALVES, HALVES, PORTS)


@given(
    st.lists(st.tuples(st.sampled_from(["add", "add", "add", "remove", "find"]), ENDS, st.integers(0, 9)), max_size=150)
)
def test_a_table_does_as_a_dictionary_does(steps: list[tuple[str, tuple[int, int, int, int, int, int], int]]) -> None:
    table = FlowTable(1000)
    model: dict[tuple[int, ...], Flow] = {}
    for action, ends, choice in steps:
        if action == "add" and ends not in model:
            model[ends] = table.add(*ends)
        elif action == "remove" and model:
            table.remove(model.pop(list(model)[choice % len(model)]))
        assert table.find(*ends) is model.get(ends)
        assert table.count == len(model)
    assert {id(flow) for flow in table.all()} == {id(flow) for flow in model.values()}
    assert all(table.find(*ends) is flow for ends, flow in model.items())


@given(st.integers(1, 40), st.lists(st.tuples(st.integers(0, 1000), st.booleans()), max_size=120))
def test_a_caller_that_makes_room_first_never_has_more_than_the_limit(
    limit: int, arriving: list[tuple[int, bool]]
) -> None:
    table = FlowTable(limit)
    for number, (last_ns, closed) in enumerate(arriving):
        if table.full():
            worst = table.least_useful()
            assert worst is not None
            table.remove(worst)
        flow = table.add(0, number, 1, 0, 2, 3306)
        flow.last_ns = last_ns
        table.move(flow, CLOSED if closed else OPEN)
        assert table.find(0, number, 1, 0, 2, 3306) is flow
        assert table.count <= limit
    assert len(table.all()) == table.count == min(limit, len(arriving))


STATES = st.sampled_from([OPEN, CLOSED, HALF_OPEN])


@given(st.lists(st.tuples(st.integers(0, 100), STATES), min_size=1, max_size=60))
@settings(max_examples=60)
def test_in_a_table_no_larger_than_a_sample_the_very_least_useful_flow_goes(flows: list[tuple[int, int]]) -> None:
    table = FlowTable(60)
    rank = {HALF_OPEN: 0, CLOSED: 1, OPEN: 2}
    worth = {}
    for number, (last_ns, state) in enumerate(flows):
        flow = table.add(0, number, 1, 0, 2, 3306)
        flow.last_ns = last_ns
        table.move(flow, state)
        worth[number] = (rank[state], last_ns if state == OPEN else number)
    while worth:
        worst = table.least_useful()
        assert worst is not None
        lowest = min(worth.values())
        assert worth.pop(worst.client_low) == lowest
        table.remove(worst)


@given(st.lists(st.tuples(st.integers(0, 100), STATES, st.integers(0, 3)), max_size=60))
def test_stale_flows_are_those_silent_for_longer_than_their_state_allows(flows: list[tuple[int, int, int]]) -> None:
    table = FlowTable(60)
    expected = set()
    for number, (last_ns, state, ended) in enumerate(flows):
        flow = table.add(0, number, 1, 0, 2, 3306)
        flow.last_ns, flow.ended = last_ns, ended
        table.move(flow, state)
        limit = 50 if state == HALF_OPEN else 70 if state == CLOSED or ended else 30
        if last_ns < limit:
            expected.add(number)
    assert {flow.client_low for flow in table.stale(30, 50, 70)} == expected
