from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.exceptions import InvalidTag
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collector.reading import runs as running
from collector.reading.runs import Aside, Line, Sorter

TIMES = st.lists(st.integers(0, 1 << 62), max_size=50)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TIMES, st.sampled_from([1, 2000, 1 << 20]), st.sampled_from([0, 1 << 20]))
def test_what_is_taken_comes_back_in_sorted_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: list[int], most: int, inline: int
) -> None:
    monkeypatch.setattr(running, "MOST_IN_MEMORY_BYTES", most)
    monkeypatch.setattr(running, "_INLINE_BYTES", inline)
    monkeypatch.setattr(running, "_PIECE_BYTES", 100)
    aside = Aside(str(tmp_path))
    sorter = Sorter(aside)
    lines = [Line(time, time + 1, b"line %d" % number) for number, time in enumerate(times)]
    for line in lines:
        sorter.add(line)
    found = [list(run.lines(aside)) for run in sorter.runs()]
    assert all(run == sorted(run, key=lambda line: line.monotonic_ns) for run in found)
    assert sorted(line for run in found for line in run) == sorted(lines)
    assert list(tmp_path.iterdir()) == []


def test_what_is_set_aside_is_not_there_in_clear_and_opens_with_the_key_of_this_command_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "_INLINE_BYTES", 0)
    sorter = Sorter(Aside(str(tmp_path)))
    sorter.add(Line(1, 1, b"SELECT secret"))
    (run,) = sorter.runs()
    (path,) = tmp_path.iterdir()
    assert b"SELECT" not in path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(InvalidTag):
        list(run.lines(Aside(str(tmp_path))))
