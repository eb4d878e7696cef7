from __future__ import annotations

import io

import pytest

from collector.cli.progress import Progress, Reporter
from collector.reading.archive import Entry

ENTRIES = [Entry("a", None, io.BytesIO, 1 << 20), Entry("b", None, io.BytesIO, 3 << 20)]


def test_it_says_how_much_is_done_and_how_long_the_rest_takes() -> None:
    progress = Progress(4 << 20, 2, shown=False)
    assert progress.text(1) == "  0%  0 of 2 objects, 0.0 MiB/s"
    progress.done(ENTRIES[0])
    assert progress.text(2) == " 25%  1 of 2 objects, 0.5 MiB/s, 6 s left"


def test_without_a_terminal_nothing_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    reporter = Reporter()
    with reporter.progress(ENTRIES) as progress:
        for entry in ENTRIES:
            progress.done(entry)
    assert capsys.readouterr().err == ""


def test_a_problem_takes_the_place_of_the_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("collector.cli.progress._AFTER_S", 0.0)
    reporter = Reporter()
    with reporter.progress(ENTRIES) as progress:
        progress.done(ENTRIES[0])
        reporter("a: damaged")
    shown = capsys.readouterr().err
    assert shown.startswith("\r\x1b[K 25%")
    assert shown.endswith("\r\x1b[Kquerytap: a: damaged\n")
    assert reporter.count == 1
