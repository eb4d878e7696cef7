from __future__ import annotations

import io
import multiprocessing
import os
import signal
from functools import partial

import pytest

from collector.reading import pool as pooling
from collector.reading.archive import ArchiveError, Entry
from collector.reading.pool import Pool, processors

ENTRIES = [Entry(str(number), None, io.BytesIO, 1) for number in range(20)]


def process_of(entry: Entry) -> tuple[str, int]:
    return entry.path, os.getpid()


def killed(at: str, entry: Entry) -> str:
    if entry.path == at:
        os.kill(os.getpid(), signal.SIGKILL)
    return entry.path


@pytest.fixture(autouse=True)
def small_is_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pooling, "_WORTH_BYTES", 0)


@pytest.mark.parametrize("jobs", [1, 3])
def test_results_come_in_order_whoever_made_them(jobs: int) -> None:
    with Pool(process_of, ENTRIES, jobs) as pool:
        found = [result for _, result in pool.results()]
    assert [path for path, _ in found] == [entry.path for entry in ENTRIES]
    assert (os.getpid() in {process for _, process in found}) is (jobs == 1)


def test_what_is_taken_out_of_order_is_made_once() -> None:
    with Pool(process_of, ENTRIES, 2) as pool:
        assert [pool.take(ENTRIES[number])[0] for number in (7, 0, 19, 1)] == ["7", "0", "19", "1"]
        assert [pool.take(entry)[0] for entry in ENTRIES[2:7]] == ["2", "3", "4", "5", "6"]


def test_a_process_that_is_killed_ends_it_with_a_remedy() -> None:
    with pytest.raises(ArchiveError, match="--jobs 1 takes least"), Pool(partial(killed, "5"), ENTRIES, 2) as pool:
        assert len(list(pool.results())) <= 20


def test_no_process_outlives_it() -> None:
    with Pool(process_of, ENTRIES, 3) as pool:
        pool.take(ENTRIES[0])
    assert multiprocessing.active_children() == []


def test_there_is_at_least_one_processor() -> None:
    assert processors() >= 1
