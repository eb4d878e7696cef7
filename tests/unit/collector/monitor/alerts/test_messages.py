from __future__ import annotations

import json

import pytest

from collector.monitor.alerts import messages
from collector.monitor.alerts.evaluation import Alert
from collector.monitor.alerts.outbox import Notice
from collector.monitor.alerts.rules import Rule

pytestmark = pytest.mark.either_build

DOWN = Alert(
    Rule(name="down", metric="up", below=1, severity="critical", text="{server} is down"), (("server", "db"),), 0, 0
)
SLOW = Alert(Rule(name="slow", metric="lag", above=1), (), 5, 0)
NOTICE = Notice((DOWN,), (SLOW,))


def test_a_notice_is_one_line_and_then_a_line_an_alert() -> None:
    assert messages.subject(NOTICE, "h") == "[querytap] h: 1 firing (critical), 1 resolved"
    assert messages.text(NOTICE, "h") == "CRITICAL down: db is down\nRESOLVED slow: lag is 5"
    assert "still firing" in messages.subject(Notice((SLOW,), again=True), "h")


def test_a_long_list_is_cut() -> None:
    lines = messages.text(Notice((SLOW,) * 50), "h").splitlines()
    assert (len(lines), lines[-1]) == (21, "and 30 more")


@pytest.mark.parametrize("shape", messages.SHAPES)
def test_each_shape_is_json_that_names_the_alert(shape: str) -> None:
    bodies = messages.SHAPES[shape](NOTICE, "h", "key")
    assert "db is down" in json.dumps(bodies)


def test_pagerduty_gets_an_event_each_with_a_key_that_stays() -> None:
    trigger, resolve = messages.pagerduty(NOTICE, "h", "key")
    assert (trigger["event_action"], resolve["event_action"]) == ("trigger", "resolve")
    assert trigger["payload"]["severity"] == "critical"
    (over,) = messages.pagerduty(Notice((), (DOWN,)), "h", "key")
    assert over["dedup_key"] == trigger["dedup_key"] != resolve["dedup_key"]


def test_our_own_shape_has_all_there_is() -> None:
    (body,) = messages.own(NOTICE, "h")
    assert body["firing"][0]["labels"] == {"server": "db"}
    assert body["resolved"][0]["since"] == "1970-01-01T00:00:00+00:00"
