"""What the ledger of an object says of the budget: what was given up to keep to it, and which share is left. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from collector.budget.levels import COMPRESSION, FULL
from collector.reading.lines import printable, rfc3339

_MOST_NS: Final = 1 << 63


def spans(ledger: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The times in which less was done than is configured, as far as they are what they should be."""
    found = _budget(ledger).get("spans")
    for span in found if isinstance(found, list) else ():
        if isinstance(span, Mapping) and all(_is_time(span.get(end)) for end in ("from_ns", "to_ns")):
            yield span


def shed_seconds(ledger: Mapping[str, Any]) -> float:
    """How long less was captured than is configured."""
    counted = (span for span in spans(ledger) if span.get("level") != COMPRESSION)
    return float(sum(max(span["to_ns"] - span["from_ns"], 0) for span in counted) / 1e9)


def shed(ledger: Mapping[str, Any]) -> tuple[str, ...]:
    """What of it cost statements or what is known of them: a reason each."""
    levels = dict.fromkeys(_text(span.get("level")) for span in spans(ledger))
    present = _text(_budget(ledger).get("level", FULL))
    names = [name for name in dict.fromkeys((*levels, present)) if name not in {FULL, COMPRESSION}]
    if not names:
        return ()
    return (f"level {', '.join(names)} to keep to the budget{_share(ledger)}",)


def budget_lines(ledger: Mapping[str, Any]) -> Iterator[str]:
    """For people, below the ledger of the workers."""
    budget = _budget(ledger)
    if not budget:
        return
    used = f"{_text(budget.get('own_percent'))} % of a core, {_text(budget.get('kernel_percent'))} % in the kernel"
    yield f"  budget: {used}, {_text(budget.get('cap_percent'))} % allowed{_share(ledger)}"
    for span in spans(ledger):
        yield (
            f"  budget: level {_text(span.get('level'))} from {rfc3339(span['from_ns'])} to {rfc3339(span['to_ns'])}:"
            f" {_text(span.get('why'))}"
        )


def _share(ledger: Mapping[str, Any]) -> str:
    coverage = _budget(ledger).get("coverage")
    if not isinstance(coverage, Mapping) or coverage.get("of") in {None, "whole"}:
        return ""
    share, error = coverage.get("share"), coverage.get("error")
    if not isinstance(share, int | float):
        return ""
    off = f", give or take {100 * error:.0f} % of that" if isinstance(error, int | float) else ", how exact is unknown"
    return f"; captured {100 * share:.2f} % of what came, by {_text(coverage['of'])}{off}"


def _budget(ledger: Mapping[str, Any]) -> Mapping[str, Any]:
    found = ledger.get("budget")
    return found if isinstance(found, Mapping) else {}


def _is_time(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST_NS


def _text(value: object) -> str:
    return printable(str(value))
