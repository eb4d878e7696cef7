from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final

import pytest

from collector.cli import processes
from collector.cli.processes import ProcessesError

TOLD: Final[dict[str, Any]] = {
    "pid": 7,
    "ports": [3306],
    "capture": ["method ring"],
    "interfaces": ["eth0"],
    "restarts": {"capture": 0},
    "users": {"workers": "nobody"},
    "sealed_by": "seccomp",
    "unsealed_by": [],
}
RELOADED: Final = {"time": "2026-01-02T03:04:05+00:00", "applied": True, "changed": [], "waiting": [], "problems": []}
SECOND_NS: Final = 1_000_000_000


def tell(path: Path, ports: list[int], written_s: int) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({**TOLD, "ports": ports}))
    os.utime(path, ns=(written_s * SECOND_NS, written_s * SECOND_NS))


@pytest.mark.parametrize(("written_s", "ports"), [((1, 2), [2]), ((2, 1), [1])])
def test_who_wrote_last_is_asked_whatever_another_left(
    tmp_path: Path, written_s: tuple[int, int], ports: list[int]
) -> None:
    tell(tmp_path / "processes.json", [1], written_s[0])
    tell(tmp_path / "capture" / "processes.json", [2], written_s[1])
    assert processes.read(str(tmp_path))["ports"] == ports


def test_where_only_one_tells_it_is_that_one_and_where_none_does_there_is_nothing(tmp_path: Path) -> None:
    assert processes.read(str(tmp_path)) == {}
    tell(tmp_path / "capture" / "processes.json", [2], 1)
    assert processes.read(str(tmp_path))["ports"] == [2]


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"waiting": "", "warnings": ["mind this"], "reload": None, "kept_user": ["workers"], "one_user": True},
        {"reload": RELOADED, "restarted": {"monitor": "2026-01-02T03:04:05+00:00"}},
    ],
)
def test_what_is_sound_comes_as_it_was_written(tmp_path: Path, more: dict[str, Any]) -> None:
    (tmp_path / "processes.json").write_text(json.dumps({**TOLD, **more}))
    assert processes.read(str(tmp_path)) == {**TOLD, **more}


@pytest.mark.parametrize(
    ("more", "name"),
    [
        ({"ports": None}, "ports"),
        ({"ports": ["x"]}, "ports"),
        ({"restarts": []}, "restarts"),
        ({"restarts": {"capture": "often"}}, "restarts"),
        ({"restarted": {"capture": "yesterday"}}, "restarted"),
        ({"restarted": {"capture": "2026-01-02T03:04:05"}}, "restarted"),
        ({"kept_user": ["nobody we know"]}, "kept_user"),
        ({"reload": {"time": 1}}, "reload"),
        ({"reload": []}, "reload"),
        ({"warnings": {}}, "warnings"),
        ({"sealed_by": 1}, "sealed_by"),
    ],
)
def test_what_has_another_form_is_an_error_that_names_file_and_field(
    tmp_path: Path, more: dict[str, Any], name: str
) -> None:
    (tmp_path / "processes.json").write_text(json.dumps({**TOLD, **more}))
    with pytest.raises(ProcessesError, match=rf"{tmp_path}/processes.json cannot be read: .*form: {name};"):
        processes.read(str(tmp_path))


@pytest.mark.parametrize("content", ["", "[]", "{", "{}", "[" * 100_000])
def test_what_is_no_object_is_an_error_that_names_the_file(tmp_path: Path, content: str) -> None:
    (tmp_path / "processes.json").write_text(content)
    with pytest.raises(ProcessesError, match=rf"{tmp_path}/processes.json cannot be read: "):
        processes.read(str(tmp_path))


def test_a_link_or_a_pipe_is_not_followed_nor_waited_for(tmp_path: Path) -> None:
    tell(tmp_path / "elsewhere", [1], 1)
    place = tmp_path / "processes.json"
    place.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ProcessesError):
        processes.read(str(tmp_path))
    place.unlink()
    os.mkfifo(place)
    with pytest.raises(ProcessesError):
        processes.read(str(tmp_path))
