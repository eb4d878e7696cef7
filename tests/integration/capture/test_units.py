"""Capture, aggregator and monitor as services of their own, under a stand-in for the service manager."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import psutil
import pytest

from tests.integration.capture.test_running import archived, run_statements
from tests.support import gaps
from tests.support.loaded import Loaded, last, ledger_of, lost
from tests.support.units import Units

pytestmark = [pytest.mark.integration, pytest.mark.either_build]

RESTARTS = 5


def accounts(loaded: Loaded) -> tuple[dict[str, dict[str, Any]], gaps.Account, gaps.Missing]:
    """The last ledger, the numbered statements in the archive, and which of those in the server's log it lacks."""
    ledger = ledger_of(loaded.units)
    account = gaps.recorded(loaded.units)
    return ledger, account, gaps.missing(account, gaps.logged(loaded.log), last(ledger))


@pytest.fixture
def loaded() -> Iterator[Loaded]:
    with ExitStack() as stack:
        yield Loaded(stack)


def test_a_restart_of_capture_at_load_loses_no_packet_and_no_statement(
    loaded: Loaded, report: Callable[[str], None]
) -> None:
    units = loaded.units
    units.start()
    with loaded.sending():
        for _ in range(RESTARTS):
            assert units.capture.stop() == 0, units.complaint()
            units.capture.start()
            loaded.wait_for_packets()
    ledger, account, missing = accounts(loaded)
    assert set(last(ledger).values()) == {RESTARTS}  # all are of one capture process, so to speak
    report(f"{RESTARTS} restarts of capture at load: {missing.statements} of {len(loaded.sent)} statements missing")
    assert units.complaint().count("goes on with the rings") == RESTARTS
    assert (lost(ledger, "packets"), lost(ledger, "statements")) == (0, 0)
    assert [worker["packets"]["dropped"] for worker in ledger.values()] == [0, 0]
    assert [worker["crashes"] for worker in ledger.values()] == [0, 0]
    assert account.invented == []
    assert (missing.statements, missing.problems) == (0, [])
    assert gaps.forgotten(units.records()) == [], "what workers knew of connections is in the manager's keeping too"
    assert sum(worker["statements"]["shipped"] for worker in ledger.values()) == len(loaded.sent) + loaded.logins()


def test_a_capture_process_that_is_killed_at_load_loses_no_packet(
    loaded: Loaded, report: Callable[[str], None]
) -> None:
    units = loaded.units
    units.start()
    with loaded.sending():
        for _ in range(RESTARTS):
            workers = units.workers()
            units.capture.kill()
            units.capture.start()
            assert not any(at_work(worker) for worker in workers)  # two readers would spoil a ring
            loaded.wait_for_packets()
    ledger, account, missing = accounts(loaded)
    assert set(last(ledger).values()) == {RESTARTS}  # all are of one capture process, so to speak
    report(f"capture killed {RESTARTS} times at load: {missing.statements} of {len(loaded.sent)} statements missing")
    assert [worker["crashes"] for worker in ledger.values()] == [0, 0], "it is capture that was killed, no worker"
    assert (lost(ledger, "packets"), lost(ledger, "statements")) == (0, 0)
    assert account.invented == []
    assert (missing.statements, missing.problems) == (0, [])


def test_workers_that_do_not_come_to_the_end_of_their_rings_leave_the_rest_to_the_next(loaded: Loaded) -> None:
    units = loaded.units
    units.configure("process.stop_timeout_s=10")
    units.start()
    with loaded.sending():
        workers = units.workers()
        for worker in workers:
            worker.suspend()  # as slow as can be, while packets go on coming
        with ThreadPoolExecutor() as pool:
            stopped = pool.submit(units.capture.stop)
            units.wait_until(lambda: units.complaint().count("leaves the rest there") == len(workers))
            for worker in workers:
                worker.resume()
            assert stopped.result() == 0, units.complaint()
        assert "is killed" not in units.complaint()
        units.capture.start()
        loaded.wait_for_packets()
    ledger, account, missing = accounts(loaded)
    assert (lost(ledger, "packets"), lost(ledger, "statements")) == (0, 0)
    assert account.invented == []
    assert (missing.statements, missing.problems) == (0, [])


