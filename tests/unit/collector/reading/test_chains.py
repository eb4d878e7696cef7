from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from collector.archive.layout import Header
from collector.reading.chains import Chain
from tests.unit.collector.aggregator.making import header


def hash_of(sequence: int) -> bytes:
    return sequence.to_bytes(32, "big")


def an_object(sequence: int, run: str, in_run: int, **statements: int) -> Header:
    sums: dict[str, Any] = {"decoded": 3 * in_run, "shipped": 3 * in_run, **statements}
    ledger = {"workers": {"0": {"statements": sums}}, "objects_stored": in_run}
    return header(sequence=sequence, previous=hash_of(sequence - 1), run=run, counts={"statements": 3}, ledger=ledger)


def problems(numbers: list[int], lengths: list[int]) -> list[str]:
    """Of objects *numbers* out of a chain with runs of these *lengths*."""
    objects: dict[int, Header] = {}
    for run, length in enumerate(lengths):
        for in_run in range(1, length + 1):
            sequence = len(objects) + 1
            objects[sequence] = an_object(sequence, str(run), in_run)
    chain = Chain("i")
    found: list[str] = []
    for number in numbers:
        found += chain.add(str(number), objects[number], hash_of(number))
    return [*found, *chain.end_run()]


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.data())
def test_what_stands_together_has_no_problem_and_each_gap_has_one(lengths: list[int], data: st.DataObject) -> None:
    last = sum(lengths)
    first = data.draw(st.integers(1, last))
    end = data.draw(st.integers(first, last))
    assert problems(list(range(first, end + 1)), lengths) == []
    if end - first > 1:
        gone = data.draw(st.integers(first + 1, end - 1))
        found = problems([number for number in range(first, end + 1) if number != gone], lengths)
        assert found[0] == f"object {gone} is missing"
        assert all("the ledger of run" in problem for problem in found[1:])
        assert len(found) <= 2


def test_damaged_objects_are_there_and_end_no_chain() -> None:
    chain = Chain("i")
    assert list(chain.add("1", an_object(1, "r", 1), hash_of(1))) == []
    assert list(chain.add_damaged("2", 2)) == []
    assert list(chain.add("3", an_object(3, "r", 3), None)) == []
    assert list(chain.add("4", an_object(4, "r", 4), hash_of(4))) == []
    assert list(chain.end_run()) == [
        "the ledger of run r counts 12 statements stored from object 1 to 4, the objects here hold 9"
    ]
    assert (chain.totals.objects, chain.totals.damaged, chain.totals.runs) == (4, 1, 1)


def test_a_hostile_ledger_is_read_as_far_as_it_is_one() -> None:
    chain = Chain("i")
    odd = header(ledger={"workers": {"0": {"statements": 5, "faults": 7, "packets": []}, "1": 3}}, counts={})
    assert list(chain.add("1", odd, None)) == []
    assert list(chain.end_run()) == []
