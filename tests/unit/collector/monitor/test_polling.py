from __future__ import annotations

import select
import threading
from collections.abc import Iterator

import pytest

from collector.monitor.board import Board
from collector.monitor.families import Family, Reading, Readings
from collector.monitor.polling import Polling

pytestmark = pytest.mark.either_build

LEVEL = Family("level", "gauge", "Of a thing.")
TIMEOUT_S = 30


@pytest.fixture
def polling() -> Iterator[Polling]:
    made = Polling(Board())
    yield made
    made.close()


def test_a_source_that_does_not_answer_is_not_asked_again_and_delays_no_other(polling: Polling) -> None:
    asked, release, thrice = threading.Semaphore(0), threading.Event(), threading.Semaphore(0)

    def hangs() -> Readings:
        asked.release()
        release.wait()
        return ()

    def answers() -> Readings:
        thrice.release()
        return ()

    polling.add("hangs", lambda: 0, hangs)
    assert asked.acquire(timeout=TIMEOUT_S)
    polling.add("answers", lambda: 0.001, answers)
    assert all(thrice.acquire(timeout=TIMEOUT_S) for _ in range(3))
    assert not asked.acquire(blocking=False)
    polling.stop()
    release.set()


def test_what_was_read_is_on_the_board() -> None:
    board, read_twice = Board(), threading.Event()
    polling = Polling(board)
    values = iter(range(100))

    def read() -> Readings:
        value = next(values)
        if value == 1:
            read_twice.set()
        return (Reading(LEVEL, value),)

    polling.add("x", lambda: 0 if not read_twice.is_set() else 3600, read)
    assert read_twice.wait(TIMEOUT_S)
    polling.close()
    assert next(reading.value for reading in board.all()) in {0, 1}


def test_a_fault_is_raised_where_it_ends_the_process(polling: Polling) -> None:
    def fails() -> Readings:
        raise ZeroDivisionError("a fault")

    polling.check()
    polling.add("x", lambda: 0, fails)
    assert select.select([polling.fd], [], [], TIMEOUT_S)[0]
    with pytest.raises(ZeroDivisionError, match="a fault"):
        polling.check()
