from __future__ import annotations

import json
from pathlib import Path

import pytest

from collector.cli.main import main
from collector.config import Config, to_mapping


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "querytap.toml"
    found.write_text("[workers]\ncount = 2\n")
    return found


def test_a_valid_file_is_said_to_be_valid(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--config", str(path)]) == 0
    assert capsys.readouterr() == (
        f"the configuration is valid ({path})\ntakes effect after a restart: workers.count\n", "",
    )  # fmt: skip


def test_without_a_file_the_defaults_are_checked(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("collector.cli.options.default_path", lambda: None)
    assert main(["check", "--set", "workers.count=2"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "the configuration is valid (the defaults, with --set)"


def test_every_problem_is_reported_with_its_place(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path.write_text("[capture]\nring_mb = 64\nring_mib = 0\n")
    assert main(["check", "--config", str(path), "--set", "x.y=1"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[0] == "querytap: 3 problems:"
    assert f"  {path}:2: capture.ring_mb: unknown option, did you mean ring_mib?" in err.splitlines()
    assert f"  {path}:3: capture.ring_mib = 0: must be between 1 and 4096" in err.splitlines()
    assert "  --set: x.y: unknown section" in err


def test_what_the_host_lacks_is_a_warning_and_no_problem(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--config", str(path), "--set", 'process.user="no-such-user"']) == 0
    assert capsys.readouterr().out == (
        'warning: process.user = "no-such-user": there is no such user on this host\n'
        f"the configuration is valid ({path}, with --set)\n"
        "takes effect after a restart: workers.count, process.user\n"
    )


def test_what_is_set_is_told_by_when_a_change_of_it_takes_effect(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "--config", str(path), "--set", "capture.ports=[3306]", "--set", "batch.max_age_s=5"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "takes effect on a reload (SIGHUP): capture.ports, batch.max_age_s",
        "takes effect after a restart: workers.count",
    ]


def test_json_has_the_resolved_configuration_and_the_warnings(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--json", "--config", str(path), "--set", 'process.user="no-such-user"']) == 0
    said = json.loads(capsys.readouterr().out)
    expected = to_mapping(Config())
    expected["workers"]["count"] = 2
    expected["process"]["user"] = "no-such-user"
    assert said == {
        "valid": True,
        "source": str(path),
        "problems": [],
        "warnings": [
            {
                "key": "process.user",
                "text": "there is no such user on this host",
                "value": '"no-such-user"',
                "place": "",
            }
        ],
        "config": expected,
        "applies": {"workers.count": "restart", "process.user": "restart"},
    }


def test_json_has_every_problem_in_its_parts(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path.write_text("[workers]\ncount = 0\n")
    assert main(["check", "--json", "--config", str(path)]) == 2
    out, err = capsys.readouterr()
    assert err == ""
    assert json.loads(out) == {
        "valid": False,
        "source": str(path),
        "problems": [{"key": "workers.count", "text": "must be between 1 and 64", "value": "0", "place": f"{path}:2"}],
        "warnings": [],
        "config": None,
        "applies": {},
    }
