"""Alerts as the monitor has them: rules over its readings, and a thread for each who is told."""

from __future__ import annotations

import logging
import queue
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from collector.config.monitoring import AlertsOptions
from collector.log import printable
from collector.monitor.alerts.evaluation import Alert, Evaluation, Key
from collector.monitor.alerts.notifiers import Notifier, SendError, make
from collector.monitor.alerts.outbox import Notice, Outbox
from collector.monitor.alerts.rules import Rules, RulesError, parse
from collector.monitor.alerts.starting import STARTING
from collector.monitor.families import Family, Reading, Readings

FIRING: Final = Family("querytap_alerts_firing", "gauge", "Alerts there are.", ("rule", "severity"))
NOTICES: Final = Family(
    "querytap_alert_notices_total", "counter", "Notices by what became of them.", ("notifier", "outcome")
)

MOST_WAITING: Final = 32
"""Notices for one notifier; more are dropped and counted."""
TRIES: Final = 5
FIRST_WAIT_S: Final = 5.0

_MOST_BYTES: Final = 1 << 20
_log = logging.getLogger(__name__)


def read(options: AlertsOptions) -> tuple[Rules, list[Notifier]]:
    """Rules and notifiers as the configuration says. Raises RulesError, whose message names the file."""
    found = Rules()
    notifiers: list[Notifier] = []
    if options.file:
        try:
            with Path(options.file).open("rb") as file:
                found = parse(file.read(_MOST_BYTES).decode())
            notifiers = [make(entry, number) for number, entry in enumerate(found.notifiers, start=1)]
        except OSError as error:
            raise RulesError(f"{options.file} (alerts.file) cannot be read: {error.strerror}") from error
        except (RulesError, UnicodeDecodeError) as error:
            raise RulesError(f"{options.file} (alerts.file): {error}") from error
    if options.starting_set == "on":
        named = {rule.name for rule in found.rules}
        missing = tuple(rule for rule in STARTING if rule.name not in named)  # a rule of that name takes its place
        found = Rules((*found.rules, *missing), found.silences, found.notifiers)
    return found, notifiers


class Alerting:
    """Evaluates at each take(), logs what is raised and what is over, and has the notifiers told.

    A notice that is not taken is tried again with growing pauses, TRIES times; then it is dropped and counted.
    """

    def __init__(self, options: AlertsOptions, rules: Rules, notifiers: Iterable[Notifier]) -> None:
        self._evaluation = Evaluation(rules.rules)
        self._outbox = Outbox(options.group_s, options.repeat_s, rules.silences)
        self._host = socket.gethostname()
        self._alerts: Mapping[Key, Alert] = {}
        self._notices: Counter[tuple[str, str]] = Counter()
        self._over = threading.Event()
        self._queues: list[tuple[Notifier, queue.Queue[Notice]]] = [
            (notifier, queue.Queue(MOST_WAITING)) for notifier in notifiers
        ]
        for notifier, waiting in self._queues:
            threading.Thread(target=self._tell, args=(notifier, waiting), name=notifier.name, daemon=True).start()

    def take(self, readings: Iterable[Reading], now: float) -> Readings:
        """Evaluate; alerts and notices as metrics."""
        found = self._evaluation.take(readings, now)
        for key, alert in found.items():
            if key not in self._alerts:
                _log.warning("alert %s: %s", alert.rule.name, printable(alert.text(self._host)))
        for key, alert in self._alerts.items():
            if key not in found:
                _log.info("alert %s is over: %s", alert.rule.name, printable(alert.text(self._host)))
        self._alerts = found
        notice = self._outbox.take(found, now)
        if notice is not None:
            self._queue(notice)
        firing = Counter((alert.rule.name, str(alert.rule.severity)) for alert in found.values())
        return (
            *(Reading(FIRING, count, labels) for labels, count in firing.items()),
            *(Reading(NOTICES, count, labels) for labels, count in self._notices.copy().items()),
        )

    def close(self) -> None:
        """Tell nothing more; what is under way is not waited for."""
        self._over.set()

    def _queue(self, notice: Notice) -> None:
        for notifier, waiting in self._queues:
            part = notifier.part(notice)
            if part is None:
                continue
            try:
                waiting.put_nowait(part)
            except queue.Full:
                self._count(notifier, "dropped")

    def _tell(self, notifier: Notifier, waiting: queue.Queue[Notice]) -> None:
        while not self._over.is_set():
            notice = waiting.get()
            wait_s = FIRST_WAIT_S
            for tried in range(1, TRIES + 1):
                try:
                    notifier.send(notice, self._host)
                except SendError as error:
                    _log.warning("notifier %s, try %d of %d: %s", notifier.name, tried, TRIES, printable(str(error)))
                    if tried == TRIES or self._over.wait(wait_s):
                        self._count(notifier, "failed")
                        break
                    wait_s *= 2
                else:
                    self._count(notifier, "sent")
                    break

    def _count(self, notifier: Notifier, outcome: str) -> None:
        self._notices[notifier.name, outcome] += 1


def trial() -> Notice:
    """A notice that says it is none, for a test of notifiers."""
    rule = STARTING[0]
    return Notice(
        (Alert(rule, (("server", "this is a test of querytap; nothing is wrong: a server"),), 0, time.time()),)
    )
