"""Where statements of a numbered load are missing in an archive, and whether that is where the ledger counts a loss."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

from tests.support import numbered
from tests.support.collector import Archive
from tests.support.statements import Statement
from workers import records

_PROCESSES = 1 << 32
_UNKNOWN = -2


class Found(NamedTuple):
    """A statement of the archive."""

    number: int
    """Below 0: an execution of which text or value is not known."""
    process: int
    """The worker's process that recorded it; each has a number of its own."""

    @property
    def generation(self) -> int:
        """Which capture process's it was."""
        return self.process % _PROCESSES >> 16


@dataclass
class Account:
    """What an archive has of a numbered load, by connection and in order."""

    found: dict[str, list[Found]] = field(default_factory=dict)
    invented: list[bytes] = field(default_factory=list)
    """Texts that nobody sent, or not so."""
    cut: int = 0
    """Statements of which the archive itself says that their end is missing."""


def recorded(collector: Archive) -> Account:
    """What is in the archive, in the order of its time."""
    account = Account()
    names: dict[str, str] = {}
    lines: dict[str, list[tuple[int, Found]]] = {}
    for head, body in collector.blocks():
        process = head.worker * _PROCESSES + head.incarnation
        for one in records.statements(body):
            number = _number(one, names, account)
            if number is not None:
                lines.setdefault(one.session.client, []).append((one.time_ns, Found(number, process)))
    for client, line in lines.items():
        account.found[names[client]] = [found for _, found in sorted(line, key=lambda timed: timed[0])]
    return account


def _number(one: records.Statement, names: dict[str, str], account: Account) -> int | None:
    """The number of a statement; None for what is no numbered one."""
    if one.command not in {"query", "stmt_execute"}:
        return None
    sql = one.sql or b""
    if one.command == "stmt_execute":
        if one.sql is None or one.parameters is None:
            return _UNKNOWN
        sql = sql.replace(b"?", str(one.parameters[0]).encode())
    elif not sql.startswith(b"SELECT"):
        return None  # what a client sends by itself at its start
    place = numbered.place(sql)
    if place is None and "truncated" in one.flags:
        account.cut += 1
        return None
    if place is None or names.setdefault(one.session.client, place[0]) != place[0]:
        account.invented.append(sql[:200])
        return None
    return place[1]


def logged(log: Iterable[Statement]) -> dict[str, int]:
    """How many statements of each connection reached the server. Raises AssertionError where one is skipped."""
    numbers: dict[str, list[int]] = {}
    for statement in log:
        if statement.command in {"Query", "Execute"} and (place := numbered.place(statement.text)):
            numbers.setdefault(place[0], []).append(place[1])
    for name, line in numbers.items():
        assert line == list(range(len(line))), name
    return {name: len(line) for name, line in numbers.items()}


class Missing(NamedTuple):
    """What the archive lacks."""

    statements: int
    problems: list[str]
    """Where an archive has a statement twice or in another order, or lacks one although the same process recorded what
    came before it and after it."""


def missing(account: Account, sent: Mapping[str, int], last: Mapping[int, int]) -> Missing:
    """Compare with the log; *last* is the number of each worker's last process."""
    problems = [f"{name} is not in the archive" for name in sent.keys() - account.found.keys()]
    total = 0
    for name, found in account.found.items():
        for run in _runs(found, sent.get(name, 0), last):
            total += run.absent
            if run.absent < 0 or (run.absent and len(run.processes) < 2):
                problems.append(f"{name}: {run.absent} behind {run.before}, all in process {run.processes}")
    return Missing(total, problems)


class _Run(NamedTuple):
    """What is between two statements of which the number is known."""

    before: int
    absent: int
    processes: set[int]


def _runs(found: Sequence[Found], sent: int, last: Mapping[int, int]) -> Iterator[_Run]:
    worker = found[0].process // _PROCESSES
    ends = [Found(-1, worker * _PROCESSES), *found, Found(sent, worker * _PROCESSES + last[worker])]
    known = [at for at, one in enumerate(ends) if one.number >= 0 or at == 0]
    for begin, end in pairwise(known):
        unnamed = end - begin - 1
        absent = ends[end].number - ends[begin].number - 1 - unnamed
        yield _Run(ends[begin].number, absent, {one.process for one in ends[begin : end + 1]})


def forgotten(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Records that lack what other records of the archive say: who logged in, or what was prepared under that id."""
    users = {one["client"] for one in records if one["command"] == "connect" and one["status"] == "ok"}
    prepared = {
        (one["client"], one["statement_id"])
        for one in records
        if one["command"] == "stmt_prepare" and one["status"] == "ok"
    }
    return [
        one
        for one in records
        if (one["client"] in users and "user" not in one)
        or (one["command"] == "stmt_execute" and (one["client"], one["statement_id"]) in prepared and "sql" not in one)
    ]


def summary(account: Account) -> str:
    """What was found, for people."""
    named = Counter(one.number >= 0 for line in account.found.values() for one in line)
    return f"{named[True]} named, {named[False]} without text or value, {account.cut} cut"
