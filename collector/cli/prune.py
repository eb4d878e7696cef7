"""`querytap prune`: removes the oldest objects of an archive, by age and by size."""

from __future__ import annotations

import argparse
import datetime as dt
import json
import re
import time
from collections.abc import Sequence
from typing import Any, Final

from collector.archive.names import PrunedName, write_pruned
from collector.cli.archives import add_archive, place_of, print_utf8
from collector.cli.progress import Reporter
from collector.config import ConfigError, Problem
from collector.reading.archive import ArchiveError, Listing
from collector.reading.lines import rfc3339
from collector.reading.removing import AT_ONCE, Remover, remover
from collector.reading.retention import Bounds, Going, going
from collector.reading.search import SearchError, parse_time

EXAMPLE = "querytap prune s3://audit/db --older-than 90d --max-size 500GiB --dry-run"

_LOCKED: Final = (
    "the bucket hides what was removed, and keeps it until its retention ends (store.object_lock): have a rule of the"
    " bucket's life cycle remove noncurrent versions then"
)
_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)(MiB|GiB|TiB)")
_BYTES: Final = {"MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's own arguments."""
    add_archive(parser)
    parser.add_argument(
        "--older-than", metavar="TIME",
        help="remove objects all of whose statements are older: 90d, or a date",
    )  # fmt: skip
    parser.add_argument("--max-size", metavar="SIZE", help="remove the oldest beyond that: 500GiB, also MiB and TiB")
    parser.add_argument("--dry-run", action="store_true", help="say what would be removed, and remove nothing")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="lines, or one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Remove them; 1 when something could not be removed, 2 for wrong usage."""
    bounds = _bounds(arguments)
    place = place_of(arguments)
    reporter = Reporter()
    print_utf8()
    try:
        listing = place.listing()
    except ArchiveError as error:
        reporter(str(error))
        return 1
    found = going(listing, bounds, frozenset(arguments.instances))
    if not arguments.dry_run:
        _remove(remover(place.url, place.access), listing, found, reporter)
        if found and place.access.object_lock:
            reporter.note(_LOCKED)
    if arguments.format == "json":
        print(json.dumps({"removed": not arguments.dry_run, "instances": list(map(_record, found))}))
    else:
        _print(found, removed=not arguments.dry_run)
    return 1 if reporter.count else 0


def _remove(remover: Remover, listing: Listing, found: Sequence[Going], reporter: Reporter) -> None:
    with reporter.progress([entry for each in found for entry in each.entries]) as progress:
        for each in found:
            notes = [note for note in listing.notes if note.instance == each.instance]
            try:
                if all(note.through < each.note.through for note in notes):
                    remover.leave(write_pruned(each.note), _text(each.note))
                for first in range(0, len(each.entries), AT_ONCE):
                    some = each.entries[first : first + AT_ONCE]
                    remover.remove([entry.path for entry in some])
                    for entry in some:
                        progress.done(entry)
                newest = max(*notes, each.note) if notes else each.note
                remover.remove([write_pruned(note) for note in notes if note != newest])
            except OSError as error:
                reporter(f"instance {each.instance}: {error.strerror or error}: run it again to remove the rest")


def _text(note: PrunedName) -> bytes:
    """A note, for people."""
    now = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    told = {"format": 1, "instance": note.instance, "through": note.through, "hash": note.hash_start, "pruned": now}
    return json.dumps(told).encode("ascii") + b"\n"


def _print(found: Sequence[Going], *, removed: bool) -> None:
    for each in found:
        print(
            f"instance {each.instance}: {len(each.entries)} objects, {_readable(each.size)}, through object"
            f" {each.last.sequence} of {rfc3339(each.last.last_ns)}"
        )
    objects = sum(len(each.entries) for each in found)
    done = "removed" if removed else "would be removed"
    print(f"{objects} objects, {_readable(sum(each.size for each in found))}, {done}")


def _record(each: Going) -> dict[str, Any]:
    return {
        "instance": each.instance,
        "objects": len(each.entries),
        "bytes": each.size,
        "through": each.last.sequence,
        "last": rfc3339(each.last.last_ns),
    }


def _readable(size: int) -> str:
    unit = next((unit for unit in ("TiB", "GiB") if size >= _BYTES[unit]), "MiB")
    return f"{size / _BYTES[unit]:.1f} {unit}"


def _bounds(arguments: argparse.Namespace) -> Bounds:
    if arguments.older_than is None and arguments.max_size is None:
        raise ConfigError([Problem("", "nothing to do: say what goes, with --older-than or --max-size")])
    before_ns = None
    if arguments.older_than is not None:
        try:
            before_ns = parse_time(arguments.older_than, time.time_ns())
        except SearchError as error:
            raise ConfigError([Problem("--older-than", str(error))]) from error
        if before_ns > time.time_ns():
            raise ConfigError([Problem("--older-than", f"{arguments.older_than} is yet to come")])
    return Bounds(before_ns, None if arguments.max_size is None else _size(arguments.max_size))


def _size(text: str) -> int:
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise ConfigError([Problem("--max-size", f"{text!r} is no size: write 500GiB, also MiB and TiB")])
    return int(float(match[1]) * _BYTES[match[2]])
