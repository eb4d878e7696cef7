from __future__ import annotations

from collector.capture.stopping import Step, StopPlan


def test_nothing_happens_before_a_stop_is_asked_for() -> None:
    plan = StopPlan(block_timeout_s=0.1, bound_s=10)
    assert plan.next(1000.0, workers=2) is None
    assert plan.due() is None
    assert not plan.requested


def test_packets_are_shut_out_first_and_workers_drain_after_the_kernel_has_given_its_blocks() -> None:
    plan = StopPlan(block_timeout_s=0.1, bound_s=10)
    plan.request(100.0)
    assert plan.next(100.0, workers=2) is Step.SHUT
    assert plan.next(100.1, workers=2) is None  # a block begun before may still be in the kernel's hands
    assert plan.due() is not None
    assert plan.next(plan.due() or 0, workers=2) is Step.DRAIN
    assert plan.next(101.0, workers=2) is None
    assert plan.next(101.0, workers=0) is Step.FINISH
    assert plan.next(101.0, workers=0) is None


def test_draining_begins_later_than_the_block_timeout() -> None:
    plan = StopPlan(block_timeout_s=0.5, bound_s=10)
    plan.request(0.0)
    due = plan.due()
    assert due is not None
    assert due > 0.5


def test_workers_that_do_not_end_within_the_bound_are_told_to_leave_the_rest_and_killed_once() -> None:
    plan = StopPlan(block_timeout_s=0.1, bound_s=10)
    plan.request(0.0)
    assert [plan.next(1.0, workers=1) for _ in range(3)] == [Step.SHUT, Step.DRAIN, None]
    half = plan.due()
    assert half == (0.25 + 10) / 2
    assert [plan.next(half, workers=1) for _ in range(2)] == [Step.LEAVE, None]
    assert plan.due() == 10.0
    assert plan.next(10.0, workers=1) is Step.KILL
    assert plan.next(10.1, workers=1) is None
    assert plan.due() is None
    assert plan.next(10.2, workers=0) is Step.FINISH


def test_asked_again_it_hurries() -> None:
    plan = StopPlan(block_timeout_s=0.1, bound_s=60)
    plan.request(0.0)
    plan.request(1.0)
    assert [plan.next(3.0, workers=1) for _ in range(3)] == [Step.SHUT, Step.DRAIN, Step.KILL]


def test_asking_again_late_does_not_give_more_time() -> None:
    plan = StopPlan(block_timeout_s=0.1, bound_s=10)
    plan.request(0.0)
    plan.request(9.5)
    assert [plan.next(10.0, workers=1) for _ in range(3)] == [Step.SHUT, Step.DRAIN, Step.KILL]


def test_without_workers_it_still_shuts_and_finishes() -> None:
    plan = StopPlan(block_timeout_s=0.1, bound_s=10)
    plan.request(0.0)
    assert [plan.next(1.0, workers=0) for _ in range(4)] == [Step.SHUT, Step.DRAIN, Step.FINISH, None]


def test_another_bound_is_that_of_a_stop_that_is_asked_for_later() -> None:
    plan = StopPlan(block_timeout_s=0.1, bound_s=10)
    plan.bound(40)
    plan.request(0.0)
    plan.bound(20)
    assert [plan.next(1.0, workers=1) for _ in range(2)] == [Step.SHUT, Step.DRAIN]
    assert plan.due() == (0.25 + 40) / 2.0
