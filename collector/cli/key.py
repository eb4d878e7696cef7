"""`querytap key`: what a key is, for whom an archive is sealed, and sealing it for others."""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from collector.archive.keyfile import PUBLIC, KeyFileError, identity, read_keys
from collector.cli.archives import add_archive, place_of, print_utf8, private_keys
from collector.cli.options import add_config_arguments
from collector.cli.progress import Reporter
from collector.config import ConfigError, Problem
from collector.reading.archive import ArchiveError, Entry
from collector.reading.keys import KeyDescription, ReaderKey, describe
from collector.reading.objects import ObjectError, open_object, read_clear
from collector.reading.resealing import new_start

EXAMPLE = "querytap key reseal /backup/archive --key old.key --add new.pub"

_ID = re.compile("[0-9a-f]{32}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's own arguments."""
    actions = parser.add_subparsers(title="actions", metavar="ACTION", dest="action", required=True)
    show = actions.add_parser("show", help="say what a key file holds", description="Say what a key file holds.")
    show.add_argument("file", type=Path, metavar="FILE", help="a public or private key")
    recipients = actions.add_parser(
        "recipients", help="list for whom an archive is sealed; needs no key", description="List for whom it is sealed."
    )
    add_archive(recipients)
    add_config_arguments(recipients)
    reseal = actions.add_parser(
        "reseal", help="let others open an archive, or no longer", epilog=f"Example: {EXAMPLE}",
        description="Write the stanzas of its objects anew, in place: nothing else of them changes.",
    )  # fmt: skip
    add_archive(reseal)
    add_config_arguments(reseal)
    reseal.add_argument("--key", type=Path, metavar="FILE", help="a private key that opens it now")
    reseal.add_argument(
        "--add", type=Path, action="append", default=[], metavar="FILE", help="a public key that is to open it too"
    )
    reseal.add_argument(
        "--remove", action="append", default=[], metavar="FILE|ID",
        help="a public key, or its id, that is to open it no longer",
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Do it; 1 when something could not be read or written, 2 for wrong usage."""
    print_utf8()
    if arguments.action == "show":
        return _show(arguments.file)
    reporter = Reporter()
    try:
        instances = frozenset(arguments.instances)
        entries = [entry for entry in place_of(arguments).entries() if entry.may_be_of(instances)]
        if arguments.action == "recipients":
            _recipients(entries, reporter)
        else:
            _reseal(arguments, entries, reporter)
    except ArchiveError as error:
        reporter(str(error))
    return 1 if reporter.count else 0


def _show(path: Path) -> int:
    for found in _described(path):
        print(f"{found.kind}")
        print(f"  id:     {found.id}")
        if found.public_line:
            print(f"  public: {found.public_line}")
    return 0


def _described(path: Path) -> list[KeyDescription]:
    try:
        return describe(path)
    except KeyFileError as error:
        raise ConfigError([Problem("", str(error))]) from error
    except OSError as error:
        raise ConfigError([Problem("", f"{path} cannot be read: {error.strerror}")]) from error


def _recipients(entries: Sequence[Entry], reporter: Reporter) -> None:
    counts: Counter[str] = Counter()
    with reporter.progress(entries) as progress:
        for entry in entries:
            try:
                with entry.open() as stream:
                    counts.update({stanza.recipient.hex() for stanza in read_clear(stream).stanzas})
            except (ObjectError, OSError) as error:
                reporter(f"{entry.path}: {error}")
            progress.done(entry)
    for recipient, count in counts.most_common():
        print(f"{recipient}  {count} of {len(entries)} objects")


def _reseal(arguments: argparse.Namespace, entries: Sequence[Entry], reporter: Reporter) -> None:
    keys = private_keys(arguments)
    add = [public for path in arguments.add for public in _public(path)]
    remove = frozenset(recipient for word in arguments.remove for recipient in _ids(word))
    if not add and not remove:
        raise ConfigError([Problem("", "nothing to do: name a public key with --add or --remove")])
    written = same = 0
    with reporter.progress(entries) as progress:
        for entry in entries:
            try:
                changed = _reseal_one(entry, keys, add, remove)
            except (ObjectError, OSError) as error:
                reporter(f"{entry.path}: {error}")
            else:
                written += changed
                same += not changed
            progress.done(entry)
    print(f"{written} objects sealed anew, {same} were as wanted, {len(entries) - written - same} left as they are")


def _reseal_one(entry: Entry, keys: Sequence[ReaderKey], add: Sequence[bytes], remove: frozenset[bytes]) -> bool:
    """Whether the object had to be written."""
    with entry.open() as stream:
        start = new_start(open_object(stream, keys), add, remove)
        if start is None:
            return False
        entry.replace(start, stream)
    return True


def _public(path: Path) -> list[bytes]:
    try:
        return read_keys(path.read_text("utf-8", "replace"), PUBLIC, str(path))
    except KeyFileError as error:
        raise ConfigError([Problem("", str(error))]) from error
    except OSError as error:
        raise ConfigError([Problem("", f"{path} cannot be read: {error.strerror}")]) from error


def _ids(word: str) -> list[bytes]:
    if _ID.fullmatch(word.lower()):
        return [bytes.fromhex(word)]
    return [identity(public) for public in _public(Path(word))]
