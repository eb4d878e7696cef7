"""What it costs to seal an object for its readers, by the kind of their keys: `python bench/sealing.py`.

Wrapping the content key is all that differs between the kinds; it is done once an object and reader.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

if str(Path(__file__).parents[1]) not in sys.path:
    sys.path.append(str(Path(__file__).parents[1]))  # last: an installed build is not hidden by the sources beside us

from bench import machine
from collector.archive.layout import pack_stanza
from collector.archive.readerkeys import generate, private_key, public_of
from collector.archive.stanzas import unwrap, wrap
from collector.config import Config

_TIMES: Final = 500
_CONTENT_KEY: Final = bytes(32)
_BOUND: Final = bytes(32)


def _microseconds(call: Callable[[], object]) -> float:
    """CPU time of one call."""
    began = time.thread_time_ns()
    for _ in range(_TIMES):
        call()
    return (time.thread_time_ns() - began) / _TIMES / 1000


def measure(repeats: int) -> list[dict[str, Any]]:
    """A row for each kind of key, measured by turns."""
    keys = {"x25519": generate(hybrid=False), "hybrid": generate(hybrid=True)}
    stanzas = {name: wrap(_CONTENT_KEY, public_of(raw), _BOUND) for name, raw in keys.items()}
    wrapping: dict[str, list[float]] = {name: [] for name in keys}
    opening: dict[str, list[float]] = {name: [] for name in keys}
    for _ in range(repeats):
        for name, raw in keys.items():
            public, private = public_of(raw), private_key(raw)
            wrapping[name].append(_microseconds(lambda: wrap(_CONTENT_KEY, public, _BOUND)))  # noqa: B023
            opening[name].append(_microseconds(lambda: unwrap(stanzas[name], private, _BOUND)))  # noqa: B023
    age_s = Config().batch.max_age_s
    return [
        {
            "kind": name,
            "seal_us": round(statistics.median(wrapping[name]), 1),
            "open_us": round(statistics.median(opening[name]), 1),
            "bytes": len(pack_stanza(stanzas[name])),
            "percent_of_a_core": round(statistics.median(wrapping[name]) / age_s / 10_000, 5),
        }
        for name in keys
    ]


def main() -> int:
    """Measure, print and keep it."""
    parser = argparse.ArgumentParser(prog="python bench/sealing.py", description=__doc__)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--output", type=Path, help="file for the result (a new one in bench/results/)")
    arguments = parser.parse_args()
    rows = measure(arguments.repeats)
    print("kind     seal us  open us  bytes an object and reader  % of a core at an object each 10 s")
    for row in rows:
        print(
            f"{row['kind']:8} {row['seal_us']:7.1f}  {row['open_us']:7.1f}  {row['bytes']:26}"
            f"  {row['percent_of_a_core']:.5f}"
        )
    print(machine.write("sealing", {"repeats": arguments.repeats}, rows, arguments.output))
    return 0


if __name__ == "__main__":
    sys.exit(main())
