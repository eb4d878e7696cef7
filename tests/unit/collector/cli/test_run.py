from __future__ import annotations

import argparse
import io
from collections.abc import Callable
from pathlib import Path

import pytest

from collector.cli import run
from collector.config import Config, StartError


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Config]:
    """Configurations that would have been run."""
    found: list[Config] = []

    def supervise(config: Config, read: Callable[[], Config]) -> int:
        assert read() == config
        found.append(config)
        return 0

    monkeypatch.setattr(run, "supervise", supervise)
    return found


def arguments(state: Path, *more: str) -> argparse.Namespace:
    return argparse.Namespace(config=None, set=[f'paths.state="{state}"', *more])


def on_terminal(monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    monkeypatch.setattr("sys.stderr", Terminal())


@pytest.mark.parametrize("answer", ["\n", "y\n", "Yes\n"])
def test_on_a_terminal_it_offers_to_make_a_key_pair_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: list[Config], answer: str
) -> None:
    on_terminal(monkeypatch, answer)
    assert run.run(arguments(tmp_path)) == 0
    assert (tmp_path / "keys" / "reader.key").exists()
    assert (tmp_path / "keys" / "reader.pub").exists()
    assert len(started) == 1


@pytest.mark.parametrize("answer", ["n\n", "no\n", "what?\n"])
def test_an_offer_that_is_declined_is_an_error_that_names_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: list[Config], answer: str
) -> None:
    on_terminal(monkeypatch, answer)
    with pytest.raises(StartError, match="querytap keygen"):
        run.run(arguments(tmp_path))
    assert not (tmp_path / "keys").exists()
    assert started == []


def test_without_a_terminal_nothing_is_asked_and_it_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: list[Config]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    with pytest.raises(StartError, match=r"seal\.recipients"):
        run.run(arguments(tmp_path))
    assert started == []


def test_with_a_recipient_nothing_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: list[Config]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert run.run(arguments(tmp_path, f'seal.recipients=["{tmp_path}/audit.pub"]')) == 0
    assert started[0].seal.recipients == (f"{tmp_path}/audit.pub",)


def test_in_mode_monitor_the_monitor_is_alone_and_no_key_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: list[Config]
) -> None:
    alone: list[Config] = []

    def stand_alone(config: Config, _: Callable[[], Config]) -> int:
        alone.append(config)
        return 0

    monkeypatch.setattr("collector.monitor.unit.alone", stand_alone)
    assert run.run(arguments(tmp_path, 'capture.mode="monitor"')) == 0
    assert len(alone) == 1
    assert not started
