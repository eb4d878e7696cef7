"""What an alert is raised for, and when nobody is told: out of TOML, each problem with its place. Pure."""

from __future__ import annotations

import datetime as dt
import string
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

Severity = Literal["critical", "warning", "info"]
SEVERITIES: Final[tuple[Severity, ...]] = ("critical", "warning", "info")
DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

MOST_RULES: Final = 500


class RulesError(Exception):
    """A file of rules cannot be used; the message names what is wrong, a problem a line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A condition over the series of one metric; each series that meets it is an alert of its own."""

    name: str
    metric: str
    above: float | None = None
    below: float | None = None
    """One of the two is given."""
    clear: float | None = None
    """The value at which it is over; None: at that bound itself."""
    rate: bool = False
    """It is over the growth a second, and not over the value."""
    per: str = ""
    """The value is divided by that of this metric with the same labels."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """What the series' labels have to be."""
    for_s: float = 0
    severity: Severity = "warning"
    text: str = ""
    """What is said: a template with labels, `value`, `rule` and `host` in braces."""

    def met(self, value: float, *, firing: bool) -> bool:
        """Whether the condition holds; of an alert that is *firing* it holds until the clear value is passed."""
        if self.above is not None:
            return value > (self.clear if firing and self.clear is not None else self.above)
        assert self.below is not None
        return value < (self.clear if firing and self.clear is not None else self.below)


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """A window of time, each day or on some, in which nobody is told. Times are UTC."""

    begins: dt.time
    ends: dt.time
    days: frozenset[str] = frozenset()
    """On which it begins; empty: on all."""
    rules: frozenset[str] = frozenset()
    """Of which alerts; empty: of all."""

    def covers(self, rule: str, now: dt.datetime) -> bool:
        """Whether an alert of *rule* is silent at that time, which is in UTC."""
        if self.rules and rule not in self.rules:
            return False
        at = now.time()
        if self.begins <= self.ends:
            return self.begins <= at < self.ends and self._on(now)
        yesterday = now - dt.timedelta(days=1)
        return (at >= self.begins and self._on(now)) or (at < self.ends and self._on(yesterday))

    def _on(self, day: dt.datetime) -> bool:
        return not self.days or DAYS[day.weekday()] in self.days


@dataclass(frozen=True, slots=True)
class Rules:
    """What a file says."""

    rules: tuple[Rule, ...] = ()
    silences: tuple[Silence, ...] = ()
    notifiers: tuple[Mapping[str, Any], ...] = ()
    """As they stand in the file; who makes notifiers of them checks them."""


_KINDS: Final[Mapping[str, type | tuple[type, ...]]] = {
    "name": str, "metric": str, "above": (int, float), "below": (int, float), "clear": (int, float), "rate": bool,
    "per": str, "labels": dict, "for_s": (int, float), "severity": str, "text": str,
}  # fmt: skip


def parse(text: str) -> Rules:
    """The rules, silences and notifiers of a file. Raises RulesError."""
    try:
        tables = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise RulesError(f"is not TOML: {error}") from error
    problems: list[str] = []
    found: dict[str, list[Any]] = {"rule": [], "silence": [], "notifier": []}
    makers: dict[str, Callable[[Mapping[str, Any]], object]] = {"rule": _rule, "silence": _silence, "notifier": dict}
    for section, entries in tables.items():
        if section not in found or not isinstance(entries, list) or len(entries) > MOST_RULES:
            problems.append(
                f"{section}: there are [[rule]], [[silence]] and [[notifier]], {MOST_RULES} of each at most"
            )
            continue
        for number, entry in enumerate(entries, start=1):
            try:
                found[section].append(makers[section](entry))
            except RulesError as error:
                problems.append(f"{section} {number}: {error}")
    names = [rule.name for rule in found["rule"]]
    problems += [f"rule {name!r} is there twice" for name in sorted({name for name in names if names.count(name) > 1})]
    if problems:
        raise RulesError("\n".join(problems))
    return Rules(tuple(found["rule"]), tuple(found["silence"]), tuple(found["notifier"]))


def _rule(entry: Mapping[str, Any]) -> Rule:
    for name, value in entry.items():
        if name not in _KINDS:
            raise RulesError(f"{name}: unknown; there are {', '.join(_KINDS)}")
        if not isinstance(value, _KINDS[name]) or (isinstance(value, bool) and name != "rate"):
            raise RulesError(f"{name}: is of the wrong kind")
    if not entry.get("name") or not entry.get("metric"):
        raise RulesError("name and metric are needed")
    if ("above" in entry) == ("below" in entry):
        raise RulesError("one of above and below is needed")
    if entry.get("severity", "warning") not in SEVERITIES:
        raise RulesError(f"severity: must be {', '.join(SEVERITIES)}")
    rule = Rule(**entry)
    if rule.clear is not None and (
        rule.clear > rule.above if rule.above is not None else rule.clear < (rule.below or 0)
    ):
        raise RulesError("clear: must be on the good side of the bound")
    try:
        list(string.Formatter().parse(rule.text))
    except ValueError as error:
        raise RulesError(f"text: {error}") from error
    return rule


def _silence(entry: Mapping[str, Any]) -> Silence:
    unknown = entry.keys() - {"from", "until", "days", "rules"}
    if unknown:
        raise RulesError(f"{', '.join(sorted(unknown))}: unknown; there are from, until, days, rules")
    days, rules = _names(entry, "days"), _names(entry, "rules")
    if not days <= set(DAYS):
        raise RulesError(f"days: must be of {', '.join(DAYS)}")
    return Silence(begins=_time(entry, "from"), ends=_time(entry, "until"), days=days, rules=rules)


def _time(entry: Mapping[str, Any], name: str) -> dt.time:
    value = entry.get(name)
    if isinstance(value, dt.time):
        return value
    try:
        return dt.time.fromisoformat(str(value))
    except ValueError:
        raise RulesError(f"{name}: must be a time of day in UTC, such as 22:00") from None


def _names(entry: Mapping[str, Any], name: str) -> frozenset[str]:
    value: Sequence[object] = entry.get(name, ())
    if isinstance(value, str) or not all(isinstance(one, str) for one in value):
        raise RulesError(f"{name}: must be a list of texts")
    return frozenset(map(str, value))
