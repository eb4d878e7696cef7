"""Checks one object: what the processes of a pool do for `verify`. Without a key, all that is in clear and signed."""

from __future__ import annotations

from dataclasses import dataclass, field

from collector.archive.heads import BlockHead
from collector.archive.layout import Header
from collector.reading.archive import Entry, contradiction
from collector.reading.keys import ReaderKey
from collector.reading.objects import ObjectError, Report, check_signatures, open_object
from collector.reading.scan import take_blocks
from collector.reading.search import Search
from workers.columns import Columns
from workers.records import statements_of


@dataclass(slots=True)
class Checked:
    """What came of it."""

    problems: list[str] = field(default_factory=list)
    """Without the object's name."""
    header: Header | None = None
    """None where there is none that can be trusted."""
    hash: bytes | None = None
    """None where the object is cut."""


@dataclass(frozen=True, slots=True)
class Checking:
    """Call it with an object. With *keys*, every statement in it is read too. Never raises for what is in it."""

    keys: tuple[ReaderKey, ...] = ()

    def __call__(self, entry: Entry) -> Checked:
        """Check the object."""
        checked = Checked()
        report = checked.problems.append
        try:
            with entry.open() as stream:
                if self.keys:
                    sealed = open_object(stream, self.keys)
                    checked.header = sealed.header
                    counted = _Counted()
                    take_blocks(sealed, Search(), counted.take, report)
                    checked.hash = sealed.object_hash
                    if not checked.problems:
                        counted.compare(sealed.header, report)
                else:
                    checked.header, checked.hash = check_signatures(stream, report)
        except ObjectError as error:
            report(str(error))
        except OSError as error:
            report(error.strerror or str(error))
        if checked.header is not None:
            _check_name(entry, checked, report)
        return checked


class _Counted:
    """What the blocks of an object hold."""

    def __init__(self) -> None:
        self.statements = 0

    def take(self, _: Header, __: BlockHead, columns: Columns) -> None:
        """One block, each statement of it read."""
        for _statement in statements_of(columns, range(columns.rows)):
            self.statements += 1

    def compare(self, header: Header, report: Report) -> None:
        """Report what the header says otherwise."""
        told = header.counts.get("statements")
        if told != self.statements:
            report(f"holds {self.statements} statements, its header says {told}")


def _check_name(entry: Entry, checked: Checked, report: Report) -> None:
    assert checked.header is not None
    renamed = contradiction(entry.name, checked.header)
    if entry.name is None:
        report("its name is not one of an object: it has been renamed")
    elif renamed is not None:
        report(renamed)
    elif checked.hash is not None and not checked.problems:
        found = checked.hash.hex()[: len(entry.name.hash_start)]
        if found != entry.name.hash_start:
            report(f"its name has the hash {entry.name.hash_start}, it is {found}: it has been renamed")
