"""Blocks out of objects: opens one after the other, reports what cannot be read, and goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from collector.archive.heads import BlockHead, HeadError, read_head
from collector.archive.layout import KIND_BLOCKS, MAX_BODY_BYTES, Header
from collector.archive.packing import unpack_stream
from collector.reading.archive import Entry, contradiction
from collector.reading.keys import ReaderKey
from collector.reading.objects import Content, ObjectError, SealedObject, open_object
from collector.reading.search import Search
from workers.columns import BlockError, Columns

Report = Callable[[str], None]
Take = Callable[[Header, BlockHead, Columns], None]
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be read of an archive."""

    keys: tuple[ReaderKey, ...]
    search: Search = field(default_factory=Search)
    instances: frozenset[str] = frozenset()
    """Only what these have signed; none named: what anyone has."""
    hosts: frozenset[str] = frozenset()
    """Only what was recorded on these; none named: on any."""

    def may_hold(self, entry: Entry) -> bool:
        """Whether something wanted may be in an object, by its name."""
        return entry.within(self.search.since_ns, self.search.until_ns) and entry.may_be_of(self.instances)

    def takes(self, header: Header) -> bool:
        """Whether something wanted may be in an object, by its header."""
        return (not self.instances or header.instance in self.instances) and (
            not self.hosts or header.host in self.hosts
        )


@dataclass(slots=True)
class Visit(Generic[T]):
    """What came of one object: can be sent from one process to another."""

    result: T
    problems: list[str] = field(default_factory=list)
    """One line each, which names the object."""
    origin: tuple[str, str] | None = None
    """Host and instance; None for an object that is not wanted or cannot be read."""
    boot: str = ""


def visit(entry: Entry, wanted: Wanted, take: Take, seen: Visit[T]) -> Visit[T]:
    """Give the blocks of an object that may hold something wanted to *take*; what is wrong goes into *seen*.

    Never raises for what is in the archive. A BlockError of *take* is reported.
    """

    def report(problem: str) -> None:
        seen.problems.append(f"{entry.path}: {problem}")

    try:
        with entry.open() as stream:
            sealed = open_object(stream, wanted.keys)
            if not wanted.takes(sealed.header):
                return seen
            seen.origin, seen.boot = (sealed.header.host, sealed.header.instance), sealed.header.boot
            take_blocks(sealed, wanted.search, take, report)
        renamed = contradiction(entry.name, sealed.header)
        if renamed is not None and not seen.problems:  # with a swapped header, that is the problem
            report(renamed)
    except ObjectError as error:
        report(str(error))
    except OSError as error:
        report(error.strerror or str(error))
    return seen


def take_blocks(sealed: SealedObject, search: Search, take: Take, report: Report) -> None:
    """Give *take* the blocks of an open object whose time span may hold something that is searched."""
    for content in sealed.contents(report):
        if content.kind != KIND_BLOCKS:
            continue
        for head, body in _blocks(content, report):
            if not body or not search.overlaps(head.first_ns, head.last_ns):
                continue
            block = f"block {head.sequence} of worker {head.worker} (incarnation {head.incarnation})"
            try:
                columns = Columns(body)
                take(sealed.header, head, columns)
            except BlockError as error:
                report(f"{block} is not readable: {error}")
            else:
                if columns.rows != head.statements:
                    report(f"{block} holds {columns.rows} statements, its head says {head.statements}")


def _blocks(content: Content, report: Report) -> Iterator[tuple[BlockHead, bytes]]:
    try:
        for pair in unpack_stream(content.data, bin_bytes=MAX_BODY_BYTES):
            if not (isinstance(pair, list) and len(pair) == 2 and all(isinstance(part, bytes) for part in pair)):
                report(f"frame {content.frame} holds something that is not a block")
                continue
            yield read_head(pair[0], len(pair[1])), pair[1]
    except HeadError as error:
        report(f"frame {content.frame} holds a block with {error}")
    except ValueError as error:
        report(f"frame {content.frame} does not hold blocks: {error}")
