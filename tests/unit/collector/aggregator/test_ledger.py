from __future__ import annotations

import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.aggregator.ledger import Ledger, WorkerLedger
from collector.aggregator.tallies import MOST_INCARNATIONS, MOST_INTERFACES, MOST_UNTOLD
from collector.archive.heads import BlockHead
from collector.archive.packing import pack
from collector.channel import Statistics, Traffic
from tests.unit.collector.aggregator.making import head

RUNS = st.lists(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 5), st.booleans()), max_size=8), max_size=4)

NUMBERS = st.one_of(st.integers(0, 9), st.just(2**64 - 1))
INCARNATIONS = st.sampled_from([0, 1, 2, 1 << 16, 2 << 16])


@st.composite
def heads(draw: st.DrawFn) -> BlockHead:
    names = ("packets_used", "packets_empty", "statements_decoded", "statements_packed", "statements_filtered")
    before = {name: draw(NUMBERS) for name in names}
    return head(
        incarnation=draw(INCARNATIONS),
        sequence=draw(st.integers(0, 5)),
        statements=draw(st.integers(0, 9)),
        before=before,
        after={name: max(value, draw(NUMBERS)) for name, value in before.items()},
        final=draw(st.booleans()),
    )


@st.composite
def records(draw: st.DrawFn) -> Statistics:
    dropped = draw(st.integers(0, 9))
    return Statistics(
        worker=0,
        incarnation=draw(INCARNATIONS),
        kernel_passed=dropped + draw(st.integers(0, 9)),
        kernel_dropped=dropped,
        page_packets=draw(NUMBERS),
        page_statements=draw(NUMBERS),
        ended=draw(st.booleans()),
        final=draw(st.booleans()),
    )


HEADS, RECORDS = heads(), records()


class Worker:
    """Plays one worker process: makes the heads of its blocks, with counters that fit."""

    def __init__(self, incarnation: int = 0, number: int = 0) -> None:
        self.incarnation = incarnation
        self.number = number
        self.packets = 0
        self.statements = 0
        self._sequence = 0
        self._counters = {"packets_used": 0, "packets_empty": 0, "statements_decoded": 0, "statements_packed": 0}

    def block(self, statements: int, empty_packets: int = 0, *, final: bool = False) -> BlockHead:
        before = dict(self._counters)
        self._counters["packets_used"] += 2 * statements
        self._counters["packets_empty"] += empty_packets
        self._counters["statements_decoded"] += statements
        self._counters["statements_packed"] += statements
        self.packets += 2 * statements + empty_packets
        self.statements += statements
        self._sequence += 1
        return head(
            worker=self.number,
            incarnation=self.incarnation,
            sequence=self._sequence - 1,
            statements=statements,
            before=before,
            after=dict(self._counters),
            final=final,
        )


def statistics(worker: Worker, passed: int, dropped: int = 0, **flags: bool) -> Statistics:
    return Statistics(
        worker=worker.number,
        incarnation=worker.incarnation,
        kernel_passed=passed,
        kernel_dropped=dropped,
        page_packets=worker.packets,
        page_statements=worker.statements,
        **flags,
    )


def sums_hold(worker: WorkerLedger) -> bool:
    packets = worker.dropped + sum(worker.taken.values()) + worker.packets_lost + worker.packets_held + worker.in_ring
    statements = worker.shipped + worker.filtered + worker.lost + worker.evicted + worker.held
    return worker.passed == packets and worker.decoded == statements


def test_after_an_orderly_end_all_is_shipped_or_dropped() -> None:
    ledger, worker = Ledger(1), Worker()
    for block in (worker.block(10, 3), worker.block(5), worker.block(0, final=True)):
        assert ledger.take_block(block)
    ledger.take_statistics(statistics(worker, 33 + 7, dropped=7, final=True))
    ledger.batch_stored({0: 15})
    assert ledger.complete()
    assert ledger.balanced()
    view = ledger.view()[0]
    assert sums_hold(view)
    assert (view.passed, view.dropped, view.in_ring, view.packets_held) == (40, 7, 0, 0)
    assert view.taken == {"packets_used": 30, "packets_empty": 3}
    assert (view.decoded, view.shipped, view.lost, view.held) == (15, 15, 0, 0)


def test_what_is_on_its_way_is_held() -> None:
    ledger, worker = Ledger(1), Worker()
    ledger.take_block(worker.block(10))
    worker.block(4)  # still in the worker
    ledger.take_statistics(statistics(worker, 31))
    view = ledger.view()[0]
    assert sums_hold(view)
    assert (view.decoded, view.shipped, view.held) == (14, 0, 14)
    assert (view.packets_held, view.in_ring) == (8, 3)
    assert not ledger.complete()


