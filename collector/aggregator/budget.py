"""Keeps querytap to its budget: measures, lets the governor decide, and accounts for what is given up."""

from __future__ import annotations

import logging
import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import psutil

from collector import channel
from collector.archive.heads import BlockHead
from collector.budget import kernel
from collector.budget.cap import cap_percent
from collector.budget.coverage import Estimate
from collector.budget.governor import Decision, Governor, Measurement
from collector.budget.kernel import Costs, Packets
from collector.budget.levels import Level, ladder
from collector.budget.meter import Meter, Reading, spent
from collector.budget.spans import Spans
from collector.channel import Order, Reach
from collector.config import Config

_NS: Final = 1_000_000_000
_GRACE_NS: Final = 5 * _NS
"""After the start, which costs more than what follows: it is measured, and nothing is given up for it."""
_SHORTEST_NS: Final = _NS // 5
_MOST_SESSIONS: Final = 1 << 20
_PICO: Final = 1000

_log = logging.getLogger("aggregator")


@dataclass(slots=True)
class _Before:
    """What the last measurement was taken from."""

    at_ns: int
    reading: Reading
    packets: Packets


class Budget:
    """Measures each time it is asked to; in between, `level` is what holds.

    Promise: every span of time in which something was given up is in the account of one batch.
    """

    def __init__(self, config: Config, meter: Meter, now_ns: int, seen: Callable[[Config], int]) -> None:
        self._config = config
        self._meter = meter
        self._seen = seen
        self._governor = Governor(_ladder(config), _cap(config))
        self._before = _Before(now_ns, meter.read(now_ns / _NS), Packets(0, seen(config)))
        self._begun_ns: int | None = None
        self._costs = Costs()
        self._reach: Reach | None = None
        self._estimate = Estimate()
        self._share(0)
        self._spans = Spans()
        self._sessions: Counter[int] = Counter()
        self._since_ns = 0
        self._why = ""
        self._own_percent = self._kernel_percent = 0.0

    @property
    def level(self) -> Level:
        """What is done now."""
        return self._governor.level

    def adapt(self, config: Config) -> None:
        """Keep to what is said now."""
        self._config = config
        self._governor.bound(_ladder(config), _cap(config))
        self._share(time.time_ns())

    def take(self, record: channel.Costs | Reach) -> None:
        """Take what capture tells of the kernel and of the servers' sockets."""
        if isinstance(record, channel.Costs):
            self._costs = Costs(record.passed_ps / _PICO, record.other_ps / _PICO, calibrated=True)
            return
        before, self._reach = self._reach, record
        if before is not None and record.all >= before.all and record.kept >= before.kept:
            self._estimate.segments(record.kept - before.kept, record.all - before.all)

    def take_block(self, head: BlockHead) -> None:
        """A block of a worker has come."""
        sessions = head.summary.get("sessions", 0)
        if isinstance(sessions, int) and 0 <= sessions <= _MOST_SESSIONS:
            self._sessions[head.worker] = max(self._sessions[head.worker], sessions)
        if head.statements:
            self._estimate.statements(head.statements, head.last_ns, self._sessions.total())

    def order(self) -> Order:
        """What capture is to let pass."""
        level = self.level
        return Order(responses=level.responses, halvings=level.halvings, captures=level.captures)

    def measure(self, now_ns: int, realtime_ns: int, passed: int, *, recording: bool) -> Decision | None:
        """Measure what was used since the last time, and decide; None where there is nothing to decide yet.

        *passed*: packets since the start that passed the filter; *recording*: all processes have started.
        """
        before = self._before
        if now_ns - before.at_ns < _SHORTEST_NS:
            return None
        reading = self._meter.read(now_ns / _NS)
        seconds = (now_ns - before.at_ns) / _NS
        packets = Packets(passed, self._seen(self._config))
        self._own_percent = 100 * spent(before.reading, reading) / seconds
        self._kernel_percent = kernel.percent(before.packets, packets, seconds, self._costs)
        self._before = _Before(now_ns, reading, packets)
        if not recording:
            return None
        if self._begun_ns is None:
            self._begun_ns = now_ns
        if now_ns - self._begun_ns < _GRACE_NS:
            return None
        decision = self._governor.decide(Measurement(seconds, self._own_percent + self._kernel_percent))
        if decision.changed:
            self._changed(decision, realtime_ns)
        return decision

    def account(self, realtime_ns: int) -> dict[str, Any]:
        """For the ledger of a batch that is sealed now: what was given up since the one before."""
        found = {
            "cap_percent": _cap(self._config),
            "own_percent": round(self._own_percent, 2),
            "kernel_percent": round(self._kernel_percent, 2),
            "level": self.level.name,
            "spans": self._spans.take(realtime_ns),
            "coverage": self._estimate.take().as_map(),
        }
        self._sessions.clear()
        return found

    def as_map(self) -> dict[str, Any]:
        """For the status."""
        return {
            "cpu_percent": _cap(self._config),
            "own_percent": round(self._own_percent, 2),
            "kernel_percent": round(self._kernel_percent, 2),
            "calibrated": self._costs.calibrated,
            "level": self.level.name,
            "since_ns": self._since_ns,
            "why": self._why,
        }

    def _share(self, realtime_ns: int) -> None:
        self._estimate.share_is(self.level.share * self._config.capture.keep_percent / 100, realtime_ns)

    def _changed(self, decision: Decision, realtime_ns: int) -> None:
        level = decision.level
        self._since_ns, self._why = realtime_ns, decision.why
        self._share(realtime_ns)
        self._spans.note(level.name, decision.why, realtime_ns)
        _log.warning("budget: level %s from now on, as %s", level.name, decision.why)


def packets_seen(config: Config) -> int:
    """Packets that met a filter of capture since boot, as the interfaces count them; 0 where they are elsewhere."""
    if set(config.capture.namespaces) - {"own"}:
        return 0
    counts = psutil.net_io_counters(pernic=True, nowrap=False)
    chosen = config.capture.interfaces
    # A single interface is bound to; of several, or all, each packet of the host comes to the filter.
    bound = [counts[chosen[0]]] if len(chosen) == 1 and chosen[0] in counts else counts.values()
    return sum(one.packets_sent + one.packets_recv for one in bound)


def _cap(config: Config) -> float:
    return cap_percent(config.budget, os.cpu_count() or 1)


def _ladder(config: Config) -> Sequence[Level]:
    return ladder(config.capture.responses, none=config.capture.mode != "slow", leave=False)
