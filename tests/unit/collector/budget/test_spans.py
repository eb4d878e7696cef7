"""What the ledger tells of levels."""

from __future__ import annotations

import itertools

from collector.budget.spans import MOST, Spans


def test_each_moment_below_the_first_level_is_in_one_span() -> None:
    spans = Spans()
    spans.note("1/8", "much", 100)
    spans.note("1/4", "less", 200)
    first = spans.take(250)
    spans.note("full", "little", 300)
    assert first == [
        {"level": "1/8", "why": "much", "from_ns": 100, "to_ns": 200},
        {"level": "1/4", "why": "less", "from_ns": 200, "to_ns": 250},
    ]
    assert spans.take(400) == [{"level": "1/4", "why": "less", "from_ns": 250, "to_ns": 300}]
    assert spans.take(500) == []


def test_of_too_many_the_oldest_become_one() -> None:
    spans = Spans()
    for number in range(MOST + 20):
        spans.note(f"1/{number}", "", 10 * number)
    found = spans.take(10 * (MOST + 20))
    assert len(found) == MOST
    assert (found[0]["from_ns"], found[0]["levels"]) == (0, 21)
    assert all(before["to_ns"] == after["from_ns"] for before, after in itertools.pairwise(found))


def test_a_clock_that_is_set_back_makes_no_span_of_less_than_nothing() -> None:
    spans = Spans()
    spans.note("none", "", 100)
    assert spans.take(50) == [{"level": "none", "why": "", "from_ns": 100, "to_ns": 100}]
