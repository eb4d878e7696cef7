"""`querytap read`: prints or searches the statements of an archive."""

from __future__ import annotations

import argparse
import itertools
import json
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import BinaryIO, NoReturn

from collector.cli.archives import Place, add_reading, narrowed, place_of, print_utf8, wanted_of
from collector.cli.narrowing import add_filters, add_limit, search_of
from collector.cli.progress import Reporter
from collector.reading.archive import ArchiveError, Entry, Listing
from collector.reading.formats import FORMATS, encode
from collector.reading.ledgers import last_headers, ledger_record, render_ledger
from collector.reading.merge import Opened, in_order_of_time
from collector.reading.metrics import render, samples
from collector.reading.pool import Pool
from collector.reading.printing import Printing
from collector.reading.runs import Aside
from collector.reading.scan import Wanted
from collector.reading.signers import Signers

EXAMPLE = "querytap read /var/lib/querytap/archive --key reader.key --since 10m --status error"

_FOLLOW_S = 0.5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's own arguments."""
    add_reading(parser)
    parser.add_argument(
        "--format", choices=FORMATS, default="text",
        help="; ".join(f"{name}: {form.help}" for name, form in FORMATS.items()) + " (default: text)",
    )  # fmt: skip
    parser.add_argument("--raw", action="store_true", help="with JSON: the SQL's bytes as sent too, as sql_base64")
    parser.add_argument("--follow", action="store_true", help="then go on with what is written, until interrupted")
    parser.add_argument("--ledger", action="store_true", help="print the last ledger instead; needs no key")
    parser.add_argument(
        "--metrics",
        action="store_true",
        help="print what the host and its servers were doing instead: the monitor's samples, as text or JSON lines",
    )
    add_filters(parser)
    add_limit(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print what is asked for; 1 when something could not be read, 2 for wrong usage."""
    reporter = Reporter()
    print_utf8()
    try:
        if arguments.ledger:
            search_of(arguments)  # what is wrong in it is wrong here too
            _print_ledgers(arguments, reporter)
        elif arguments.metrics:
            _print_metrics(arguments, wanted_of(arguments), reporter)
        else:
            _Reading(arguments, wanted_of(arguments), reporter).run()
    except ArchiveError as error:
        reporter(str(error))
    return 1 if reporter.count else 0


class _Reading:
    """One pass over an archive, or with `--follow` one over each part of it that comes."""

    def __init__(self, arguments: argparse.Namespace, wanted: Wanted, reporter: Reporter) -> None:
        self._arguments = arguments
        self._wanted = wanted
        self._reporter = reporter
        self._signers = Signers()
        self._left: int | None = arguments.limit
        self._shared_terminal = sys.stdout.isatty()

    def run(self) -> None:
        """Print all of it."""
        place = place_of(self._arguments)
        batches = _following(place) if self._arguments.follow else iter([place.listing()])
        out = sys.stdout.buffer
        before = FORMATS[self._arguments.format].before
        if before is not None:
            out.write(encode(before))
        with _terminated_in_order(), tempfile.TemporaryDirectory(prefix="querytap-read-") as folder:
            for batch in batches:
                entries = narrowed(batch, self._wanted, self._reporter)
                self._print(entries, Aside(folder), out)
                out.flush()
                if self._left == 0:
                    return

    def _print(self, entries: list[Entry], aside: Aside, out: BinaryIO) -> None:
        printing = Printing(self._wanted, self._arguments.format, self._arguments.raw, aside)
        with Pool(printing, entries, self._arguments.jobs) as pool, self._reporter.progress(entries) as progress:

            def open_entry(entry: Entry) -> Opened:
                seen = pool.take(entry)
                out.flush()
                for problem in seen.problems:
                    self._reporter(problem)
                if seen.origin is not None and seen.result and (note := self._signers.note(*seen.origin)):
                    self._reporter.note(note)
                progress.done(entry)
                return Opened(seen.boot, [run.lines(aside) for run in seen.result])

            for line in itertools.islice(in_order_of_time(entries, open_entry), self._left):
                if self._shared_terminal:
                    progress.clear()
                out.write(line)
                self._left = None if self._left is None else self._left - 1


@contextmanager
def _terminated_in_order() -> Iterator[None]:
    """Have SIGTERM leave what is under way as an exception does: what was made on disk goes."""
    before = signal.signal(signal.SIGTERM, _leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _leave(number: int, _: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)  # as a shell reports it


def _following(place: Place) -> Iterator[Listing]:
    """All objects there are, and then those that come, for ever."""
    seen: set[str] = set()
    while True:
        listing = place.listing()
        entries = [entry for entry in listing.entries if entry.path not in seen]
        seen = {entry.path for entry in listing.entries}
        if entries:
            yield Listing(entries, listing.notes)
        time.sleep(_FOLLOW_S)


def _print_metrics(arguments: argparse.Namespace, wanted: Wanted, reporter: Reporter) -> None:
    found = samples(place_of(arguments).entries(), wanted, reporter)
    for sample in itertools.islice(found, arguments.limit):
        print(json.dumps(sample, default=str) if arguments.format == "json" else render(sample))


def _print_ledgers(arguments: argparse.Namespace, reporter: Reporter) -> None:
    place = place_of(arguments)
    headers = last_headers(place.entries(), reporter, frozenset(arguments.instances))
    signers = Signers()
    if not headers:
        reporter(f"{place.url}: holds no object")
    for header in headers:
        if note := signers.note(header.host, header.instance):
            reporter.note(note)
        if arguments.format == "json":
            print(json.dumps(ledger_record(header), default=str))
        else:
            print("\n".join(render_ledger(header)))