def test_a_batch_that_is_being_sealed_counts_as_shipped_in_its_own_ledger() -> None:
    ledger, worker = Ledger(1), Worker()
    ledger.take_block(worker.block(10))
    assert ledger.view({0: 10})[0].shipped == 10
    assert ledger.view()[0].shipped == 0


def test_a_lost_block_shows_as_lost_statements_and_its_packets_stay_known() -> None:
    ledger, worker = Ledger(1), Worker()
    ledger.take_block(worker.block(10))
    worker.block(6, 2)  # never comes
    ledger.take_block(worker.block(1, final=True))
    ledger.take_statistics(statistics(worker, worker.packets, final=True))
    ledger.batch_stored({0: 11})
    view = ledger.view()[0]
    assert sums_hold(view)
    assert (view.lost, view.blocks_lost, view.shipped, view.held) == (6, 1, 11, 0)
    assert sum(view.taken.values()) == worker.packets
    assert ledger.balanced()


def test_a_lost_first_block_shows_too() -> None:
    ledger, worker = Ledger(1), Worker()
    worker.block(6)
    ledger.take_block(worker.block(1))
    assert ledger.view()[0].lost == 6


def test_what_a_dead_worker_had_is_held_until_its_successor_speaks_and_then_lost() -> None:
    ledger, dead = Ledger(1), Worker()
    ledger.take_block(dead.block(10))
    dead.block(3, 1)
    ledger.take_statistics(statistics(dead, 27, ended=True))
    assert ledger.view()[0].held == 13
    heir = Worker(incarnation=1)
    ledger.take_statistics(statistics(heir, 27))
    ledger.take_block(heir.block(2))
    view = ledger.view()[0]
    assert sums_hold(view)
    assert (view.lost, view.packets_lost) == (3, 7)
    assert (view.decoded, view.held, view.incarnation) == (15, 12, 1)


def test_a_late_block_of_a_dead_worker_is_not_lost_after_all() -> None:
    ledger, dead = Ledger(1), Worker()
    late = dead.block(3)
    ledger.take_statistics(statistics(dead, 6, ended=True))
    ledger.take_statistics(statistics(Worker(incarnation=1), 6))
    ledger.take_block(Worker(incarnation=1).block(1))
    assert ledger.view()[0].lost == 3
    assert ledger.take_block(late)
    assert ledger.view()[0].lost == 0


def test_what_never_came_is_lost_once_nothing_more_can_come() -> None:
    ledger, worker = Ledger(1), Worker()
    worker.block(3)
    ledger.take_statistics(statistics(worker, 6, final=True))
    assert not ledger.complete()
    ledger.settle()
    view = ledger.view()[0]
    assert sums_hold(view)
    assert (view.lost, view.held, view.packets_lost) == (3, 0, 6)


def test_a_batch_that_was_given_up_is_lost_and_one_that_was_removed_is_evicted() -> None:
    ledger, worker = Ledger(1), Worker()
    ledger.take_block(worker.block(10))
    ledger.batch_stored({0: 6})
    ledger.batch_discarded({0: 4})
    ledger.batch_evicted({0: 5, 9: 1})
    view = ledger.view()[0]
    assert sums_hold(view)
    assert (view.shipped, view.lost, view.evicted, view.held) == (1, 4, 5, 0)


def test_blocks_ahead_of_the_statistics_make_no_negative_rest() -> None:
    ledger, worker = Ledger(1), Worker()
    ledger.take_statistics(statistics(worker, 0))
    ledger.take_block(worker.block(10))
    view = ledger.view()[0]
    assert sums_hold(view)
    assert (view.passed, view.in_ring) == (20, 0)
    assert ledger.balanced()


def test_a_repeated_block_is_thrown_away_and_counted() -> None:
    ledger, worker = Ledger(1), Worker()
    block = worker.block(10)
    assert ledger.take_block(block)
    assert not ledger.take_block(block)
    assert ledger.repeated == 1
    assert ledger.view()[0].blocks == 1


def test_a_block_or_a_record_of_no_known_worker_is_thrown_away() -> None:
    ledger = Ledger(1)
    assert not ledger.take_block(Worker(number=1).block(1))
    assert ledger.malformed == 1
    assert not ledger.take_statistics(statistics(Worker(number=1), 0))


