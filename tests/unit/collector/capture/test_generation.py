from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from collector import jsonfile
from collector.boot import boot_id
from collector.capture.generation import next_generation
from collector.channel import GENERATIONS
from collector.config import StartError
from collector.places import GENERATION_FILE


def write(folder: Path, number: int, boot: str = "") -> None:
    folder.mkdir(exist_ok=True)
    (folder / GENERATION_FILE).write_text(json.dumps({"boot": boot or boot_id(), "generation": number}))


def fill(monkeypatch: pytest.MonkeyPatch, *full: Path) -> None:
    """From here on these take nothing."""
    real = jsonfile.replace

    def replace(folder: int, name: str, content: dict[str, object]) -> None:
        if Path(f"/proc/self/fd/{folder}").readlink() in full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(folder, name, content)

    monkeypatch.setattr(jsonfile, "replace", replace)


def test_each_has_the_next_number(tmp_path: Path) -> None:
    state, run = tmp_path / "state", tmp_path / "run"
    assert [next_generation(state, run) for _ in range(3)] == [0, 1, 2]
    assert not run.exists()


def test_numbers_begin_anew_when_the_host_is_booted_and_when_there_are_no_more(tmp_path: Path) -> None:
    write(tmp_path, 7, boot="another")
    assert next_generation(tmp_path, tmp_path / "run") == 0
    write(tmp_path, GENERATIONS - 1)
    assert next_generation(tmp_path, tmp_path / "run") == 0


def test_on_a_full_disk_numbers_go_on_beside_it_and_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    state, run = tmp_path / "state", tmp_path / "run"
    write(state, 4)
    with monkeypatch.context() as patch:
        fill(patch, state)
        assert [next_generation(state, run) for _ in range(2)] == [5, 6]
        assert f"{state}: No space left on device" in caplog.text
    assert next_generation(state, run) == 7
    assert not (run / GENERATION_FILE).exists()


def test_where_nothing_takes_it_there_is_no_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(monkeypatch, tmp_path / "state", tmp_path / "run")
    with pytest.raises(StartError, match="No space left on device"):
        next_generation(tmp_path / "state", tmp_path / "run")


@pytest.mark.parametrize("content", ["", "[]", '{"boot": 1', "{}"])
def test_what_is_damaged_is_refused_or_begun_anew(tmp_path: Path, content: str) -> None:
    (tmp_path / GENERATION_FILE).write_text(content)
    if content == "{}":
        assert next_generation(tmp_path, tmp_path / "run") == 0
        return
    with pytest.raises(StartError) as caught:
        next_generation(tmp_path, tmp_path / "run")
    assert caught.value.remedy == "remove it"
