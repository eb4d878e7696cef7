"""How each instance of an archive is, from the two newest headers of it: no key, no SQL. Pure.

An instance stores an object at least each minute, whether or not anything was recorded; so what does not is silent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from collector.archive.layout import Header
from collector.reading.chains import statements_of, sum_of, workers_of
from collector.reading.shedding import shed

OK: Final = "ok"
QUIET: Final = "quiet"
STOPPED: Final = "stopped"
SILENT: Final = "silent"
BLIND: Final = "blind"
SHEDDING: Final = "shedding"

TROUBLE: Final = frozenset({SILENT, BLIND, SHEDDING})
"""States that somebody should look at."""

STATES: Final = {
    OK: "records statements",
    QUIET: "is there, and nothing is sent to its servers",
    STOPPED: "was ended properly, and has not begun again",
    SILENT: "has stored no object for longer than is allowed, and said no farewell: dead, or cut off from the store",
    BLIND: "sees packets and decodes nothing of them: TLS, or what cannot be followed; or its capture does not run",
    SHEDDING: "loses some: the kernel drops packets, statements are lost or given up, or its budget is too small",
}


@dataclass(frozen=True, slots=True)
class Condition:
    """How an instance is; counts are those between its two newest objects."""

    header: Header
    state: str
    reasons: tuple[str, ...]
    age_ns: int
    """Since its newest object was sealed."""
    seconds: float
    """Between its two newest objects; 0 where there is one alone, or another run began."""
    statements: int
    """Decoded in these."""


def condition(newest: Header, before: Header | None, now_ns: int, silent_after_ns: int) -> Condition:
    """The state of an instance at *now_ns*; *before* is the object before its newest, where that is there."""
    same_run = before is not None and before.run == newest.run
    earlier: Mapping[str, Any] = before.ledger if before is not None and same_run else {}
    age_ns = max(0, now_ns - newest.sealed_ns)
    grown = _Growth(newest.ledger, earlier)
    seconds = (newest.sealed_ns - before.sealed_ns) / 1e9 if before is not None and same_run else 0.0
    state, reasons = _state(newest, grown, silent=age_ns > silent_after_ns)
    return Condition(newest, state, reasons, age_ns, seconds, grown.of("statements", "decoded"))


def _state(newest: Header, grown: _Growth, *, silent: bool) -> tuple[str, tuple[str, ...]]:
    if newest.ledger.get("final") is True:
        return STOPPED, ()
    if silent:
        return SILENT, ()
    if not any(True for _ in workers_of(newest.ledger)):
        return BLIND, ("no worker captures",)
    losses = tuple(f"{count} {what}" for what, count in grown.losses().items() if count > 0)
    if reasons := (*losses, *shed(newest.ledger)):
        return SHEDDING, reasons
    if grown.of("statements", "decoded") == 0 and not statements_of(newest):
        unread = grown.unread()
        return (BLIND, (f"{unread} packets, none of them decoded",)) if unread else (QUIET, ())
    return OK, ()


class _Growth:
    """By how much counts of a ledger have grown."""

    def __init__(self, now: Mapping[str, Any], before: Mapping[str, Any]) -> None:
        self._now = now
        self._before = before

    def of(self, part: str, name: str) -> int:
        """One count, over all workers."""
        return sum_of(self._now, part, name) - sum_of(self._before, part, name)

    def losses(self) -> dict[str, int]:
        """What was lost, by what it is called."""
        return {
            "packets dropped by the kernel": self.of("packets", "dropped"),
            "packets lost with a worker": self.of("packets", "lost"),
            "statements lost": self.of("statements", "lost"),
        }

    def unread(self) -> int:
        """Packets that were taken and of which nothing came but a count."""
        return _unread(self._now) - _unread(self._before)


def _unread(ledger: Mapping[str, Any]) -> int:
    found = 0
    for _, worker in workers_of(ledger):
        packets = worker.get("packets")
        taken = packets.get("taken") if isinstance(packets, Mapping) else None
        if isinstance(taken, Mapping):
            found += sum(
                count for name in ("encrypted", "desync", "unmatched") if isinstance(count := taken.get(name), int)
            )
    return found
