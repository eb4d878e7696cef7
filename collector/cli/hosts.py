"""`querytap hosts`: which instances of an archive are silent, blind or shedding."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from typing import Any

from collector.cli.archives import add_archive, place_of, print_utf8
from collector.cli.progress import Reporter
from collector.config import ConfigError, Problem
from collector.reading.archive import ArchiveError
from collector.reading.hosts import TROUBLE, Condition, condition
from collector.reading.ledgers import newest_headers
from collector.reading.lines import printable, rfc3339
from collector.reading.search import SearchError, parse_duration

EXAMPLE = "querytap hosts s3://audit/db --silent-after 5m"

_NS = 1_000_000_000
_MINUTE_S = 60
_HOUR_S = 3600
_DAY_S = 86_400


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's own arguments."""
    add_archive(parser)
    parser.add_argument(
        "--silent-after", default="3m", metavar="TIME",
        help="how long nothing may come: 90s, 5m, 1h; each minute something should (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--format", choices=("text", "json"), default="text", help="a table, or one object a line")


def run(arguments: argparse.Namespace) -> int:
    """Say how each instance is; 1 when one needs a look or something could not be read, 2 for wrong usage."""
    reporter = Reporter()
    silent_after_ns = _duration(arguments.silent_after)
    instances = frozenset(arguments.instances)
    place = place_of(arguments)
    print_utf8()
    try:
        newest = newest_headers(place.entries(), reporter, instances)
    except ArchiveError as error:
        reporter(str(error))
        return 1
    now_ns = time.time_ns()
    found = [condition(*headers, now_ns, silent_after_ns) for headers in newest]
    for missing in sorted(instances - {each.header.instance for each in found}):
        reporter(f"instance {missing}: has no object here")
    if not found:
        reporter(f"{place.url}: holds no object")
    found.sort(key=lambda each: (each.header.host, each.header.instance))
    if arguments.format == "json":
        for each in found:
            print(json.dumps(_record(each)))
    elif found:
        _print_table(found)
    return 1 if reporter.count or any(each.state in TROUBLE for each in found) else 0


def _print_table(found: Sequence[Condition]) -> None:
    width = max(len("host"), *(len(printable(each.header.host)) for each in found))
    print(f"{'host':{width}}  {'instance':32}  {'state':8}  {'last':>7}  {'statements/s':>12}  why")
    for each in found:
        rate = f"{each.statements / each.seconds:.1f}" if each.seconds > 0 else "-"
        line = (
            f"{printable(each.header.host):{width}}  {each.header.instance}  {each.state:8}"
            f"  {_age(each.age_ns):>7}  {rate:>12}  {', '.join(each.reasons)}"
        )
        print(line.rstrip())


def _record(each: Condition) -> dict[str, Any]:
    return {
        "host": each.header.host,
        "instance": each.header.instance,
        "state": each.state,
        "reasons": list(each.reasons),
        "sequence": each.header.sequence,
        "sealed": rfc3339(each.header.sealed_ns),
        "age_s": each.age_ns // _NS,
        "seconds": each.seconds,
        "statements": each.statements,
        "clock_synchronised": each.header.clock.get("synchronised"),
        "software": each.header.software,
    }


def _age(age_ns: int) -> str:
    seconds = age_ns // _NS
    for unit, length in (("d", _DAY_S), ("h", _HOUR_S), ("m", _MINUTE_S)):
        if seconds >= 2 * length:
            return f"{seconds // length}{unit} ago"
    return f"{seconds}s ago"


def _duration(text: str) -> int:
    try:
        return parse_duration(text)
    except SearchError as error:
        raise ConfigError([Problem("--silent-after", str(error))]) from error
