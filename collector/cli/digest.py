"""`querytap digest`: the load of an archive's statements, by their shape or by what else they have in common."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Iterable

from collector.cli.archives import add_reading, print_utf8, wanted_entries, wanted_of
from collector.cli.narrowing import add_filters, count
from collector.cli.progress import Reporter
from collector.reading.archive import ArchiveError, Entry
from collector.reading.digest import Digesting
from collector.reading.load import BY, RANKS, Loads
from collector.reading.pool import Pool
from collector.reading.scan import Wanted
from collector.reading.tables import digest_record, digest_table

EXAMPLE = "querytap digest /var/lib/querytap/archive --key reader.key --since 1h --by shape --rank time"

_MOST_SHOWN = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's own arguments."""
    add_reading(parser)
    parser.add_argument("--by", choices=BY, default="shape", help="what is summed together (default: %(default)s)")
    parser.add_argument("--rank", choices=RANKS, default="time", help="what comes first (default: %(default)s)")
    parser.add_argument(
        "--top", type=count, default=_MOST_SHOWN, metavar="N", help="how many are shown (default: %(default)s)"
    )
    parser.add_argument("--format", choices=("text", "json"), default="text", help="a table, or one JSON object")
    add_filters(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the load; 1 when something could not be read, 2 for wrong usage."""
    reporter = Reporter()
    wanted = wanted_of(arguments)
    print_utf8()
    try:
        loads = _loads(arguments, wanted, wanted_entries(arguments, wanted, reporter), reporter)
    except ArchiveError as error:
        reporter(str(error))
        return 1
    if arguments.format == "json":
        print(json.dumps(digest_record(loads, arguments.by, arguments.rank, arguments.top)))
    else:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        _print(digest_table(loads, arguments.by, arguments.rank, arguments.top, width))
    return 1 if reporter.count else 0


def _loads(arguments: argparse.Namespace, wanted: Wanted, entries: list[Entry], reporter: Reporter) -> Loads:
    loads = Loads()
    digesting = Digesting(wanted, arguments.by)
    with Pool(digesting, entries, arguments.jobs) as pool, reporter.progress(entries) as progress:
        for entry, seen in pool.results():
            reporter.saw(seen)
            loads.merge(seen.result)
            progress.done(entry)
    return loads


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        print(line)
