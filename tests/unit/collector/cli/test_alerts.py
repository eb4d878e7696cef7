from __future__ import annotations

from pathlib import Path

import pytest

from collector.cli.main import main
from tests.support.listeners import http_listener

pytestmark = pytest.mark.either_build


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def with_file(folder: Path, text: str, *more: str) -> int:
    file = folder / "alerts.toml"
    file.write_text(text)
    return main(["alerts", "--config", "/dev/null", "--set", f'alerts.file="{file}"', *more])


def test_the_rules_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert with_file(tmp_path, '[[rule]]\nname = "mine"\nmetric = "m"\nabove = 2\nfor_s = 5\n') == 0
    shown = capsys.readouterr().out
    assert "mine                         warning  m > 2 for 5 s" in shown
    assert "server-down                  critical mysql_up < 1 for 30 s" in shown


def test_a_trial_reaches_who_takes_it_and_says_who_does_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with http_listener() as (url, got):
        text = f'[[notifier]]\nkind = "slack"\nurl = "{url}"\n'
        assert with_file(tmp_path, text, "--test") == 0
        assert "notifier 1:slack: sent" in capsys.readouterr().out
        assert "this is a test of querytap" in got[0]["text"]
        assert with_file(tmp_path, text + '[[notifier]]\nkind = "command"\ncommand = ["false"]\n', "--test") == 1
        assert "notifier 2:command: failed: the command ended with 1" in capsys.readouterr().out
    assert with_file(tmp_path, "", "--test") == 1


def test_each_problem_of_the_file_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert with_file(tmp_path, '[[rule]]\n[[silence]]\nfrom = "x"\n') == 2
    shown = capsys.readouterr().err
    assert "rule 1: name and metric are needed" in shown
    assert "silence 1: from: must be a time of day" in shown
