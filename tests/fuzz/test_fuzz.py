from __future__ import annotations

from itertools import islice

import pytest

from tests.fuzz import corpus
from tests.fuzz.mutation import Mutator

MUTATIONS = 5000
SLOW = {"pipeline": 3000, "ring": 3000, "object": 3000}


@pytest.mark.parametrize("name", corpus.TARGETS)
def test_no_input_of_the_corpus_breaks_a_promise(name: str) -> None:
    run = corpus.target(name)
    inputs = corpus.load(name)
    assert inputs, "python -m tests.fuzz.run --distil writes it"
    for data in [*inputs, *corpus.seeds(name)]:
        run(data)


@pytest.mark.parametrize("name", corpus.TARGETS)
def test_no_mutation_of_the_corpus_breaks_a_promise(name: str) -> None:
    run = corpus.target(name)
    mutator = Mutator(corpus.load(name), seed=20)
    for data in islice(mutator.inputs(), SLOW.get(name, MUTATIONS)):
        mutator.learn(data, run(data))


def test_the_same_seed_gives_the_same_inputs() -> None:
    first, second = (list(islice(Mutator([b"abc", b"defghi"], seed=3).inputs(), 500)) for _ in range(2))
    assert first == second
    assert len(set(first)) > 300


def test_inputs_with_an_outcome_not_seen_before_are_mutated_further() -> None:
    mutator = Mutator([b""], seed=1)
    assert mutator.learn(b"x" * 100, 1)
    assert not mutator.learn(b"y" * 100, 1)
    found = list(islice(mutator.inputs(), 100))
    assert any(b"x" * 30 in data for data in found)
    assert not any(b"y" * 30 in data for data in found)
