from __future__ import annotations

import datetime as dt

import pytest

from collector.monitor.alerts.rules import Rule, RulesError, Silence, parse

pytestmark = pytest.mark.either_build


def test_rules_silences_and_notifiers_come_out_of_one_file() -> None:
    found = parse(
        '[[rule]]\nname = "a"\nmetric = "m"\nabove = 5\nclear = 3\nfor_s = 60\nlabels = {x = "y"}\n'
        '[[silence]]\nfrom = "22:00"\nuntil = 06:00:00\ndays = ["sat"]\nrules = ["a"]\n'
        '[[notifier]]\nkind = "command"\ncommand = ["true"]\n'
    )
    assert found.rules == (Rule(name="a", metric="m", above=5, clear=3, for_s=60, labels={"x": "y"}),)
    assert found.silences == (
        Silence(begins=dt.time(22), ends=dt.time(6), days=frozenset({"sat"}), rules=frozenset({"a"})),
    )
    assert found.notifiers == ({"kind": "command", "command": ["true"]},)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[[rule]", "is not TOML"),
        ("[rule]", r"there are \[\[rule\]\]"),
        ("[[rules]]", r"rules: there are"),
        ("[[rule]]\nabove = 1", "rule 1: name and metric are needed"),
        ('[[rule]]\nname = "a"\nmetric = "m"', "one of above and below"),
        ('[[rule]]\nname = "a"\nmetric = "m"\nabove = 1\nbelow = 1', "one of above and below"),
        ('[[rule]]\nname = "a"\nmetric = "m"\nabove = "1"', "above: is of the wrong kind"),
        ('[[rule]]\nname = "a"\nmetric = "m"\nabove = true', "above: is of the wrong kind"),
        ('[[rule]]\nname = "a"\nmetric = "m"\nabove = 1\nclear = 2', "clear: must be on the good side"),
        ('[[rule]]\nname = "a"\nmetric = "m"\nbelow = 1\nclear = 0.5', "clear: must be on the good side"),
        ('[[rule]]\nname = "a"\nmetric = "m"\nabove = 1\nseverity = "bad"', "severity: must be critical"),
        ('[[rule]]\nname = "a"\nmetric = "m"\nabove = 1\ntext = "{"', "text: "),
        ('[[rule]]\nname = "a"\nmetric = "m"\nabove = 1\nafter = 1', "after: unknown"),
        ('[[rule]]\nname = "a"\nmetric = "m"\nabove = 1\n' * 2, "'a' is there twice"),
        ('[[silence]]\nfrom = "x"\nuntil = "06:00"', "from: must be a time of day"),
        ('[[silence]]\nfrom = "05:00"\nuntil = "06:00"\ndays = ["today"]', "days: must be of mon"),
        ('[[silence]]\nfrom = "05:00"\nuntil = "06:00"\nrules = "a"', "rules: must be a list"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text: str, problem: str) -> None:
    with pytest.raises(RulesError, match=problem):
        parse(text)


def at(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)


def test_a_silence_over_midnight_belongs_to_the_day_on_which_it_begins() -> None:
    night = Silence(begins=dt.time(22), ends=dt.time(6), days=frozenset({"sat"}))
    assert night.covers("a", at("2026-12-05T23:00"))  # a Saturday
    assert night.covers("a", at("2026-12-06T05:59"))
    assert not night.covers("a", at("2026-12-06T06:00"))
    assert not night.covers("a", at("2026-12-05T05:00"))
    assert not night.covers("a", at("2026-12-06T23:00"))


def test_a_silence_of_some_rules_is_of_no_others() -> None:
    noon = Silence(begins=dt.time(12), ends=dt.time(13), rules=frozenset({"a"}))
    assert noon.covers("a", at("2026-12-05T12:30"))
    assert not noon.covers("b", at("2026-12-05T12:30"))
