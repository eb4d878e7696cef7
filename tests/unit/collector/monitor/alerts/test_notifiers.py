from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from collector.monitor.alerts import messages, notifiers
from collector.monitor.alerts.evaluation import Alert
from collector.monitor.alerts.notifiers import SendError, make
from collector.monitor.alerts.outbox import Notice
from collector.monitor.alerts.rules import Rule, RulesError
from tests.support.listeners import http_listener, mail_listener

pytestmark = pytest.mark.either_build

DOWN = Alert(Rule(name="down", metric="up", below=1, severity="critical", text="it is down"), (), 0, 0)
SLOW = Alert(Rule(name="slow", metric="lag", above=1), (), 5, 0)
NOTICE = Notice((DOWN,), (SLOW,))


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def send(**entry: Any) -> None:  # noqa: ANN401  # fields of many types
    make(entry, 1).send(NOTICE, "h")


@pytest.mark.parametrize("kind", ["webhook", "slack", "teams", "dingtalk"])
def test_a_webhook_gets_the_shape_it_reads(kind: str, tmp_path: Path) -> None:
    with http_listener() as (url, got):
        file = tmp_path / "url"
        file.write_text(url + "\n")
        send(kind=kind, url_file=str(file))
    assert got == messages.SHAPES[kind](NOTICE, "h", "")


def test_pagerduty_gets_the_key_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("s3cret\n")
    with http_listener() as (url, got):
        send(kind="pagerduty", url=url, key_file=str(file))
    assert [(event["routing_key"], event["event_action"]) for event in got] == [
        ("s3cret", "trigger"), ("s3cret", "resolve"),
    ]  # fmt: skip


def test_who_does_not_take_it_is_told_of_without_the_url(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with http_listener(500) as (url, _), pytest.raises(SendError, match="answered with 500"):
        send(kind="webhook", url=url)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        with pytest.raises(SendError, match="cannot be reached") as error:
            send(kind="webhook", url=f"http://127.0.0.1:{probe.getsockname()[1]}/s3cret")
        assert "s3cret" not in str(error.value)
    monkeypatch.setattr(notifiers, "TIMEOUT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(SendError):
        send(kind="webhook", url=f"http://127.0.0.1:{silent.getsockname()[1]}/")
    with pytest.raises(SendError, match="must begin with https"):
        send(kind="webhook", url="file:///etc/passwd")
    with pytest.raises(SendError, match="cannot be read"):
        send(kind="webhook", url_file=str(tmp_path / "none"))


def test_a_mail_has_a_subject_and_a_line_an_alert() -> None:
    with mail_listener() as (server, got):
        send(kind="email", server=server, to=["dba@example.net"], tls="none", **{"from": "querytap@example.net"})
    (mail,) = got
    assert "Subject: [querytap] h: 1 firing (critical), 1 resolved" in mail
    assert "To: dba@example.net" in mail
    assert "CRITICAL down: it is down" in mail


def test_a_mail_server_that_has_no_tls_is_not_talked_to_in_clear() -> None:
    with mail_listener() as (server, got), pytest.raises(SendError, match="mail server"):
        send(kind="email", server=server, to=["dba@example.net"], **{"from": "querytap@example.net"})
    assert got == []


def test_a_command_gets_the_notice_as_json(tmp_path: Path) -> None:
    file = tmp_path / "said"
    send(kind="command", command=["sh", "-c", f"cat > {file}"])
    assert json.loads(file.read_text())["firing"][0]["text"] == "it is down"
    with pytest.raises(SendError, match="ended with 3"):
        send(kind="command", command=["sh", "-c", "exit 3"])
    with pytest.raises(SendError, match="cannot be run"):
        send(kind="command", command=["/there/is/none"])


def test_a_notifier_is_told_of_what_is_severe_enough() -> None:
    made = make({"kind": "command", "command": ["true"], "least": "critical"}, 1)
    assert made.part(NOTICE) == Notice((DOWN,))
    assert made.part(Notice((SLOW,))) is None


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({}, "kind: must be webhook"),
        ({"kind": "webhook"}, "one of url and url_file"),
        ({"kind": "webhook", "url": "a", "url_file": "b"}, "one of url and url_file"),
        ({"kind": "webhook", "url": 5}, "url must be a text"),
        ({"kind": "pagerduty"}, "key_file is needed"),
        ({"kind": "slack", "url": "a", "to": "b"}, "to: unknown"),
        ({"kind": "command", "command": "true"}, "command must be a list"),
        ({"kind": "command", "command": ["a"], "least": "x"}, "least: must be"),
        ({"kind": "email", "server": "h:25", "from": "a", "to": "b"}, "to a list"),
        ({"kind": "email", "server": "h", "from": "a", "to": ["b"]}, "notifier 1"),
        ({"kind": "email", "from": "a", "to": ["b"]}, "server is needed"),
    ],
)
def test_a_notifier_that_cannot_be_is_refused(entry: dict[str, object], problem: str) -> None:
    with pytest.raises(RulesError, match=problem):
        make(entry, 1)
