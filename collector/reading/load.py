"""The load that statements are, summed by what they have in common; sums of parts add up to the whole. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from collector.reading.histogram import Histogram, histogram, percentile
from collector.reading.shapes import Shapes, shape_id
from workers.columns import Columns, decode
from workers.mysqlx import phases
from workers.records import OF_SQL

MOST_GROUPS: Final = 20_000
"""Groups that are kept apart; where there are more, half of them, those of the least time, become one."""
PERCENTILES: Final = (50, 95, 99)
BY: Final = ("shape", "user", "database", "client", "host", "command")
"""What statements can be summed by."""

_EXECUTED: Final = frozenset({"query", "stmt_execute", "stmt_bulk_execute", "x_execute", "x_cursor_open"})
_LONGEST_SAMPLE: Final = 2000
_ERROR: Final = 2  # in the column `status`

Group = tuple[str, ...]
"""What the statements of a group have in common: of a shape, a command other than execution, and the shape."""
REST: Final[Group] = ("...",)
"""The groups of little time that are one."""


@dataclass(slots=True)
class Load:
    """The sums of a group. Times are those to the last byte of an answer where it is known, else to the first."""

    count: int = 0
    timed: int = 0
    """Statements whose time is known."""
    total_ns: int = 0
    slowest_ns: int = -1
    slowest_at_ns: int = 0
    sample: bytes = b""
    """The text of the slowest, as far as it is kept."""
    rows: int = 0
    affected_rows: int = 0
    errors: int = 0
    bytes_out: int = 0
    first_ns: int = 1 << 63
    last_ns: int = 0
    times: Histogram = field(default_factory=Histogram)

    def add(self, other: Load) -> None:
        """Take the sums of other statements in."""
        self.count += other.count
        self.timed += other.timed
        self.total_ns += other.total_ns
        self.rows += other.rows
        self.affected_rows += other.affected_rows
        self.errors += other.errors
        self.bytes_out += other.bytes_out
        self.first_ns = min(self.first_ns, other.first_ns)
        self.last_ns = max(self.last_ns, other.last_ns)
        self.times.update(other.times)
        if other.slowest_ns > self.slowest_ns:
            self.slowest_ns, self.slowest_at_ns, self.sample = other.slowest_ns, other.slowest_at_ns, other.sample

    def percentile(self, percent: float) -> int | None:
        """Of the times in ns; None where none is known."""
        return min(percentile(self.times, percent), self.slowest_ns) if self.timed else None


class Loads:
    """The load of each group. Promise: no more than MOST_GROUPS are held, whatever comes."""

    def __init__(self) -> None:
        self.groups: dict[Group, Load] = {}

    def add(self, group: Group, load: Load) -> None:
        """Add to the sums of a group."""
        known = self.groups.get(group)
        if known is not None:
            known.add(load)
            return
        if len(self.groups) >= MOST_GROUPS:
            self._merge_least()
        self.groups[group] = load

    def merge(self, other: Loads) -> None:
        """Add all of another's sums."""
        for group, load in other.groups.items():
            self.add(group, load)

    def total(self) -> Load:
        """All groups together."""
        whole = Load()
        for load in self.groups.values():
            whole.add(load)
        return whole

    def _merge_least(self) -> None:
        ranked = sorted(self.groups, key=lambda group: self.groups[group].total_ns)
        rest = self.groups.pop(REST, None) or Load()
        for group in ranked[: MOST_GROUPS // 2]:
            if group != REST:
                rest.add(self.groups.pop(group))
        self.groups[REST] = rest


class Grouping:
    """Tells the group of each row of a block; *by* is one of BY."""

    def __init__(self, by: str, shapes: Shapes | None = None) -> None:
        self._groups_of: Callable[[Columns, Sequence[int], str], Iterable[Group]] = {
            "shape": self._by_shape,
            "user": lambda columns, rows, _: _by_session(columns, rows, lambda one: one.user or ""),
            "client": lambda columns, rows, _: _by_session(columns, rows, lambda one: _address(one.client)),
            "database": lambda columns, rows, _: _by_database(columns, rows),
            "host": lambda _, rows, host: [(host,)] * len(rows),
            "command": lambda columns, rows, _: _by_command(columns, rows),
        }[by]
        self._shapes = shapes or Shapes()

    def loads(self, columns: Columns, rows: Sequence[int], host: str) -> dict[Group, Load]:
        """The sums over these rows of a block that *host* recorded; BlockError where it is damaged."""
        groups: dict[Group, list[int]] = {}
        for group, row in zip(self._groups_of(columns, rows, host), rows, strict=True):
            groups.setdefault(group, []).append(row)
        sums = _Sums(columns)
        return {group: sums.of(members) for group, members in groups.items()}

    def _by_shape(self, columns: Columns, rows: Sequence[int], _: str) -> Iterable[Group]:
        numbers = columns.numbers("command")
        names = {number: phases.name(number) for number in set(numbers)}
        for row in rows:
            name, text = names[numbers[row]], columns.text(row)
            shape = b"" if text is None or name not in OF_SQL else self._shapes(text)
            yield ("" if name in _EXECUTED else name, shape.decode("utf-8", "surrogateescape"))


class _Sums:
    """The columns that are summed."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        status = columns.numbers("status")
        answered = zip(columns.numbers("duration"), columns.numbers("latency"), status, strict=True)
        self._times = [(duration or latency) - 1 if known else -1 for duration, latency, known in answered]
        self._status = status
        self._rows, self._affected, self._bytes_out = map(columns.numbers, ("rows", "affected_rows", "bytes_out"))

    def of(self, rows: Sequence[int]) -> Load:
        """The sums over some rows."""
        moments = self._columns.times
        timed = [row for row in rows if self._times[row] >= 0]
        load = Load(
            count=len(rows),
            timed=len(timed),
            rows=sum(self._rows[row] - 1 for row in rows if self._rows[row]),
            affected_rows=sum(map(self._affected.__getitem__, rows)),
            errors=sum(self._status[row] == _ERROR for row in rows),
            bytes_out=sum(map(self._bytes_out.__getitem__, rows)),
            first_ns=min(map(moments.__getitem__, rows)),
            last_ns=max(map(moments.__getitem__, rows)),
        )
        if timed:
            values = [self._times[row] for row in timed]
            slowest = max(timed, key=self._times.__getitem__)
            load.total_ns = sum(values)
            load.times = histogram(values)
            load.slowest_ns, load.slowest_at_ns = self._times[slowest], moments[slowest]
            load.sample = (self._columns.text(slowest) or b"")[:_LONGEST_SAMPLE]
        return load


def ranked(loads: Mapping[Group, Load], key: str) -> list[tuple[Group, Load]]:
    """The groups, those of most load first: by time, count, rows, errors, mean, max, p50, p95 or p99; REST last."""
    value = RANKS[key]
    return sorted(loads.items(), key=lambda item: (item[0] == REST, -value(item[1]), item[0]))


def _mean(load: Load) -> float:
    return load.total_ns / load.timed if load.timed else -1


def _percentile(percent: float, load: Load) -> float:
    known = load.percentile(percent)
    return -1 if known is None else known


RANKS: Final[dict[str, Callable[[Load], float]]] = {
    "time": lambda load: load.total_ns,
    "count": lambda load: load.count,
    "rows": lambda load: load.rows + load.affected_rows,
    "errors": lambda load: load.errors,
    "mean": _mean,
    "max": lambda load: load.slowest_ns,
    **{f"p{percent}": partial(_percentile, percent) for percent in PERCENTILES},
}
"""What groups can be ranked by."""


def group_id(group: Group) -> str | None:
    """The id of the shape that a group is of, with which `--shape` finds its statements; None for other groups."""
    return shape_id(group[1].encode("utf-8", "surrogateescape")) if len(group) > 1 and group[1] else None


def _by_session(columns: Columns, rows: Sequence[int], name: Callable[[Any], str]) -> Iterable[Group]:
    sessions, numbers = columns.sessions, columns.session_numbers
    names = {number: (name(sessions[number]),) for number in set(numbers)}
    return [names[numbers[row]] for row in rows]


def _by_database(columns: Columns, rows: Sequence[int]) -> Iterable[Group]:
    numbers = columns.numbers("database")
    names = {number: (decode(text or b"", "utf_8")[0],) for number, text in columns.strings("database").items()}
    return [names[numbers[row]] for row in rows]


def _by_command(columns: Columns, rows: Sequence[int]) -> Iterable[Group]:
    numbers = columns.numbers("command")
    names = {number: (phases.name(number),) for number in set(numbers)}
    return [names[numbers[row]] for row in rows]


def _address(client: str) -> str:
    """Without its port."""
    return client.rpartition(":")[0].strip("[]")
