from __future__ import annotations

import datetime as dt

import pytest

from collector.monitor.alerts.evaluation import Alert, Key
from collector.monitor.alerts.outbox import Notice, Outbox
from collector.monitor.alerts.rules import Rule, Silence

pytestmark = pytest.mark.either_build

NOON = dt.datetime(2026, 12, 5, 12, tzinfo=dt.UTC).timestamp()


def there(*names: str) -> dict[Key, Alert]:
    alerts = [Alert(Rule(name=name, metric="m", above=0), (), 1, NOON) for name in names]
    return {alert.key: alert for alert in alerts}


def said(notice: Notice | None) -> tuple[list[str], list[str]] | None:
    if notice is None:
        return None
    return [alert.rule.name for alert in notice.firing], [alert.rule.name for alert in notice.resolved]


def test_what_comes_within_a_while_is_told_together_and_once() -> None:
    outbox = Outbox(group_s=30, repeat_s=3600)
    assert outbox.take(there("a"), NOON) is None
    assert outbox.take(there("a", "b"), NOON + 20) is None
    assert said(outbox.take(there("a", "b"), NOON + 30)) == (["a", "b"], [])
    assert outbox.take(there("a", "b"), NOON + 100) is None


def test_what_is_over_is_told_if_it_was_told_before() -> None:
    outbox = Outbox(group_s=0, repeat_s=3600)
    assert said(outbox.take(there("a"), NOON)) == (["a"], [])
    assert said(outbox.take(there("b"), NOON + 10)) == (["b"], ["a"])
    assert said(outbox.take({}, NOON + 20)) == ([], ["b"])
    slow = Outbox(group_s=30, repeat_s=3600)
    assert slow.take(there("a"), NOON) is None
    assert slow.take({}, NOON + 10) is None
    assert slow.take({}, NOON + 100) is None, "it came and went before anybody was told"


def test_what_goes_on_is_told_again_after_a_time() -> None:
    outbox = Outbox(group_s=0, repeat_s=3600)
    outbox.take(there("a"), NOON)
    assert outbox.take(there("a"), NOON + 3599) is None
    notice = outbox.take(there("a"), NOON + 3600)
    assert notice is not None
    assert notice.again
    assert said(notice) == (["a"], [])
    assert outbox.take(there("a"), NOON + 3700) is None


def test_in_a_silence_nothing_is_told_and_after_it_what_is_still_there() -> None:
    silence = Silence(begins=dt.time(12), ends=dt.time(13), rules=frozenset({"a"}))
    outbox = Outbox(group_s=0, repeat_s=7200, silences=[silence])
    assert said(outbox.take(there("a", "b"), NOON)) == (["b"], [])
    assert outbox.take(there("a", "b"), NOON + 1800) is None
    assert said(outbox.take(there("a", "b"), NOON + 3600)) == (["a"], [])


def test_one_that_was_told_before_a_silence_is_not_told_as_new_after_it() -> None:
    silence = Silence(begins=dt.time(12), ends=dt.time(13))
    outbox = Outbox(group_s=0, repeat_s=86_400, silences=[silence])
    assert said(outbox.take(there("a"), NOON - 60)) == (["a"], [])
    assert outbox.take(there("a"), NOON) is None
    assert outbox.take(there("a"), NOON + 3600) is None
