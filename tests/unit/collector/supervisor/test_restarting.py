from __future__ import annotations

from signal import SIGKILL, SIGTERM

import pytest

from collector.child import EXIT_CANNOT_START, EXIT_CONFIG, EXIT_INTERFACE_GONE
from collector.supervisor.order import AGGREGATOR, CAPTURE, MONITOR
from collector.supervisor.restarting import (
    LEAST_CAPTURE_DELAY_S,
    MOST_QUICK_FAILURES,
    Fault,
    GiveUp,
    Restart,
    RestartPolicy,
)

ALL = (AGGREGATOR, CAPTURE, MONITOR)


def outcomes(name: str, code: int, times: int, *, lived_s: float = 0.0, ready: bool = True) -> list[object]:
    policy = RestartPolicy(ALL)
    return [policy.after(name, code, lived_s, ready=ready, stopping=False) for _ in range(times)]


@pytest.mark.parametrize("name", ALL)
def test_what_ends_after_a_long_life_is_started_again_soon_and_counted(name: str) -> None:
    policy = RestartPolicy(ALL)
    found = policy.after(name, -SIGKILL, 3600, ready=True, stopping=False)
    assert isinstance(found, Restart)
    assert found.delay_s == (LEAST_CAPTURE_DELAY_S if name == CAPTURE else 0)
    assert found.text.startswith(f"{name} was killed by SIGKILL and is started again in 0.")
    assert policy.totals == {other: int(other == name) for other in ALL}


def test_capture_that_fails_again_and_again_is_given_up_and_the_others_are_not() -> None:
    *before, last = outcomes(CAPTURE, 1, MOST_QUICK_FAILURES)
    assert all(isinstance(one, Restart) for one in before)
    assert last == GiveUp("capture ended 5 times in a row soon after its start, see above")
    for name in (AGGREGATOR, MONITOR):
        assert all(isinstance(one, Restart) for one in outcomes(name, 1, 50))


def test_an_aggregator_that_never_gets_ready_is_given_up() -> None:
    assert outcomes(AGGREGATOR, 1, MOST_QUICK_FAILURES, ready=False)[-1] == GiveUp(
        "aggregator ended 5 times in a row soon after its start, see above"
    )


@pytest.mark.parametrize("code", [EXIT_CONFIG, EXIT_CANNOT_START])
@pytest.mark.parametrize("name", ALL)
def test_who_cannot_start_ends_it_only_before_all_were_at_work(name: str, code: int) -> None:
    assert outcomes(name, code, 1, ready=False) == [GiveUp(f"{name} cannot start, see its message above")]
    assert isinstance(outcomes(name, code, 1)[0], Restart)


@pytest.mark.parametrize("code", [EXIT_INTERFACE_GONE, -SIGTERM])
def test_an_interface_that_goes_or_a_wait_that_is_ended_however_often_is_no_failure_of_capture(code: int) -> None:
    found = outcomes(CAPTURE, code, 50)
    assert all(isinstance(one, Restart) and one.delay_s == LEAST_CAPTURE_DELAY_S for one in found)
    policy = RestartPolicy(ALL)
    policy.after(CAPTURE, code, 0.0, ready=True, stopping=False)
    assert policy.totals[CAPTURE] == 1, "the next one has to have a generation of its own"


@pytest.mark.parametrize("name", ALL)
def test_during_a_stop_nothing_is_started_again_and_only_a_fault_is_said(name: str) -> None:
    policy = RestartPolicy(ALL)
    for code in (0, -SIGTERM):
        assert policy.after(name, code, 0.0, ready=True, stopping=True) is None
    assert policy.after(name, 1, 0.0, ready=True, stopping=True) == Fault(f"{name} ended with code 1")
    assert set(policy.totals.values()) == {0}
