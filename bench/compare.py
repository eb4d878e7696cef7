"""Compares two results of the same kind and says what got slower: `python bench/compare.py BEFORE AFTER`.

A difference counts when the spreads of the two do not touch and it is larger than a threshold. Instructions have no
spread: there only the threshold counts.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_MATTERS: Final = 0.05
_MACHINE: Final = ("cpu", "cores", "kernel", "python")


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of a result with the least and the most of its repeats."""

    median: float
    least: float
    most: float


def figures(result: dict[str, Any]) -> dict[str, Figure]:
    """The comparable numbers of a result, by a name that says what was measured."""
    return dict(_micro(result) if result["kind"] == "micro" else _pipeline(result))


def _micro(result: dict[str, Any]) -> Iterator[tuple[str, Figure]]:
    for one in result["results"]:
        name = f"hot path, {one['responses']}"
        yield f"{name}, ns", Figure(one["cpu_ns"], one["cpu_ns_least"], one["cpu_ns_most"])
        counted = one.get("instructions")
        if counted is not None:
            yield f"{name}, instructions", Figure(counted, counted, counted)


def _pipeline(result: dict[str, Any]) -> Iterator[tuple[str, Figure]]:
    for one in result["results"]:
        whole = one["querytap"]
        way = f", {one['way']}" if one.get("way") else ""
        name = f"{one['responses']} at {one['rate']}/s{way}, us"
        yield name, Figure(whole["median"], whole["least"], whole["most"])


def verdict(before: Figure, after: Figure) -> str:
    """Whether it got "slower" or "faster", or is the "same" as far as one can tell."""
    change = after.median / before.median - 1
    if change > _MATTERS and after.least > before.most:
        return "slower"
    if change < -_MATTERS and after.most < before.least:
        return "faster"
    return "same"


def differing_machine(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """What differs of the machines, so that their figures cannot be compared."""
    old, new = before["machine"], after["machine"]
    return [f"{name}: {old[name]} / {new[name]}" for name in _MACHINE if old[name] != new[name]]


def main() -> int:
    """Compare; 1 when something got slower, 2 when the two cannot be compared."""
    parser = argparse.ArgumentParser(prog="python bench/compare.py", description=main.__doc__)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    arguments = parser.parse_args()
    before, after = (json.loads(path.read_text(encoding="utf-8")) for path in (arguments.before, arguments.after))
    reasons = differing_machine(before, after)
    if before["kind"] != after["kind"]:
        reasons.append(f"kind: {before['kind']} / {after['kind']}")
    if reasons:
        sys.stderr.write(f"these cannot be compared: {'; '.join(reasons)}\n")
        return 2
    old, new = figures(before), figures(after)
    verdicts = []
    for name in [name for name in old if name in new]:
        verdicts.append(verdict(old[name], new[name]))
        change = 100 * (new[name].median / old[name].median - 1)
        line = f"{name:28} {old[name].median:10.3f} -> {new[name].median:10.3f}  {change:+6.1f} %  {verdicts[-1]}"
        sys.stdout.write(f"{line}\n")
    return 1 if "slower" in verdicts else 0


if __name__ == "__main__":
    sys.exit(main())
