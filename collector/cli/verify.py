"""`querytap verify`: whether an archive is whole, and as its hosts wrote it."""

from __future__ import annotations

import argparse
import dataclasses
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from collector.cli.archives import add_archive, add_jobs, place_of, print_utf8, private_keys
from collector.cli.progress import Reporter
from collector.config import ConfigError, Problem
from collector.reading.archive import ArchiveError, Entry, Listing
from collector.reading.chains import Chain
from collector.reading.checking import Checked, Checking
from collector.reading.lines import printable, rfc3339
from collector.reading.pool import Pool
from collector.reading.search import SearchError, parse_time

EXAMPLE = "querytap verify /var/lib/querytap/archive --since 2026-01-01 --instance 8afc1459a433b5c17a892f8d1a42f57c"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's own arguments."""
    add_archive(parser)
    parser.add_argument(
        "--key", type=Path, metavar="FILE", help="the reader's private key: then every statement is read too"
    )
    parser.add_argument("--since", metavar="TIME", help="only objects that hold something from then on")
    parser.add_argument("--until", metavar="TIME", help="only objects that hold something up to then")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="lines, or one JSON object")
    add_jobs(parser)


def run(arguments: argparse.Namespace) -> int:
    """Say what is there and what is wrong with it; 1 when something is, 2 for wrong usage."""
    checking = Checking(() if arguments.key is None else tuple(private_keys(arguments)))
    since_ns, until_ns = _moment(arguments.since), _moment(arguments.until)
    instances = frozenset(arguments.instances)
    reporter = Reporter()
    place = place_of(arguments)
    print_utf8()
    try:
        listing = place.listing()
        entries = [
            entry for entry in listing.entries if entry.within(since_ns, until_ns) and entry.may_be_of(instances)
        ]
        chains = _check(arguments, listing, entries, checking, reporter)
    except ArchiveError as error:
        reporter(str(error))
        return 1
    for missing in sorted(instances - chains.keys()):
        reporter(f"instance {missing}: has no object here")
    if not entries:
        reporter(f"{place.url}: holds no object of that time")
    found = [chain for _, chain in sorted(chains.items())]
    if arguments.format == "json":
        print(json.dumps({"problems": reporter.count, "instances": list(map(_record, found))}))
    else:
        for line in _lines(found, reporter.count, keyed=bool(checking.keys)):
            print(line)
    return 1 if reporter.count else 0


def _check(
    arguments: argparse.Namespace, listing: Listing, entries: Sequence[Entry], checking: Checking, reporter: Reporter
) -> dict[str, Chain]:
    """The chain of each instance, all *entries* taken."""
    instances = frozenset(arguments.instances)
    chains = {
        instance: Chain(instance, note, begins=arguments.since is None)
        for instance, note in listing.pruned.items()
        if not instances or instance in instances
    }
    with Pool(checking, entries, arguments.jobs) as pool, reporter.progress(entries) as progress:
        for entry, checked in pool.results():
            header = checked.header
            if header is None or not instances or header.instance in instances:
                for problem in checked.problems:
                    reporter(f"{entry.path}: {problem}")
                for problem in _follow(chains, entry, checked):
                    reporter(problem)
            progress.done(entry)
    for instance, chain in chains.items():
        for problem in chain.end_run():
            reporter(f"instance {instance}: {problem}")
    return chains


def _follow(chains: dict[str, Chain], entry: Entry, checked: Checked) -> Iterator[str]:
    header = checked.header
    if header is None and entry.name is None:
        return
    instance = header.instance if header is not None else entry.name.instance if entry.name is not None else ""
    chain = chains.setdefault(instance, Chain(instance))
    if header is not None:
        problems = chain.add(entry.path, header, checked.hash)
    else:
        assert entry.name is not None
        problems = chain.add_damaged(entry.path, entry.name.sequence)
    for problem in problems:
        yield f"instance {instance}: {problem}"


def _record(chain: Chain) -> dict[str, Any]:
    record = {"hosts": sorted(chain.hosts), **dataclasses.asdict(chain.totals)}
    first_ns, last_ns = record.pop("first_ns"), record.pop("last_ns")
    return record | ({"first": rfc3339(first_ns), "last": rfc3339(last_ns)} if chain.hosts else {})


def _lines(chains: Sequence[Chain], problems: int, *, keyed: bool) -> Iterator[str]:
    for chain in chains:
        totals = chain.totals
        hosts = printable(", ".join(sorted(chain.hosts))) or "(unknown)"
        here = (
            f"objects {totals.first_sequence} to {totals.last_sequence},"
            f" {totals.objects} of them here with {totals.statements} statements"
        )
        yield f"{hosts} (instance {totals.instance}): {here if totals.objects else 'no object'}"
        if chain.hosts:
            yield f"  {rfc3339(totals.first_ns)} to {rfc3339(totals.last_ns)}"
        if totals.pruned_through:
            yield f"  objects up to {totals.pruned_through} were removed by `querytap prune`"
        elif totals.first_sequence > 1:
            yield f"  objects before {totals.first_sequence} are not here: of another time, removed with age, or lost"
        if totals.lost or totals.dropped:
            yield (
                f"  its own account, of {totals.runs} runs: {totals.lost} statements lost,"
                f" {totals.dropped} packets dropped by the kernel"
            )
        if totals.shed_s:
            yield f"  less was captured than is configured for {totals.shed_s:.0f} s, to keep to the budget"
    checked = "signatures, hashes, sequence and ledger" + (", and every statement" if keyed else "")
    yield f"checked {checked}: {problems or 'no'} problem{'' if problems == 1 else 's'}"


def _moment(text: str | None) -> int | None:
    try:
        return None if text is None else parse_time(text, time.time_ns())
    except SearchError as error:
        raise ConfigError([Problem("", str(error))]) from error
