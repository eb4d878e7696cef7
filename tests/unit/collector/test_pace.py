from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from collector.pace import Pace


def test_what_changes_is_told_often_and_what_stands_still_seldom() -> None:
    pace = Pace(1, 5)
    assert pace.due == 0
    now = 10.0
    steps = []
    for changed in (True, False, False, False, False, False, True):
        pace.told(now, changed=changed)
        steps.append(pace.due - now)
        now = pace.due
    assert steps == [1, 1, 1, 1, 5, 5, 1]


@given(st.lists(st.booleans(), max_size=20), st.floats(0, 5))
def test_a_stir_makes_it_due_within_the_short_interval(changes: list[bool], later: float) -> None:
    pace = Pace(1, 5)
    now = 0.0
    for changed in changes:
        pace.told(now, changed=changed)
        now = pace.due
    pace.told(now, changed=False)
    stirred = now + min(later, pace.due - now)
    pace.stir()
    assert pace.due <= max(stirred, now + 1)


@given(st.floats(0.5, 1), st.floats(0, 0.49))
def test_what_wakes_the_process_is_the_occasion_once_half_of_the_interval_is_over(late: float, early: float) -> None:
    pace = Pace(1, 10)
    pace.told(100.0, changed=True)
    pace.meet(100.0 + early)
    assert pace.due == 101
    pace.meet(100.0 + late)
    assert pace.due == 100.0 + late
