"""Who is connected, and who waits for whom. Pure: rows come in."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

from collector.monitor.database import families as of
from collector.monitor.database.status import Rows
from collector.monitor.database.values import text, whole
from collector.monitor.families import Reading

MOST_BLOCKERS: Final = 10

_NO_WORD: Final = re.compile(r"[^a-z0-9_]+")


def of_threads(rows: Rows) -> Iterator[Reading]:
    """Of the list of threads, summed by command and state: command, state, threads, seconds."""
    threads: Counter[tuple[str, str]] = Counter()
    seconds: Counter[tuple[str, str]] = Counter()
    for row in rows:
        labels = (_word(row["command"]), _word(row["state"]) or "unknown")
        threads[labels] += int(whole(row["threads"]))
        seconds[labels] += int(whole(row["seconds"]))
    for labels, count in threads.items():
        yield Reading(of.THREADS, count, labels)
        yield Reading(of.THREAD_SECONDS, seconds[labels], labels)


def of_users(rows: Rows) -> Iterator[Reading]:
    """The same by user: user, threads."""
    for row in rows:
        yield Reading(of.BY_USER, whole(row["threads"]), (text(row["user"]),))


def of_lock_waits(rows: Rows) -> Iterator[Reading]:
    """Of pairs of connections of which one waits for the other: waiter, blocker, seconds."""
    waits: defaultdict[int, set[int]] = defaultdict(set)
    for row in rows:
        waits[int(whole(row["waiter"]))].add(int(whole(row["blocker"])))
    yield Reading(of.LOCK_WAITERS, len(waits))
    yield Reading(of.LOCK_LONGEST, max((whole(row["seconds"]) for row in rows), default=0))
    yield Reading(of.LOCK_DEPTH, depth(waits))
    for blocker, blocked in blockers(waits).most_common(MOST_BLOCKERS):
        yield Reading(of.LOCK_BLOCKED, blocked, (str(blocker),))


def blockers(waits: Mapping[int, set[int]]) -> Counter[int]:
    """How many wait, directly or not, for each one that waits for none.

    *waits*: for whom each waiter waits. Where they wait for each other in a ring, which the server is about to break,
    nobody is at the root.
    """
    found: Counter[int] = Counter()
    for waiter in waits:
        seen = {waiter}
        ahead = [waiter]
        while ahead:
            for one in waits.get(ahead.pop(), frozenset()):
                if one not in seen:
                    seen.add(one)
                    ahead.append(one)
        found.update(one for one in seen if one not in waits)
    return found


def depth(waits: Mapping[int, set[int]]) -> int:
    """The longest chain of waiters, by the shortest way from each to one that waits for none; a ring has no depth."""
    level = {one for blocked_by in waits.values() for one in blocked_by} - waits.keys()
    waiting = dict(waits)
    steps = 0
    while level:
        level = {waiter for waiter, blocked_by in waiting.items() if blocked_by & level}
        for waiter in level:
            del waiting[waiter]
        steps += bool(level)
    return steps


def _word(value: object) -> str:
    return _NO_WORD.sub("_", text(value).lower()).strip("_")
