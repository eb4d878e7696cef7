from __future__ import annotations

import pytest

from collector.monitor.board import Board
from collector.monitor.families import Family, Reading

pytestmark = pytest.mark.either_build

LEVEL = Family("level", "gauge", "Of a thing.")


def test_a_source_replaces_what_it_had_and_others_keep_theirs() -> None:
    board = Board()
    board.post("a", (Reading(LEVEL, 1), Reading(LEVEL, 2)))
    board.post("b", (Reading(LEVEL, 3),))
    board.post("a", (Reading(LEVEL, 4),))
    assert [reading.value for reading in board.all()] == [4, 3]