def test_an_incarnation_that_capture_may_speak_of_next_does_not_write_off_the_present_one() -> None:
    ledger, worker = Ledger(1), Worker()
    worker.block(3)
    ledger.take_statistics(statistics(worker, 6))
    assert ledger.take_block(Worker(incarnation=1).block(1))
    assert ledger.take_block(Worker(incarnation=1 << 16).block(1))
    view = ledger.view()[0]
    assert (view.lost, view.held, view.incarnation) == (0, 5, 0)


def test_made_up_incarnations_are_refused_and_leave_the_figures_of_the_real_one_alone() -> None:
    ledger, worker = Ledger(1), Worker()
    all_made_up = (
        *range(MOST_UNTOLD + 1, 40),
        *range((1 << 16) + 1, (1 << 16) + 40),
        *(up << 16 for up in range(2, 40)),
    )
    for _ in range(3):
        ledger.take_block(worker.block(1))
        ledger.take_statistics(statistics(worker, 1004))
        for made_up in all_made_up:
            assert not ledger.take_block(Worker(made_up).block(5))
        for next_one in (1, 1 << 16):
            ledger.take_block(Worker(next_one).block(0))
    view = ledger.view()[0]
    assert (view.passed, view.decoded, view.incarnation) == (1004, 3, 0)
    assert ledger.malformed == 3 * len(all_made_up)
    assert sums_hold(view)


def test_processes_that_came_and_went_before_capture_told_of_them_are_counted() -> None:
    ledger, first = Ledger(1), Worker()
    ledger.take_block(first.block(1))
    ledger.take_statistics(statistics(first, 4))
    for untold in range(1, MOST_UNTOLD + 1):
        assert ledger.take_block(Worker(untold).block(5))
    assert ledger.view()[0].decoded == 1 + 5 * MOST_UNTOLD


def test_a_block_of_an_incarnation_long_gone_is_not_counted_a_second_time() -> None:
    ledger, first = Ledger(1), Worker()
    assert ledger.take_block(first.block(3))
    for incarnation in range(2 * MOST_INCARNATIONS):
        ledger.take_statistics(statistics(Worker(incarnation), 6))
    assert not ledger.take_block(first.block(2))
    assert ledger.view()[0].decoded == 3


def test_a_block_that_contradicts_its_counters_is_a_fault() -> None:
    ledger = Ledger(1)
    ledger.take_block(head(statements=5, after={"statements_packed": 4, "statements_decoded": 5}))
    assert not ledger.balanced()


def test_packets_left_in_the_ring_at_the_end_are_a_fault() -> None:
    ledger, worker = Ledger(1), Worker()
    ledger.take_block(worker.block(1, final=True))
    ledger.take_statistics(statistics(worker, 3))
    assert ledger.balanced()
    ledger.take_statistics(statistics(worker, 3, final=True))
    assert ledger.view()[0].faults == ("1 packets were left in the ring",)


def test_more_packets_than_the_kernel_passed_are_a_fault_at_the_end() -> None:
    ledger, worker = Ledger(1), Worker()
    ledger.take_block(worker.block(2, final=True))
    ledger.take_statistics(statistics(worker, 3, final=True))
    assert not ledger.balanced()


def test_it_is_started_when_capture_has_spoken_of_each_worker() -> None:
    ledger = Ledger(2)
    ledger.take_statistics(statistics(Worker(), 0))
    assert not ledger.started()
    ledger.take_statistics(statistics(Worker(number=1), 0))
    assert ledger.started()


def test_a_worker_that_restarts_for_ever_takes_no_more_memory_and_loses_no_count() -> None:
    ledger = Ledger(1)
    passed = 0
    for incarnation in range(5 * MOST_INCARNATIONS):
        worker = Worker(incarnation)
        assert ledger.take_block(worker.block(3, 1))
        passed += worker.packets
        ledger.take_statistics(statistics(worker, passed, ended=True))
    statements = 3 * 5 * MOST_INCARNATIONS
    ledger.batch_stored({0: statements})
    view = ledger.view()[0]
    assert sums_hold(view)
    assert (view.decoded, view.shipped, view.in_ring) == (statements, statements, 0)
    assert len(pack(ledger.dump({}))) < 10_000


