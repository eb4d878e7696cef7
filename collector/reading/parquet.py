"""Statements as Parquet files, in a folder a host and a day: what the processes of a pool do for `export`."""

from __future__ import annotations

import datetime as dt
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import quote

from collector.archive.heads import BlockHead
from collector.archive.layout import Header
from collector.reading.archive import Entry
from collector.reading.fields import FIELDS, Field
from collector.reading.scan import Visit, Wanted, visit
from collector.reading.selection import Selection
from workers.columns import BlockError, Columns
from workers.records import Statement

MOST_ROWS: Final = 50_000
"""In memory, and in a row group."""
MOST_BYTES: Final = 64 << 20
"""Of texts in memory."""
MOST_DAYS: Final = 64
"""That a group may have statements of: only a forged one has more."""
GROUP_BYTES: Final = 64 << 20
"""Of sealed objects that become one file a day."""

_DAY_NS: Final = 86_400 * 1_000_000_000
_MOST: Final = {"number": (1 << 63) - 1, "unsigned": (1 << 64) - 1}


@dataclass(frozen=True, slots=True)
class Group:
    """Neighbouring objects of one instance that become one file for each day that they hold."""

    entries: tuple[Entry, ...]

    @property
    def path(self) -> str:
        """That of the first."""
        return self.entries[0].path

    @property
    def size(self) -> int:
        """Of all."""
        return sum(entry.size for entry in self.entries)

    @property
    def file(self) -> str:
        """How its files are called: the same for the same objects, so that a second export replaces the first."""
        first, last = self.entries[0].name, self.entries[-1].name
        if first is None or last is None:
            return f"{quote(self.path, safe='')}.parquet"
        return f"{first.instance}_{first.sequence:010d}_{last.sequence:010d}.parquet"


def groups(entries: Iterable[Entry]) -> list[Group]:
    """All *entries*, which come by sequence within an instance, in groups of one day of their names each."""
    found: list[Group] = []
    open_groups: dict[tuple[str, int], list[Entry]] = {}
    for entry in entries:
        key = (entry.path, 0) if entry.name is None else (entry.name.instance, entry.name.first_ns // _DAY_NS)
        members = open_groups.setdefault(key, [])
        members.append(entry)
        if sum(member.size for member in members) >= GROUP_BYTES:
            found.append(Group(tuple(open_groups.pop(key))))
    return found + [Group(tuple(members)) for members in open_groups.values()]


@dataclass(frozen=True, slots=True)
class Exporting:
    """What to write where; call it with a group. Never raises for what is in the archive."""

    wanted: Wanted
    folder: str

    def __call__(self, group: Group) -> Visit[int]:
        """Write the group's files; how many statements they hold. OSError where they cannot be written."""
        selection = Selection(self.wanted.search)
        seen: Visit[int] = Visit(0)
        with _Files(Path(self.folder), group.file) as files:

            def take(header: Header, _: BlockHead, columns: Columns) -> None:
                for statement in selection.statements(columns):
                    files.add(header.host, statement)
                    seen.result += 1

            for entry in group.entries:
                visit(entry, self.wanted, take, seen)
        return seen


@dataclass(slots=True)
class _Part:
    """One file, and the rows that are not in it yet."""

    aside: Path
    path: Path
    writer: Any
    rows: list[Statement] = field(default_factory=list)
    text_bytes: int = 0


class _Files:
    """The files of a group: written aside, and all named at the end; none of them is where something goes wrong."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = name
        self._parts: dict[tuple[str, int], _Part] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for part in self._parts.values():
            if kind is None:
                _write(part)
            part.writer.close()
            if kind is None:
                part.aside.replace(part.path)
            else:
                part.aside.unlink(missing_ok=True)

    def add(self, host: str, statement: Statement) -> None:
        """Put a statement into the file of its host and day; BlockError where these are too many."""
        key = (host, statement.time_ns // _DAY_NS)
        part = self._parts.get(key)
        if part is None:
            if len(self._parts) >= MOST_DAYS:
                raise BlockError(f"statements of more than {MOST_DAYS} days, where one object follows another")
            part = self._parts[key] = self._open(*key)
        part.rows.append(statement)
        part.text_bytes += len(statement.sql or b"") + len(statement.error_message or "")
        if len(part.rows) >= MOST_ROWS or part.text_bytes >= MOST_BYTES:
            _write(part)

    def _open(self, host: str, day: int) -> _Part:
        import pyarrow.parquet

        date = dt.date(1970, 1, 1) + dt.timedelta(days=day)
        folder = self._folder / f"host={quote(host, safe='') or '__HIVE_DEFAULT_PARTITION__'}" / f"day={date}"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        aside = folder / f".{self._name}.{secrets.token_hex(4)}"
        aside.touch(mode=0o600)
        writer = pyarrow.parquet.ParquetWriter(aside, _schema(), compression="zstd")
        return _Part(aside, folder / self._name, writer)


def _write(part: _Part) -> None:
    """One row group of what waits."""
    import pyarrow

    if part.rows:
        schema = _schema()
        columns = [
            pyarrow.array(list(_values(column, part.rows)), type=schema.field(column.name).type) for column in FIELDS
        ]
        part.writer.write_table(pyarrow.Table.from_arrays(columns, schema=schema))
        part.rows = []
        part.text_bytes = 0


def _values(column: Field, rows: Sequence[Statement]) -> Iterator[str | int | None]:
    most = _MOST.get(column.kind)
    for statement in rows:
        value = column.value(statement)
        if isinstance(value, str):
            yield value if value.isascii() else value.encode("utf-8", "replace").decode()
        elif isinstance(value, int) and most is not None:
            yield min(value, most)  # only a forged one is larger
        else:
            yield value


def _schema() -> Any:  # noqa: ANN401 - pyarrow has no types
    import pyarrow

    types = {
        "time": pyarrow.timestamp("ns", tz="UTC"),
        "text": pyarrow.string(),
        "number": pyarrow.int64(),
        "unsigned": pyarrow.uint64(),
    }
    return pyarrow.schema([(column.name, types[column.kind]) for column in FIELDS])
