"""Sets of global transaction ids, as MySQL and MariaDB write them. Pure. Raises ValueError for what is none."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

Interval = tuple[int, int]
"""First and last transaction number, both included."""


def behind(received: str, executed: str) -> int:
    """How many transactions of *received* are not in *executed*, both as MySQL has them (uuid:1-5:7,uuid:tag:1-9)."""
    done = _sets(executed)
    return sum(_missing(intervals, done.get(source, ())) for source, intervals in _sets(received).items())


def behind_by_position(received: str, executed: str) -> int:
    """The same of MariaDB's positions (domain-server-sequence, one a domain)."""
    done = _positions(executed)
    return sum(max(sequence - done.get(domain, 0), 0) for domain, sequence in _positions(received).items())


def _sets(text: str) -> Mapping[str, list[Interval]]:
    found: defaultdict[str, list[Interval]] = defaultdict(list)
    for part in text.replace("\n", "").split(","):
        uuid, *rest = part.strip().lower().split(":")
        source = uuid
        for word in rest:
            if word[:1].isdigit():
                first, _, last = word.partition("-")
                found[source].append((int(first), int(last or first)))
            else:
                source = f"{uuid}:{word}"  # a tag (MySQL 8.3): what follows is of it
    return {source: sorted(intervals) for source, intervals in found.items()}


def _missing(wanted: Iterable[Interval], there: Iterable[Interval]) -> int:
    """How many numbers of *wanted* are not in *there*; each is sorted and does not overlap itself."""
    have = list(there)
    missing = at = 0
    for first, last in wanted:
        missing += last - first + 1
        while at < len(have) and have[at][1] < first:
            at += 1
        look = at
        while look < len(have) and have[look][0] <= last:
            missing -= min(last, have[look][1]) - max(first, have[look][0]) + 1
            look += 1
        at = max(look - 1, at)  # the last one may reach into the next of *wanted*
    return missing


def _positions(text: str) -> Mapping[int, int]:
    found: dict[int, int] = {}
    for part in filter(None, text.split(",")):
        domain, _, sequence = (int(word) for word in part.strip().split("-"))
        found[domain] = max(sequence, found.get(domain, 0))
    return found
