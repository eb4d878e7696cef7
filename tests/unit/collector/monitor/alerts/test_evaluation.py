from __future__ import annotations

import pytest

from collector.monitor.alerts.evaluation import Evaluation
from collector.monitor.alerts.rules import Rule
from collector.monitor.alerts.starting import STARTING
from collector.monitor.families import Family, Reading
from collector.monitor.reference import declared
from collector.monitor.system import families as host

pytestmark = pytest.mark.either_build

LEVEL = Family("level", "gauge", "Of a thing.", ("what",))
WHOLE = Family("whole", "gauge", "All of it.", ("what",))


def level(value: float, what: str = "x") -> Reading:
    return Reading(LEVEL, value, (what,))


def raised(evaluation: Evaluation, now: float, *readings: Reading) -> list[str]:
    return sorted(dict(key[1])["what"] for key in evaluation.take(readings, now))


def test_an_alert_is_raised_when_its_condition_has_held_for_long_enough() -> None:
    evaluation = Evaluation([Rule(name="a", metric="level", above=5, for_s=60)])
    assert raised(evaluation, 0, level(6)) == []
    assert raised(evaluation, 59, level(9)) == []
    assert raised(evaluation, 60, level(9)) == ["x"]
    assert raised(evaluation, 70, level(5)) == []
    assert raised(evaluation, 80, level(6)) == [], "it begins anew"


def test_it_is_over_at_the_clear_value_and_not_before() -> None:
    evaluation = Evaluation([Rule(name="a", metric="level", above=5, clear=3)])
    assert raised(evaluation, 0, level(4)) == []
    assert raised(evaluation, 1, level(6)) == ["x"]
    assert raised(evaluation, 2, level(4)) == ["x"]
    assert raised(evaluation, 3, level(3)) == []
    assert raised(evaluation, 4, level(4)) == []


def test_each_series_is_an_alert_of_its_own_and_one_that_is_gone_is_over() -> None:
    evaluation = Evaluation([Rule(name="a", metric="level", below=1)])
    assert raised(evaluation, 0, level(0, "x"), level(0, "y"), level(2, "z")) == ["x", "y"]
    assert raised(evaluation, 1, level(0, "y")) == ["y"]


def test_labels_choose_series_and_a_share_is_of_the_same_labels() -> None:
    evaluation = Evaluation([Rule(name="a", metric="level", per="whole", below=0.1, labels={"what": "x"})])
    wholes = [Reading(WHOLE, 100, (what,)) for what in ("x", "y")]
    assert raised(evaluation, 0, level(5, "x"), level(5, "y"), *wholes) == ["x"]
    assert raised(evaluation, 1, level(5, "x"), Reading(WHOLE, 0, ("x",))) == [], "a share of nothing is none"
    assert raised(evaluation, 2, level(5, "x")) == []


def test_a_rate_is_over_the_time_between_readings_of_the_source() -> None:
    evaluation = Evaluation([Rule(name="a", metric="level", rate=True, above=1)])
    assert raised(evaluation, 0, Reading(host.TIME, 100), level(10)) == []
    assert raised(evaluation, 10, Reading(host.TIME, 110), level(30)) == ["x"]
    assert raised(evaluation, 20, Reading(host.TIME, 110), level(30)) == ["x"], "it was not read again"
    assert raised(evaluation, 30, Reading(host.TIME, 130), level(40)) == []
    assert raised(evaluation, 40, Reading(host.TIME, 140), level(0)) == [], "a counter that begins anew"


def test_a_text_has_labels_and_value_and_never_fails() -> None:
    evaluation = Evaluation([Rule(name="a", metric="level", above=0, text="{what} on {host}: {value:.1%} {none}")])
    (alert,) = evaluation.take([level(0.5)], 0).values()
    assert alert.text("db1") == "x on db1: 50.0% (none)"
    evaluation = Evaluation([Rule(name="a", metric="level", above=0, text="{what:d}")])
    (alert,) = evaluation.take([level(0.5)], 0).values()
    assert alert.text("db1") == "a: level is 0.5"


def test_the_starting_set_is_of_metrics_that_are_declared_with_the_labels_it_names() -> None:
    families = declared()

    def family(metric: str) -> Family:
        return next(
            found for name, found in families.items()
            if name == metric or (name.endswith("*") and metric.startswith(name[:-1]))
        )  # fmt: skip

    for rule in STARTING:
        labels = family(rule.metric).labels
        known = dict.fromkeys(labels, "LABEL")
        evaluation = Evaluation([Rule(name=rule.name, metric=rule.metric, above=-1, text=rule.text)])
        name = family(rule.metric)
        ending = rule.metric.removeprefix(name.name[:-1]) if name.name.endswith("*") else ""
        (alert,) = evaluation.take([Reading(name, 0.5, tuple(known.values()), ending)], 0).values()
        assert "(" not in alert.text("h"), f"{rule.name}: {alert.text('h')}"
        if rule.per:
            assert family(rule.per).labels == labels, rule.name
