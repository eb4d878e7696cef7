"""Decides when who is told: changes together, what goes on now and then, and nothing in a silence. Pure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from collector.monitor.alerts.evaluation import Alert, Key
from collector.monitor.alerts.rules import Silence


@dataclass(frozen=True, slots=True)
class Notice:
    """What is told at once."""

    firing: tuple[Alert, ...]
    resolved: tuple[Alert, ...] = ()
    again: bool = False
    """Nothing of it is new: it goes on."""


class Outbox:
    """Gathers changes and repeats what goes on.

    Promises: an alert is told *group_s* after it is raised, with all others of that time; again each *repeat_s* while
    it is there; and that it is over, if it was told. In a silence it is not told, and after it if it is still there.
    """

    def __init__(self, group_s: float, repeat_s: float, silences: Sequence[Silence] = ()) -> None:
        self._group_s = group_s
        self._repeat_s = repeat_s
        self._silences = silences
        self._told: dict[Key, Alert] = {}
        self._changed_at: float | None = None
        self._sent_at = 0.0

    def take(self, alerts: Mapping[Key, Alert], now: float) -> Notice | None:
        """What is to be told at *now* (Unix time), given the alerts that there are; None: nothing."""
        moment = dt.datetime.fromtimestamp(now, dt.UTC)
        loud = {key: alert for key, alert in alerts.items() if not self._silent(alert, moment)}
        fresh = [alert for key, alert in loud.items() if key not in self._told]
        over = [alert for key, alert in self._told.items() if key not in alerts]
        if not fresh and not over:
            self._changed_at = None
            if not self._told or now - self._sent_at < self._repeat_s:
                return None
            going_on = tuple(alert for key, alert in loud.items() if key in self._told)
            self._sent_at = now
            return Notice(going_on, again=True) if going_on else None
        self._changed_at = now if self._changed_at is None else self._changed_at
        if now - self._changed_at < self._group_s:
            return None
        self._changed_at, self._sent_at = None, now
        kept = {key: alert for key, alert in self._told.items() if key in alerts}  # told, and silent now
        self._told = {**kept, **loud}
        return Notice(tuple(fresh), tuple(over))

    def _silent(self, alert: Alert, moment: dt.datetime) -> bool:
        return any(silence.covers(alert.rule.name, moment) for silence in self._silences)
