"""The status file: what `querytap status` shows. Building it is pure; writing it replaces the file at once."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from collector.aggregator.durable import replace_file
from collector.aggregator.ledger import WorkerLedger
from collector.aggregator.resuming import Objects
from collector.places import STATUS_FILE

STATUS_FORMAT: Final = 1
_NS: Final = 1_000_000_000
EVERY_NS: Final = _NS
STILL_NS: Final = 11 * _NS
"""As EVERY_NS, while nothing is recorded: longer than the ten seconds of capture, whose telling is the occasion."""

PASSING: Final = frozenset({"time", "rates", "host_sample", "budget"})
"""Of the status, what changes although nothing is recorded."""

_WINDOW_NS: Final = 10 * _NS


class Rates:
    """Statements and packets a second over the last ten seconds. Times are arguments."""

    def __init__(self) -> None:
        self._samples: deque[tuple[int, int, int]] = deque()

    def sample(self, now_ns: int, ledger: Mapping[int, WorkerLedger]) -> dict[str, float]:
        """Take the totals of now; the rates since the oldest sample come back."""
        statements = sum(worker.decoded for worker in ledger.values())
        packets = sum(worker.passed for worker in ledger.values())
        self._samples.append((now_ns, statements, packets))
        while len(self._samples) > 1 and self._samples[1][0] <= now_ns - _WINDOW_NS:
            self._samples.popleft()
        then_ns, then_statements, then_packets = self._samples[0]
        seconds = (now_ns - then_ns) / _NS
        if seconds <= 0:
            return {"statements_per_s": 0.0, "packets_per_s": 0.0}
        return {
            "statements_per_s": round((statements - then_statements) / seconds, 1),
            "packets_per_s": round((packets - then_packets) / seconds, 1),
        }


def figures(ledger: Mapping[int, WorkerLedger], objects: Objects) -> dict[str, int]:
    """Those that stay as they are while all is well."""
    return {
        "dropped": sum(worker.dropped for worker in ledger.values()),
        "lost": sum(worker.lost for worker in ledger.values()),
        "crashes": sum(worker.crashes for worker in ledger.values()),
        "discarded": objects.discarded,
        "evicted": objects.evicted,
    }


def build_status(
    *,
    time: str,
    began: str,
    moments: Mapping[str, Any],
    identity: Mapping[str, Any],
    ledger: Mapping[int, WorkerLedger],
    rates: Mapping[str, float],
    batches: Mapping[str, Any],
    store: Mapping[str, Any],
    budget: Mapping[str, Any],
    host: Mapping[str, Any],
    warnings: Sequence[str],
    state: str,
) -> dict[str, Any]:
    """The status as it is written: plain values only."""
    return {
        "format": STATUS_FORMAT,
        "time": time,
        "began": began,
        "moments": dict(moments),
        **identity,
        "state": state,
        "ledger": {str(number): worker.as_map() for number, worker in ledger.items()},
        "balanced": not any(worker.faults for worker in ledger.values()),
        "rates": dict(rates),
        "batches": dict(batches),
        "store": dict(store),
        "budget": dict(budget),
        "host_sample": dict(host),
        "warnings": list(warnings),
    }


def write_status(folder: Path, status: Mapping[str, Any]) -> None:
    """Replace the status file in *folder*. Raises OSError."""
    data = json.dumps(status, default=str).encode("utf-8") + b"\n"
    replace_file(folder / STATUS_FILE, data, mode=0o644, durable=False)