def test_what_orphans_took_after_the_last_word_of_a_dead_capture_is_no_negative_loss() -> None:
    ledger, orphan = Ledger(1), Worker()
    ledger.take_block(orphan.block(5))
    ledger.take_statistics(statistics(orphan, 12, dropped=2))
    heir = Worker(incarnation=1 << 16)
    ledger.take_statistics(statistics(heir, 0))
    ledger.take_block(orphan.block(1700, final=True))  # passed after the last figures
    view = ledger.view()[0]
    assert sums_hold(view)
    assert (view.passed, view.dropped, view.packets_lost, view.captures_lost) == (3412, 2, 0, 1)
    ledger.take_block(heir.block(1, final=True))
    ledger.take_statistics(statistics(heir, 2, final=True))
    assert (ledger.view()[0].passed, ledger.view()[0].captures_lost) == (3414, 1)
    assert ledger.balanced()


def test_what_could_not_be_seen_for_tls_is_summed_over_all_processes_of_a_worker() -> None:
    ledger = Ledger(1)
    for incarnation in range(3 * MOST_INCARNATIONS):
        for sequence, connections in enumerate((2, 5)):
            after = {"connections_encrypted": connections, "encrypted_bytes": 10 * connections}
            block = head(incarnation=incarnation, sequence=sequence, statements=0, before={}, after=after)
            assert ledger.take_block(block)
        ledger.take_statistics(statistics(Worker(incarnation), 0, ended=True))
    times = 3 * MOST_INCARNATIONS
    expected = {"connections": 5 * times, "bytes": 50 * times, "answer_bytes": 0}
    assert ledger.view()[0].as_map()["encrypted"] == expected
    again = Ledger(1)
    again.restore(json.loads(json.dumps(ledger.dump({}))))
    assert again.view()[0].encrypted == expected


def test_a_capture_that_ended_in_order_leaves_nothing_unknown() -> None:
    ledger, worker = Ledger(1), Worker()
    ledger.take_block(worker.block(1, final=True))
    ledger.take_statistics(statistics(worker, 2, ended=True))
    ledger.take_statistics(statistics(Worker(incarnation=1 << 16), 0))
    assert ledger.view()[0].captures_lost == 0
    assert ledger.balanced()


def test_a_ring_whose_capture_never_came_back_is_lost() -> None:
    ledger, worker = Ledger(1), Worker()
    ledger.take_block(worker.block(1))
    ledger.take_statistics(statistics(worker, 5))
    ledger.settle()
    view = ledger.view()[0]
    assert sums_hold(view)
    assert (view.packets_lost, view.in_ring, view.captures_lost) == (3, 0, 1)


def test_what_is_in_the_ring_when_capture_dies_is_lost() -> None:
    ledger, worker = Ledger(1), Worker()
    ledger.take_block(worker.block(5))
    ledger.take_statistics(statistics(worker, 17, dropped=2))
    assert ledger.view()[0].in_ring == 5
    heir = Worker(incarnation=1 << 16)
    ledger.take_statistics(statistics(heir, 0))
    ledger.take_block(heir.block(1, final=True))
    ledger.take_statistics(statistics(heir, 2, final=True))
    view = ledger.view({0: 6})[0]
    assert sums_hold(view)
    assert (view.passed, view.dropped, view.packets_lost, view.in_ring) == (19, 2, 5, 0)
    assert ledger.complete()
    assert ledger.balanced()


def test_a_capture_that_restarts_for_ever_takes_no_more_memory_and_loses_no_count() -> None:
    ledger = Ledger(1)
    for generation in range(50):
        worker = Worker(generation << 16)
        assert ledger.take_block(worker.block(3))
        ledger.take_statistics(statistics(worker, 10, dropped=1))
    view = ledger.view({0: 150})[0]
    assert sums_hold(view)
    assert (view.passed, view.dropped, view.packets_lost, view.in_ring) == (500, 50, 49 * 3, 3)
    assert view.captures_lost == 49
    assert (view.decoded, view.shipped) == (150, 150)
    assert len(pack(ledger.dump({}))) < 10_000


def test_a_new_aggregator_goes_on_where_the_last_stored_batch_was_and_counts_the_rest_as_lost() -> None:
    ledger, worker = Ledger(1), Worker()
    ledger.take_block(worker.block(10))
    stored = {0: 10}
    ledger.take_block(worker.block(4))  # in memory
    kept = json.loads(json.dumps(ledger.dump(stored)))
    ledger.take_block(worker.block(2))  # after the last word on disk
    heir = Ledger(1)
    heir.restore(kept)
    assert not heir.started()
    heir.take_block(worker.block(1, final=True))
    heir.take_statistics(statistics(worker, worker.packets, final=True))
    heir.batch_stored({0: 1})
    view = heir.view()[0]
    assert sums_hold(view)
    assert (view.decoded, view.shipped, view.lost, view.held, view.blocks_lost) == (17, 11, 6, 0, 1)
    assert heir.complete()
    assert heir.balanced()


