"""The options that say which archive is read, with which keys and by how many processes."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from collector.archive.remote import RETRIES, Access, access_of
from collector.cli.narrowing import count, search_of
from collector.cli.options import config_from
from collector.config import ConfigError, Problem
from collector.places import archive_place
from collector.reading.archive import ENVIRONMENT, Entry, Listing, gaps, list_all
from collector.reading.keys import KeyFileError, ReaderKey, load_private
from collector.reading.pool import processors
from collector.reading.scan import Wanted


class Place(NamedTuple):
    """Where an archive is, and how a remote one is reached."""

    url: str
    access: Access

    def listing(self) -> Listing:
        """What is there now. Raises ArchiveError."""
        return list_all(self.url, self.access)

    def entries(self) -> list[Entry]:
        """All objects that are there now, in order. Raises ArchiveError."""
        return self.listing().entries


def add_archive(parser: argparse.ArgumentParser) -> None:
    """Declare the archive, and whose objects of it."""
    parser.add_argument(
        "archive", nargs="?", metavar="ARCHIVE",
        help="folder or store URL of the archive, or one object of it (default: that of the configuration)",
    )  # fmt: skip
    parser.add_argument(
        "--instance", action="append", default=[], dest="instances", type=_instance, metavar="ID",
        help="only what this instance has signed: 32 hexadecimal digits, as `querytap hosts` shows them; repeatable",
    )  # fmt: skip


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Declare all that reads statements: the archive, keys, hosts, processes."""
    add_archive(parser)
    parser.add_argument("--key", type=Path, metavar="FILE", help="the reader's private key")
    parser.add_argument(
        "--host", action="append", default=[], dest="hosts", help="only what was recorded on this host; repeatable"
    )
    add_jobs(parser)


def add_jobs(parser: argparse.ArgumentParser) -> None:
    """Declare how many processes read."""
    parser.add_argument(
        "--jobs", type=count, default=processors(), metavar="N",
        help="processes that read (default: one for each processor, here %(default)s)",
    )  # fmt: skip


def wanted_of(arguments: argparse.Namespace) -> Wanted:
    """What is to be read; raises ConfigError."""
    return Wanted(
        keys=tuple(private_keys(arguments)),
        search=search_of(arguments),
        instances=frozenset(arguments.instances),
        hosts=frozenset(arguments.hosts),
    )


def private_keys(arguments: argparse.Namespace) -> list[ReaderKey]:
    """The keys in the file that `--key` names; raises ConfigError."""
    if arguments.key is None:
        raise ConfigError([Problem("--key", "is needed: the file with the reader's private key")])
    try:
        return load_private(arguments.key)
    except KeyFileError as error:
        raise ConfigError([Problem("--key", str(error))]) from error
    except OSError as error:
        raise ConfigError([Problem("--key", f"{arguments.key} cannot be read: {error.strerror}")]) from error


def place_of(arguments: argparse.Namespace) -> Place:
    """The archive, and how it is reached: by the configuration where that, or no archive, is named. Raises ConfigError.

    Else by the environment alone.
    """
    if arguments.archive is not None and arguments.config is None and not arguments.set:
        return Place(arguments.archive, ENVIRONMENT)
    config = config_from(arguments)
    url = arguments.archive or archive_place(config.store.url, config.paths.state)
    return Place(url, access_of(config.store, RETRIES))


def wanted_entries(arguments: argparse.Namespace, wanted: Wanted, report: Callable[[str], None]) -> list[Entry]:
    """The objects that may hold something wanted, in order; what is missing is reported.

    Raises ConfigError and ArchiveError.
    """
    return narrowed(place_of(arguments).listing(), wanted, report)


def narrowed(listing: Listing, wanted: Wanted, report: Callable[[str], None]) -> list[Entry]:
    """The objects that may hold something wanted; what is missing among them is reported."""
    found = [entry for entry in listing.entries if wanted.may_hold(entry)]
    for problem in gaps(found, listing.pruned):
        report(problem)
    return found


def print_utf8() -> None:
    """Let stdout take any text, whatever the locale is."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(encoding="utf-8", errors="backslashreplace")


def _instance(text: str) -> str:
    if re.fullmatch("[0-9a-f]{32}", text.lower()) is None:
        raise argparse.ArgumentTypeError("must be 32 hexadecimal digits")
    return text.lower()
