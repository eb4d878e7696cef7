"""The governor against a model of a host: what it lets through, how soon it settles and how often it changes."""

from __future__ import annotations

import itertools
import json
import math
import random
from pathlib import Path

import pytest

from collector.budget.governor import Governor, Measurement
from collector.budget.levels import ladder
from tests.unit.collector.budget.plant import Load, Plant, run

CAPS = (1.0, 5.0, 10.0, 20.0)
RECORDED = Path(__file__).with_name("recorded_load.json")
TOLERATED = 1.1
"""Of the cap, in every window of ten seconds."""


def step(before: float, after: float, at_s: float) -> Load:
    return lambda now: after if now >= at_s else before


@pytest.mark.parametrize("cap", CAPS)
@pytest.mark.parametrize("times", [1.3, 2.0, 6.0, 40.0])
@pytest.mark.parametrize("phase_s", [0.0, 0.3, 0.7])
def test_a_step_of_the_load_costs_at_most_two_seconds_of_it(cap: float, times: float, phase_s: float) -> None:
    found = run(step(0.3 * cap, times * cap, 30.0), 300.0, cap, Plant(fixed_percent=0.05 * cap, phase_s=phase_s))
    assert found.excess(cap, 30.0, 40.0) <= 2.0 * times * cap
    assert max(found.windows(35.0, 300.0)) <= TOLERATED * cap
    assert found.changes(100.0) <= 4
    assert found.changes(0.0, 30.0) == 0


@pytest.mark.parametrize("filter_factor", [0.05, 0.15, 0.22])
def test_what_stays_whatever_is_shed_does_not_keep_it_above_the_cap(filter_factor: float) -> None:
    cap, times = 5.0, 4.0
    found = run(step(0.3 * cap, times * cap, 30.0), 300.0, cap, Plant(filter_factor=filter_factor))
    assert max(found.windows(37.0, 300.0)) <= TOLERATED * cap
    assert found.changes(100.0) <= 8


@pytest.mark.parametrize("cap", CAPS)
def test_what_the_cap_allows_is_used(cap: float) -> None:
    found = run(step(0.3 * cap, 12.0 * cap, 30.0), 300.0, cap, Plant(fixed_percent=0.05 * cap))
    assert min(found.windows(100.0, 300.0)) >= 0.35 * cap


@pytest.mark.parametrize("times", [2.0, 6.0, 40.0])
def test_it_comes_back_step_by_step_when_the_load_falls(times: float) -> None:
    found = run(lambda now: 10.0 * times if 30.0 <= now < 90.0 else 2.0, 300.0, 10.0)
    coming_back = found.levels[900:]
    assert all(after >= before - 1 for before, after in itertools.pairwise(coming_back))
    assert found.levels[-1] == 0
    assert found.levels[900 + 10 * 110] == 0, "it takes too long"


def test_a_spike_of_a_second_is_not_followed_by_an_oscillation() -> None:
    found = run(lambda now: 60.0 if 30.0 <= now < 31.0 else 3.0, 200.0, 10.0)
    assert found.excess(10.0, 30.0, 40.0) <= 60.0
    assert found.changes(31.0) <= 10  # down at once, and each level up again once
    assert found.levels[-1] == 0


@pytest.mark.parametrize("period_s", [4.0, 20.0, 60.0, 180.0])
def test_a_sawtooth_changes_the_level_less_and_less_where_it_does_not_last(period_s: float) -> None:
    cap = 10.0
    found = run(lambda now: 3.0 + 37.0 * (now % period_s) / period_s, 900.0, cap)
    assert max(found.windows(30.0, 900.0)) <= 1.35 * cap  # each tooth is a load that grows again
    assert found.changes(0.0, 900.0) <= 15 * 900.0 / max(period_s, 60.0)
    if period_s <= 20.0:
        assert found.changes(450.0, 900.0) <= 24


@pytest.mark.parametrize("cap", CAPS)
def test_a_slow_ramp_is_followed_without_ever_going_over(cap: float) -> None:
    found = run(lambda now: cap * (0.2 + 0.03 * now), 600.0, cap, Plant(fixed_percent=0.05 * cap))
    assert max(found.windows(0.0, 600.0)) <= TOLERATED * cap
    assert found.changes() <= 16


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("mean", [0.6, 0.95, 3.0])
def test_noise_does_not_make_it_waver(seed: int, mean: float) -> None:
    cap = 10.0
    source = random.Random(seed)
    noise = [source.lognormvariate(0.0, 0.25) for _ in range(901)]
    found = run(lambda now: mean * cap * noise[int(now)], 900.0, cap)
    assert max(found.windows(20.0, 900.0)) <= 1.2 * cap
    assert found.changes(60.0) <= 60
    assert found.changes(450.0) <= 30


@pytest.mark.parametrize("cap_share", [0.2, 0.5, 0.8])
def test_a_recorded_load_is_kept_under_the_cap(cap_share: float) -> None:
    recorded: list[float] = json.loads(RECORDED.read_text(encoding="utf-8"))["percent"]
    cap = cap_share * max(recorded)
    seconds = float(len(recorded))
    found = run(lambda now: recorded[int(now)], seconds, cap, Plant(fixed_percent=0.1))
    over = [window for window in found.windows(0.0, seconds) if window > TOLERATED * cap]
    assert len(over) <= 0.05 * len(found.windows(0.0, seconds))
    assert found.changes() <= seconds / 10


@pytest.mark.parametrize("answers_factor", [1.0, 4.0, 30.0])
def test_what_answers_turn_out_to_cost_is_remembered(answers_factor: float) -> None:
    cap = 10.0
    found = run(lambda _: 25.0, 590.0, cap, Plant(answers_factor=answers_factor, compression_factor=1.0))
    assert max(found.windows(15.0, 590.0)) <= TOLERATED * cap
    assert found.changes(30.0) <= 4


def test_the_answers_are_kept_where_latency_decides_what_is_shipped() -> None:
    names = [level.name for level in ladder("all", none=False)]
    assert names[:5] == ["full", "compression", "timing", "first", "1/2"]
    assert all(level.responses != "none" for level in ladder("first", none=False))


def test_the_ladder_sheds_the_least_valuable_first() -> None:
    assert [level.name for level in ladder("all")] == [
        "full", "compression", "timing", "first", "none",
        *(f"1/{1 << halvings}" for halvings in range(1, 11)), "drop", "leave",
    ]  # fmt: skip
    shares = [level.share for level in ladder("none")]
    assert shares == sorted(shares, reverse=True)


def test_a_cap_that_is_raised_is_used_and_a_lower_one_kept() -> None:
    levels = ladder("first")
    governor = Governor(levels, 10.0)
    for _ in range(3):
        governor.decide(Measurement(1.0, 30.0))
    assert governor.level.halvings
    governor.bound(levels, 1000.0)
    for _ in range(300):
        governor.decide(Measurement(1.0, 30.0 * governor.level.share))
    assert governor.level.name == "full"
    governor.bound(levels, 1.0)
    governor.decide(Measurement(1.0, 30.0))
    assert governor.level.halvings >= 3


def test_it_looks_again_later_and_later_where_even_nothing_is_too_much() -> None:
    levels = ladder("first")
    governor = Governor(levels, 1.0)
    looked = []
    for second in range(4000):
        level = governor.level
        decision = governor.decide(Measurement(1.0, 0.0 if not level.joined else 5.0))
        if decision.changed and level.name == "leave":
            looked.append(second)
    pauses = [after - before for before, after in itertools.pairwise(looked)]
    assert pauses == sorted(pauses)
    assert math.isclose(pauses[-1], 300, abs_tol=10)