@pytest.mark.parametrize(
    "values", [{}, {"workers": {}}, {"workers": {"0": {}}}, {"workers": {"0": {"generations": {}, "x": 1}}}]
)
def test_what_is_no_dump_is_refused_and_changes_nothing(values: dict[str, object]) -> None:
    ledger = Ledger(1)
    with pytest.raises((KeyError, TypeError, ValueError)):
        ledger.restore(values)
    assert ledger.dump({}) == Ledger(1).dump({})


def test_counters_of_a_worker_that_lies_fit_a_header() -> None:
    ledger = Ledger(1)
    lie = {"packets_used": 2**64 - 1, "packets_empty": 2**64 - 1, "statements_decoded": 2**64 - 1}
    ledger.take_block(head(after=lie))
    ledger.take_statistics(statistics(Worker(), 0, final=True))
    assert not ledger.balanced()
    assert pack(ledger.view()[0].as_map())


@given(st.lists(st.one_of(HEADS, RECORDS, st.sampled_from(["stored", "evicted", "settle"])), max_size=30))
def test_no_figure_is_negative_whatever_workers_make_up(happenings: list[BlockHead | Statistics | str]) -> None:
    ledger = Ledger(1)
    arrived = 0
    for happening in happenings:
        if isinstance(happening, BlockHead):
            arrived += happening.statements if ledger.take_block(happening) else 0
        elif isinstance(happening, Statistics):
            ledger.take_statistics(happening)
        elif happening == "settle":
            ledger.settle()
        elif happening == "stored":
            ledger.batch_stored({0: arrived})
            arrived = 0
        else:
            ledger.batch_evicted({0: 7})
        view = ledger.view()[0]
        assert sums_hold(view)
        figures = [value for value in dataclasses.astuple(view) if isinstance(value, int)]
        assert min(*figures, *view.taken.values(), 0) == 0


@given(RUNS)
def test_the_sums_hold_whatever_is_lost_on_the_way(runs: list[list[tuple[int, int, bool]]]) -> None:
    ledger = Ledger(1)
    passed = decoded = arrived = 0
    for incarnation, blocks in enumerate(runs):
        worker = Worker(incarnation)
        ledger.take_statistics(statistics(worker, passed))
        for statements, empty, comes in blocks:
            block = worker.block(statements, empty)
            if comes:
                assert ledger.take_block(block)
                arrived += statements
            assert sums_hold(ledger.view()[0])
        passed += worker.packets
        decoded += worker.statements
        ledger.take_statistics(statistics(worker, passed, ended=True))
        assert sums_hold(ledger.view()[0])
    ledger.batch_stored({0: arrived})
    ledger.settle()
    view = ledger.view()[0]
    assert sums_hold(view)
    assert (view.passed, view.decoded, view.lost, view.held) == (passed, decoded, decoded - arrived, 0)
    assert ledger.balanced()


def traffic(interface: str, incoming: int, outgoing: int, incarnation: int = 0) -> Traffic:
    return Traffic(
        worker=0, incarnation=incarnation, interface=interface, incoming=incoming, outgoing=outgoing
    )  # fmt: skip


def test_packets_by_interface_add_up_over_capture_processes_and_over_a_restart() -> None:
    ledger = Ledger(1)
    for incarnation in range(0, 9 << 16, 1 << 16):
        assert ledger.take_record(traffic("lo", 1, 0, incarnation))
        assert ledger.take_record(traffic("lo", 5, 2, incarnation))
        assert ledger.take_record(traffic("eth0", 3, 4, incarnation))
    restored = Ledger(1)
    restored.restore(json.loads(json.dumps(ledger.dump({}))))
    expected = {"eth0": {"in": 27, "out": 36}, "lo": {"in": 45, "out": 18}}
    for one in (ledger, restored):
        assert one.view()[0].as_map()["interfaces"] == expected
    assert not ledger.take_record(dataclasses.replace(traffic("lo", 1, 1), worker=5))


def test_interfaces_that_are_too_many_count_as_others() -> None:
    ledger = Ledger(1)
    for number in range(2 * MOST_INTERFACES):
        ledger.take_record(traffic(f"veth{number}", 1, 1))
    interfaces = ledger.view()[0].as_map()["interfaces"]
    assert len(interfaces) == MOST_INTERFACES + 1
    assert "others" in interfaces
