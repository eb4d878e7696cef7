"""Which alerts there are, by the rules and the readings as they come. Pure: readings and times come in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from collector.monitor.alerts.rules import Rule
from collector.monitor.families import Reading

MOST_ALERTS: Final = 1000
"""At a time; what a rule would raise beyond is left out, as nobody reads so many."""

_HOST_CLOCK: Final = "node_time_seconds"
_SERVER_CLOCK: Final = "querytap_mysql_poll_time_seconds"
_SERVER: Final = "server"

Labels = tuple[tuple[str, str], ...]
Key = tuple[str, Labels]
_Series = Mapping[Labels, float]


@dataclass(frozen=True, slots=True)
class Alert:
    """A condition that holds, and has for as long as its rule asks."""

    rule: Rule
    labels: Labels
    value: float
    since: float
    """Unix time at which it began to hold."""

    @property
    def key(self) -> Key:
        """What makes it this one."""
        return self.rule.name, self.labels

    def text(self, host: str) -> str:
        """What is said of it."""
        words: dict[str, Any] = _Words(dict(self.labels), rule=self.rule.name, host=host, value=self.value)
        template = self.rule.text or f"{self.rule.metric} is {{value:g}}"
        try:
            return template.format_map(words)
        except (ValueError, TypeError, AttributeError, LookupError):  # a format that does not fit what it is of
            return f"{self.rule.name}: {self.rule.metric} is {self.value:g}"


class _Words(dict[str, Any]):
    def __missing__(self, name: str) -> str:
        return f"({name})"


class Evaluation:
    """Takes readings at each interval; says which alerts there are.

    Promises: an alert is there once its condition held at each reading for `for_s`, and until it does not by the clear
    value, or its series is gone. A rate is over the time between two readings of the same source.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = rules
        self._wanted = {name for rule in rules for name in (rule.metric, rule.per) if name}
        self._held: dict[Key, float] = {}
        """Since when a condition holds."""
        self._firing: frozenset[Key] = frozenset()
        self._before: dict[Key, tuple[float, float]] = {}
        """Of a rate: time and value of the last reading."""
        self._rates: dict[Key, float] = {}
        self._seen: set[Key] = set()
        """Of these rates those that this round has."""

    def take(self, readings: Iterable[Reading], now: float) -> dict[Key, Alert]:
        """The alerts of *now* (Unix time), by their keys."""
        series, clocks = self._index(readings)
        held: dict[Key, float] = {}
        found: dict[Key, Alert] = {}
        for rule in self._rules:
            for labels, value in self._values(rule, series, clocks):
                key = (rule.name, labels)
                if not rule.met(value, firing=key in self._firing):
                    continue
                since = held[key] = self._held.get(key, now)
                if now - since >= rule.for_s and len(found) < MOST_ALERTS:
                    found[key] = Alert(rule, labels, value, since)
        self._held, self._firing = held, frozenset(found)
        self._before = {key: self._before[key] for key in self._seen}
        self._rates = {key: rate for key, rate in self._rates.items() if key in self._seen}
        self._seen.clear()
        return found

    def _index(self, readings: Iterable[Reading]) -> tuple[Mapping[str, _Series], Mapping[str, float]]:
        series: defaultdict[str, dict[Labels, float]] = defaultdict(dict)
        clocks: dict[str, float] = {}
        for reading in readings:
            name = reading.name
            if name == _HOST_CLOCK:
                clocks[""] = reading.value
            elif name == _SERVER_CLOCK:
                clocks[reading.labels[0]] = reading.value
            if name in self._wanted:
                series[name][tuple(zip(reading.family.labels, reading.labels, strict=True))] = reading.value
        return series, clocks

    def _values(
        self, rule: Rule, series: Mapping[str, _Series], clocks: Mapping[str, float]
    ) -> Iterable[tuple[Labels, float]]:
        divisors = series.get(rule.per, {})
        for labels, value in series.get(rule.metric, {}).items():
            if not rule.labels.items() <= dict(labels).items():
                continue
            if rule.per:
                divisor = divisors.get(labels, 0)
                if divisor:
                    yield labels, value / divisor
            elif rule.rate:
                rate = self._rate((rule.name, labels), value, clocks.get(dict(labels).get(_SERVER, ""), 0))
                if rate is not None:
                    yield labels, rate
            else:
                yield labels, value

    def _rate(self, key: Key, value: float, at: float) -> float | None:
        """None at first; of a source that was not read since, the same as before."""
        then, before = self._before.get(key, (at, value))
        if at > then:
            self._rates[key] = max(value - before, 0) / (at - then)
        self._before[key] = (at, value)
        self._seen.add(key)
        return self._rates.get(key)
