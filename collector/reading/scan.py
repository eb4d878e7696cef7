"""Statements out of an archive: opens object after object, reports what cannot be read, and goes on."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from collector.archive.heads import BlockHead, HeadError, read_head
from collector.archive.layout import KIND_BLOCKS, MAX_BODY_BYTES, Header
from collector.archive.packing import unpack_stream
from collector.reading.archive import Entry, contradiction
from collector.reading.keys import ReaderKey
from collector.reading.objects import Content, ObjectError, SealedObject, open_object
from collector.reading.search import Search
from workers import records
from workers.records import BlockError, Statement

Report = Callable[[str], None]
Decode = Callable[[bytes], Iterable[Statement]]

_MOST_HELD: Final = 10_000  # statements put in order of time
_MOST_HELD_BYTES: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class Found:
    """A statement, and the header of the object it was in."""

    statement: Statement
    header: Header


def scan(
    entries: Iterable[Entry],
    keys: Sequence[ReaderKey],
    search: Search,
    report: Report,
    decode: Decode = records.statements,
    *,
    instances: frozenset[str] = frozenset(),
) -> Iterator[Found]:
    """What *search* asks for, object after object, inside an object in order of time as far as memory allows.

    The time is the monotonic one, which setting the host's clock does not change.

    Where *instances* are named, only what these have signed.

    Never raises for what is in the archive: *report* gets one line, naming the object, for each thing that is wrong.
    """
    for entry in entries:
        if not entry.within(search.since_ns, search.until_ns) or not entry.may_be_of(instances):
            continue

        problems: list[str] = []

        def about(problem: str, path: str = entry.path, problems: list[str] = problems) -> None:
            problems.append(problem)
            report(f"{path}: {problem}")

        try:
            with entry.open() as stream:
                sealed = open_object(stream, keys)
                if instances and sealed.header.instance not in instances:
                    continue
                for statement in in_order(object_statements(sealed, search, about, decode)):
                    yield Found(statement, sealed.header)
            renamed = contradiction(entry.name, sealed.header)
            if renamed is not None and not problems:  # with a swapped header, that is the problem
                about(renamed)
        except ObjectError as error:
            about(str(error))
        except OSError as error:
            about(error.strerror or str(error))


def object_statements(
    sealed: SealedObject, search: Search, report: Report, decode: Decode = records.statements
) -> Iterator[tuple[int, Statement]]:
    """The statements of one object that *search* asks for, as they come, each with its monotonic time before it."""
    for content in sealed.contents(report):
        if content.kind == KIND_BLOCKS:
            for head, body in _blocks(content, report):
                if search.overlaps(head.first_ns, head.last_ns):
                    for statement in _decoded(head, body, search, report, decode):
                        yield statement.time_ns - head.clock_ns, statement


def in_order(statements: Iterable[tuple[int, Statement]]) -> Iterator[Statement]:
    """Statements by the monotonic times they come with, as far as a bounded number of them tells."""
    held: list[tuple[int, int, Statement]] = []
    held_bytes = 0
    for number, (time_ns, statement) in enumerate(statements):
        heapq.heappush(held, (time_ns, number, statement))
        held_bytes += _size(statement)
        while len(held) > _MOST_HELD or held_bytes > _MOST_HELD_BYTES:
            oldest = heapq.heappop(held)[2]
            held_bytes -= _size(oldest)
            yield oldest
    while held:
        yield heapq.heappop(held)[2]


def _size(statement: Statement) -> int:
    """Bytes of what can be large in it."""
    named = (part for pair in statement.query_attributes or () for part in pair)
    values = sum(len(value) for value in (*statement.bound(), *named) if isinstance(value, str | bytes))
    return len(statement.sql or b"") + len(statement.error_message or "") + values


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


def _decoded(head: BlockHead, body: bytes, search: Search, report: Report, decode: Decode) -> Iterator[Statement]:
    if not body:
        return
    block = f"block {head.sequence} of worker {head.worker} (incarnation {head.incarnation})"
    count = 0
    try:
        for statement in decode(body):
            count += 1
            if search.matches(statement):
                yield statement
    except BlockError as error:
        report(f"{block} is not readable: {error}")
    else:
        if count != head.statements:
            report(f"{block} holds {count} statements, its head says {head.statements}")
