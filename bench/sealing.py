"""What it costs to seal an object for its readers, by the kind of their keys: `python bench/sealing.py`.

Wrapping the content key is all that differs between the kinds; it is done once an object and reader. Whole objects with
nothing inside are sealed too, for one reader and for three.
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

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from bench import machine
from collector.aggregator.seal import seal
from collector.archive.keyfile import identity
from collector.archive.layout import HASH_BYTES, KIND_SUMMARY, Header, pack_stanza
from collector.archive.readerkeys import generate, private_key, public_of
from collector.archive.stanzas import unwrap, wrap
from collector.config import Config

_TIMES: Final = 500
_CONTENT_KEY: Final = bytes(32)
_BOUND: Final = bytes(32)
_READERS: Final = (1, 3)


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


def objects(repeats: int) -> list[dict[str, Any]]:
    """A row for each kind of key and number of readers: a whole object with nothing but its summary's frame."""
    key = Ed25519PrivateKey.generate()
    header = _header(key)
    ways = {
        (name, count): count * [public_of(generate(hybrid=name == "hybrid"))]
        for name in ("x25519", "hybrid")
        for count in _READERS
    }
    taken: dict[tuple[str, int], list[float]] = {way: [] for way in ways}
    for _ in range(repeats):
        for way, readers in ways.items():
            taken[way].append(_microseconds(lambda: seal(header, [(KIND_SUMMARY, b"-")], readers, key)))  # noqa: B023
    age_s = Config().batch.max_age_s
    return [
        {
            "kind": name,
            "readers": count,
            "object_us": round(statistics.median(taken[name, count]), 1),
            "bytes": len(seal(header, [(KIND_SUMMARY, b"-")], readers, key)),
            "percent_of_a_core": round(statistics.median(taken[name, count]) / age_s / 10_000, 5),
        }
        for (name, count), readers in ways.items()
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
    whole = objects(arguments.repeats)
    print("kind     readers  us an object  bytes  % of a core at an object each 10 s")
    for row in whole:
        print(
            f"{row['kind']:8} {row['readers']:7}  {row['object_us']:12.1f}  {row['bytes']:5}"
            f"  {row['percent_of_a_core']:.5f}"
        )
    print(machine.write("sealing", {"repeats": arguments.repeats}, rows + whole, arguments.output))
    return 0


def _header(key: Ed25519PrivateKey) -> Header:
    public = key.public_key().public_bytes_raw()
    return Header(
        instance=identity(public).hex(), public_key=public, host="bench", boot="bench", run="bench", sequence=1,
        previous=bytes(HASH_BYTES), first_ns=0, last_ns=0, sealed_ns=0, clock={}, counts={}, ledger={},
        software="bench", content_key_hash=bytes(HASH_BYTES), frames=(),
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