def at_work(process: psutil.Process) -> bool:
    """Whether it has not ended, be it that nobody has asked how."""
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def test_killed_with_its_workers_capture_loses_what_they_held_and_the_ledger_counts_it(
    loaded: Loaded, report: Callable[[str], None]
) -> None:
    units = loaded.units
    units.start()
    with loaded.sending():
        for _ in range(RESTARTS):
            for worker in units.workers():
                worker.kill()
            units.capture.kill()
            units.capture.start()
            loaded.wait_for_packets()
    ledger, account, missing = accounts(loaded)
    absent = len(loaded.sent) + loaded.logins() - sum(worker["statements"]["shipped"] for worker in ledger.values())
    counted = (lost(ledger, "statements"), lost(ledger, "packets"))
    report(
        f"killed with its workers {RESTARTS} times: {absent} of {len(loaded.sent)} missing, {counted} counted as lost"
    )
    assert account.invented == []
    assert missing.problems == [], ledger
    assert absent <= sum(counted)


def test_capture_without_an_aggregator_waits_with_its_rings_full(loaded: Loaded) -> None:
    units = loaded.units
    units.capture.start()
    texts = run_statements(loaded.namespace, loaded.server, "alone", 300)
    units.aggregator.start()
    units.wait_until(lambda: shipped(units) >= len(texts))
    assert units.stop() == [0, 0, 0], units.complaint()
    assert archived(units, "alone") == texts


def test_an_aggregator_that_starts_again_goes_on_with_the_ledger(loaded: Loaded) -> None:
    units = loaded.units
    units.start()
    before = run_statements(loaded.namespace, loaded.server, "before", 50)
    units.wait_until(lambda: shipped(units) >= len(before))
    assert units.aggregator.stop() == 0
    meanwhile = run_statements(loaded.namespace, loaded.server, "meanwhile", 50)
    units.aggregator.start()
    units.wait_until(lambda: shipped(units) >= len(before) + len(meanwhile))
    assert units.stop() == [0, 0, 0], units.complaint()
    assert archived(units, "before") == before
    assert archived(units, "meanwhile") == meanwhile
    ledger = ledger_of(units)
    assert (lost(ledger, "packets"), lost(ledger, "statements")) == (0, 0)


def test_a_ring_that_does_not_fit_the_configuration_is_given_up_as_a_whole_and_the_log_says_why(loaded: Loaded) -> None:
    units = loaded.units
    units.start()
    units.capture.stop()
    units.configure("capture.ring_mib=32")
    before = set(units.capture.store.values())
    units.capture.start()
    assert "given up, with what is in them: capture.ring_mib was 64 and is 32" in units.complaint()
    assert len(units.capture.store) == len(before)
    texts = run_statements(loaded.namespace, loaded.server, "after", 50)
    units.wait_until(lambda: shipped(units) >= len(texts))
    assert units.stop() == [0, 0, 0], units.complaint()
    assert archived(units, "after") == texts
    ledger = ledger_of(units)
    assert [worker["incarnation"] for worker in ledger.values()] == [1 << 16, 1 << 16]


def test_what_was_left_in_part_or_is_something_else_is_not_gone_on_with(loaded: Loaded) -> None:
    units = loaded.units
    units.start()
    for name, said in (("socket-1", "something of worker 1 is missing"), ("state", "what the rings are is missing")):
        units.capture.stop()
        units.capture.drop(name)
        units.capture.start()
        assert said in units.complaint()
    units.capture.stop()
    units.capture.exchange("socket-0", "socket-1")
    units.capture.start()
    assert "the socket of worker 0 is another one" in units.complaint()
    assert units.stop() == [0, 0, 0], units.complaint()


def test_a_second_capture_process_is_refused_while_the_first_one_lives(loaded: Loaded) -> None:
    units = loaded.units
    units.capture.start()
    with units.another("capture") as second:
        second.start(wait=False)
        assert second.running.wait(60) == 3
        assert "cannot start: another capture process has" in units.complaint()
    with units.another("aggregator") as second:
        units.aggregator.start()
        second.start(wait=False)
        assert second.running.wait(60) == 3
    assert units.capture.running.poll() is None


def shipped(units: Units) -> int:
    """Statements that are in the store."""
    return sum(one["statements"]["shipped"] for one in units.status().get("ledger", {}).values())
