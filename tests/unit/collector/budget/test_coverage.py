"""The share that was captured: exact where it can be, and within its error where not."""

from __future__ import annotations

import random

import pytest

from collector.budget.coverage import Estimate, Kind, nominal_error


def test_where_nothing_is_left_out_the_share_is_one() -> None:
    estimate = Estimate()
    estimate.statements(1000, 5, 5)
    found = estimate.take()
    assert (found.share, found.kind, found.error) == (1.0, Kind.WHOLE, 0.0)


def test_segments_tell_the_share_whatever_the_filter_is_set_to() -> None:
    estimate = Estimate()
    estimate.share_is(0.25, 10)
    estimate.segments(1000, 2000)  # the connections that are captured say more than others
    estimate.statements(500, 15, 5)
    found = estimate.take()
    assert found.share == pytest.approx(0.5)
    assert found.kind is Kind.SEGMENTS


def test_a_batch_of_several_shares_is_weighted_by_what_came() -> None:
    estimate = Estimate()
    estimate.statements(900, 5, 9)
    estimate.share_is(0.1, 10)
    estimate.statements(10, 15, 1)
    found = estimate.take()
    assert found.share == pytest.approx(910 / 1000)
    assert found.kind is Kind.NOMINAL


def test_what_comes_while_nothing_is_captured_is_known_from_segments() -> None:
    estimate = Estimate()
    estimate.share_is(0.5, 10)
    estimate.segments(1000, 2000)
    estimate.statements(1000, 15, 5)
    estimate.take()
    estimate.share_is(0.0, 20)
    estimate.statements(0, 25, 0)
    estimate.segments(0, 3000)
    estimate.share_is(0.5, 30)
    estimate.segments(500, 1000)
    estimate.statements(500, 35, 5)
    found = estimate.take()
    assert found.statements == pytest.approx(4000)
    assert found.share == pytest.approx(500 / (3000 + 1000))
    assert found.kind is Kind.SEGMENTS


def test_while_nothing_is_captured_and_nothing_counted_the_error_is_unknown() -> None:
    estimate = Estimate()
    estimate.share_is(0.0, 10)
    estimate.statements(0, 15, 0)
    found = estimate.take()
    assert (found.share, found.kind, found.error) == (0.0, Kind.NOMINAL, None)
    estimate.share_is(1.0, 20)
    estimate.statements(10, 25, 1)
    assert estimate.take().error is None, "part of it was before"
    estimate.statements(10, 15, 1)
    assert estimate.take().kind is Kind.WHOLE


@pytest.mark.parametrize("share", [0.5, 0.125])
def test_the_nominal_share_is_within_its_error_as_a_rule(share: float) -> None:
    within = 0
    for seed in range(200):
        source = random.Random(seed)
        load = [source.expovariate(1.0) for _ in range(400)]
        kept = [one for one in load if source.random() < share]
        error = nominal_error(share, len(kept))
        assert error is not None
        within += abs(sum(kept) / sum(load) - share) <= error * share
    assert within >= 180  # 95 % of 200, less a little
    assert nominal_error(share, 0) is None


def test_statements_that_waited_count_by_the_share_of_their_time() -> None:
    estimate = Estimate()
    estimate.share_is(0.5, 100)
    estimate.share_is(0.01, 200)
    estimate.statements(1000, 150, 20)  # a backlog that is worked off only now
    estimate.statements(10, 250, 1)
    assert estimate.take().statements == pytest.approx(1000 / 0.5 + 10 / 0.01)
