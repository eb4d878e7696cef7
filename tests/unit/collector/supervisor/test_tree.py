from __future__ import annotations

import json
import os
import select
import socket
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import collector
from collector.child import SentChanges
from collector.config import Config, StartError, from_mapping
from collector.config.load import to_mapping
from collector.identities import present
from collector.privileges import Identity
from collector.supervisor import tree
from collector.supervisor.tree import Child, Tree, settings_for


class Started(Child):
    """Notes how it would have been started."""

    command: list[str]
    settings: Config
    inherited: list[int]
    changes: SentChanges

    def start(self, arguments: list[str], fds: list[int], now: float) -> None:  # type: ignore[override]  # as it is called
        self.command = [*arguments]
        self.inherited = [*fds]
        self.changes = SentChanges(os.dup(fds[1]))
        self.settings = from_mapping(json.loads(os.read(fds[0], 1 << 20)))  # from where it stands: the beginning
        self.started = now


@pytest.fixture
def made() -> Iterator[Tree]:
    config = Config()
    found = Tree(replace(config, workers=replace(config.workers, count=3)), present(), Identity(7, 8, "worker"))
    for name in found.children:
        found.children[name] = Started(name, None)
    yield found
    found.close()
    for child in found.children.values():
        if isinstance(child, Started) and child.started:
            child.changes.latest()
            assert child.changes.fds == [], "the end is seen"
            child.changes.close()


def started(made: Tree, name: str, generation: int = 0) -> Started:
    made.start(name, 1.0, generation=generation)
    child = made.children[name]
    assert isinstance(child, Started)
    return child


def option(child: Started, name: str) -> str:
    return child.command[child.command.index(name) + 1]


def test_each_child_gets_the_configuration_and_the_fds_that_it_names(made: Tree) -> None:
    for name in made.children:
        child = started(made, name)
        assert child.settings.workers.count == 3
        pairs = zip(child.command[::2], child.command[1::2], strict=True)
        assert {int(value) for key, value in pairs if key.endswith("-fd")} == set(child.inherited)


def test_capture_and_aggregator_hold_the_two_ends_of_one_pair(made: Tree) -> None:
    capture, aggregator = started(made, "capture"), started(made, "aggregator")
    os.write(int(option(capture, "--statistics-fd")), b"record")
    assert os.read(int(option(aggregator, "--statistics-fd")), 100) == b"record"
    assert option(aggregator, "--workers") == "3"


def test_a_child_that_is_started_again_gets_the_same_ends_and_capture_another_generation(made: Tree) -> None:
    first = started(made, "capture")
    assert option(first, "--generation") == "0"
    assert option(first, "--worker-ids") == "7:8"
    changes = first.changes
    ends = [option(first, name) for name in ("--statistics-fd", "--state-fd")]
    second = started(made, "capture", generation=1)
    assert [option(second, name) for name in ("--statistics-fd", "--state-fd")] == ends
    assert option(second, "--generation") == "1"
    assert changes.latest() is None
    assert changes.fds == [], "the one before is told nothing more"
    changes.close()


def test_what_capture_tells_of_its_state_reaches_the_supervisor(made: Tree) -> None:
    os.write(int(option(started(made, "capture"), "--state-fd")), b"ready")
    assert made.state.recv(100) == b"ready"


def test_after_letting_go_the_aggregator_sees_the_end_of_the_records(made: Tree) -> None:
    aggregator = started(made, "aggregator")
    made.let_go()
    with socket.socket(fileno=os.dup(int(option(aggregator, "--statistics-fd")))) as reading:
        assert reading.recv(100) == b""


def test_children_run_this_interpreter_on_these_packages_and_not_on_those_of_the_present_folder() -> None:
    assert tree.command(["-m", "collector.capture"]) == [sys.executable, "-P", "-m", "collector.capture"]
    ours = str(Path(collector.__file__).parents[1])
    assert tree.environment({})["PYTHONPATH"] == ours
    assert tree.environment({"PYTHONPATH": "/x"})["PYTHONPATH"] == f"{ours}{os.pathsep}/x"


SECRETS = {
    "AWS_SECRET_ACCESS_KEY": "a", "AZURE_STORAGE_ACCOUNT_KEY": "b", "GOOGLE_APPLICATION_CREDENTIALS": "c",
    "https_proxy": "http://me:secret@proxy", "HTTPS_PROXY": "http://me:secret@proxy", "SSL_CERT_FILE": "/ca",
}  # fmt: skip
HARMLESS = {"PATH": "/bin", "LANG": "C", "LC_ALL": "C", "TZ": "UTC", "PYTHONUTF8": "1", "QUERYTAP_HOTPATH": "compiled"}
OTHERS = {"MYSQL_PWD": "d", "SUDO_USER": "me", "SSH_AUTH_SOCK": "/s", "XPATH": "x"}


