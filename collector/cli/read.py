"""`querytap read`: prints or searches the statements of an archive."""

from __future__ import annotations

import argparse
import io
import itertools
import json
import re
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from collector.cli.narrowing import add_filters, search_of
from collector.config import ConfigError, Problem
from collector.reading.archive import ArchiveError, Entry, gaps, list_archive
from collector.reading.keys import KeyFileError, ReaderKey, load_private
from collector.reading.ledgers import last_headers, ledger_record, render_ledger
from collector.reading.lines import printable, render_json, render_text
from collector.reading.scan import Found, scan
from collector.reading.search import Search
from collector.reading.signers import Signers

_FOLLOW_S = 0.5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's own arguments."""
    parser.add_argument("archive", metavar="ARCHIVE", help="folder or store URL of the archive, or one object of it")
    parser.add_argument("--key", type=Path, metavar="FILE", help="the reader's private key")
    parser.add_argument(
        "--format", choices=("text", "json"), default="text", help="one line a statement, as text or JSON"
    )
    parser.add_argument("--raw", action="store_true", help="with JSON: the SQL's bytes as sent too, as sql_base64")
    parser.add_argument("--follow", action="store_true", help="then go on with what is written, until interrupted")
    parser.add_argument(
        "--instance", action="append", default=[], dest="instances", type=_instance, metavar="ID",
        help="only what this instance has signed: 32 hexadecimal digits, as --ledger shows them; repeatable",
    )  # fmt: skip
    parser.add_argument("--ledger", action="store_true", help="print the last ledger instead; needs no key")
    add_filters(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print what is asked for; 1 when something could not be read, 2 for wrong usage."""
    reporter = _Reporter()
    search = search_of(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        if arguments.ledger:
            _print_ledgers(arguments, reporter)
        else:
            _print_statements(arguments, search, _keys(arguments), reporter)
    except ArchiveError as error:
        reporter(str(error))
    return 1 if reporter.count else 0


class _Reporter:
    """Says what is wrong on stderr, one line each, and counts."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, problem: str) -> None:
        self.count += 1
        self.note(problem)

    def note(self, text: str) -> None:
        """Say what is not wrong, but to be known."""
        sys.stdout.flush()
        print(f"querytap: {printable(text)}", file=sys.stderr)


def _print_statements(
    arguments: argparse.Namespace, search: Search, keys: Sequence[ReaderKey], reporter: _Reporter
) -> None:
    batches = _following(arguments.archive) if arguments.follow else iter([list_archive(arguments.archive)])
    left: int | None = arguments.limit
    instances = frozenset(arguments.instances)
    signers = Signers()
    for entries in batches:
        wanted = [entry for entry in entries if entry.may_be_of(instances)]
        for problem in gaps(entry for entry in wanted if entry.within(search.since_ns, search.until_ns)):
            reporter(problem)
        found = scan(wanted, keys, search, reporter, instances=instances)
        for item in itertools.islice(found, left):
            if note := signers.note(item.header):
                reporter.note(note)
            print(_line(item, arguments))
            left = None if left is None else left - 1
        if left == 0:
            return
        sys.stdout.flush()


def _line(found: Found, arguments: argparse.Namespace) -> str:
    if arguments.format == "json":
        return render_json(found.statement, found.header.host, raw=arguments.raw)
    return render_text(found.statement)


def _following(archive: str) -> Iterator[list[Entry]]:
    """All objects there are, and then those that come, for ever."""
    seen: set[str] = set()
    while True:
        entries = [entry for entry in list_archive(archive) if entry.path not in seen]
        seen.update(entry.path for entry in entries)
        if entries:
            yield entries
        time.sleep(_FOLLOW_S)


def _print_ledgers(arguments: argparse.Namespace, reporter: _Reporter) -> None:
    headers = last_headers(list_archive(arguments.archive), reporter, frozenset(arguments.instances))
    signers = Signers()
    if not headers:
        reporter(f"{arguments.archive}: holds no object")
    for header in headers:
        if note := signers.note(header):
            reporter.note(note)
        if arguments.format == "json":
            print(json.dumps(ledger_record(header), default=str))
        else:
            print("\n".join(render_ledger(header)))


def _instance(text: str) -> str:
    if re.fullmatch("[0-9a-f]{32}", text.lower()) is None:
        raise argparse.ArgumentTypeError("must be 32 hexadecimal digits")
    return text.lower()


def _keys(arguments: argparse.Namespace) -> list[ReaderKey]:
    if arguments.key is None:
        raise ConfigError([Problem("--key", "is needed: the file with the reader's private key")])
    try:
        return load_private(arguments.key)
    except KeyFileError as error:
        raise ConfigError([Problem("--key", str(error))]) from error
    except OSError as error:
        raise ConfigError([Problem("--key", f"{arguments.key} cannot be read: {error.strerror}")]) from error