def test_what_reaches_the_store_is_in_the_environment_of_the_aggregator_alone() -> None:
    ours = {**SECRETS, **HARMLESS, **OTHERS}
    plain = tree.environment(ours)
    assert {name: plain[name] for name in HARMLESS} == HARMLESS
    assert not plain.keys() & (SECRETS.keys() | OTHERS.keys())
    store = tree.environment(ours, store=True)
    assert {name: store[name] for name in (*HARMLESS, *SECRETS)} == {**HARMLESS, **SECRETS}
    assert not store.keys() & OTHERS.keys()


def test_the_url_of_the_store_is_in_the_settings_of_the_aggregator_alone() -> None:
    config = Config()
    config = replace(config, store=replace(config.store, url="s3://key:secret@bucket", endpoint="https://secret"))
    assert settings_for("aggregator", config) == config
    for name in ("capture", "monitor"):
        assert "secret" not in repr(settings_for(name, config))
        assert from_mapping(to_mapping(settings_for(name, config)))  # no rule between options is broken by that


def run_child(monkeypatch: pytest.MonkeyPatch, program: str) -> tuple[int, list[str]]:
    """Run a program in the place of a child; its exit code, and what it wrote as it goes into the log."""
    monkeypatch.setattr(tree, "command", lambda _: [sys.executable, "-c", program])
    child = Child("monitor", None)
    child.start([], [], 0.0)
    lines: list[str] = []
    while (code := child.ended()) is None:
        select.select([child.output] if child.output >= 0 else [], [], [], 0.1)
        lines += child.lines(0.0, "NOW")
    return code, lines + child.bury(0.0, "NOW")


def test_a_child_has_a_session_of_its_own_no_terminal_and_none_of_our_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hush")
    program = """
import os
print(os.getsid(0) == os.getpid(), *map(os.isatty, range(3)), 'AWS_SECRET_ACCESS_KEY' in os.environ)
"""
    assert run_child(monkeypatch, program) == (0, ["NOW ERROR monitor: True False False False False"])


def test_what_a_child_wrote_last_is_in_the_log_and_its_exit_code_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    line = "2026-01-02 03:04:05,678 INFO monitor: all well"
    code, lines = run_child(monkeypatch, f"import sys; print({line!r}); print('half', end=''); sys.exit(9)")
    assert (code, lines) == (9, [line, "NOW ERROR monitor: half"])


def test_a_child_that_runs_is_told_of_another_configuration_and_the_next_one_begins_with_it(made: Tree) -> None:
    capture, aggregator = started(made, "capture"), started(made, "aggregator")
    before = capture.changes
    wanted = from_mapping({"capture": {"ports": [3307]}, "store": {"url": "s3://bucket"}, "workers": {"count": 3}})
    made.adopt(wanted)
    assert capture.changes.latest() == settings_for("capture", wanted) != wanted
    assert aggregator.changes.latest() == wanted
    again = started(made, "capture", generation=1)
    assert again.settings == settings_for("capture", wanted)
    assert before.latest() is None
    assert before.fds == []
    before.close()
    assert started(made, "monitor").settings.capture.ports == (3307,)


def test_a_child_that_does_not_read_is_told_of_the_last_configuration_once_it_does(made: Tree) -> None:
    child = started(made, "monitor")
    for level in range(1000):
        made.adopt(from_mapping({"monitor": {"interval_s": 1 + level}}))
    (waiting,) = child.untold
    assert not select.select([], [waiting], [], 0)[1]
    read = child.changes.latest()
    assert read is not None
    assert read.monitor.interval_s < 1000
    child.tell_rest()
    read = child.changes.latest()
    assert read is not None
    assert read.monitor.interval_s == 1000
    assert child.untold == []


def test_a_configuration_that_is_too_long_to_be_sent_is_refused_before_anybody_is_told(made: Tree) -> None:
    child = started(made, "capture")
    started(made, "aggregator")
    with pytest.raises(StartError, match="too long"):
        made.adopt(from_mapping({"seal": {"recipients": [f"/{number:04000}" for number in range(40)]}}))
    assert child.changes.latest() is None


def test_a_child_that_has_ended_is_not_waited_for_to_read(made: Tree) -> None:
    child = started(made, "monitor")
    child.changes.close()
    made.adopt(from_mapping({"monitor": {"interval_s": 2}}))
    assert child.untold == []
    assert started(made, "monitor").settings.monitor.interval_s == 2
