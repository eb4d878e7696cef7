"""What is wrong with an instance now, since when, and what mends it; decided from what its status files say. Pure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from collector.budget.levels import FULL

STALE_S: Final = 25.0
"""The status is written each second, each eleven while nothing is recorded; an older one was left by a process that
hangs or is gone."""
RECENT: Final = dt.timedelta(hours=1)
"""For so long a loss, a restart or an object that was removed is to be seen to; then the figures alone tell of it."""
_BLIND_S: Final = 60.0

Status = Mapping[str, Any]


def headline(found: list[str]) -> str:
    """The verdict in a line."""
    if not found:
        return "healthy: it records, and nothing was dropped, lost, given up or started again within an hour"
    return f"{len(found)} thing{'' if len(found) == 1 else 's'} to see to:"


def findings(status: Status, processes: Status, now: dt.datetime) -> list[str]:
    """What is wrong, the worst first: a sentence each with its remedy. *now* has a time zone."""
    return [
        *_not_recording(status, processes, now),
        *_losing(status, now),
        *_shedding(status.get("budget", {})),
        *_restarted(status, processes, now),
        *_store(status, now),
        *status["warnings"],
        *processes.get("warnings", ()),
    ]


def _not_recording(status: Status, processes: Status, now: dt.datetime) -> Iterator[str]:
    age_s = (now - dt.datetime.fromisoformat(status["time"])).total_seconds()
    if status["state"] != "running":
        yield f"nothing is recorded: it is {status['state']}; the log says why (querytap run)"
    elif age_s > STALE_S:
        yield f"it has not answered for {age_s:.0f} s: the log says why; start it again"
    elif processes.get("waiting"):
        yield f"nothing is recorded: capture waits for {processes['waiting']}, as the log says"
    else:
        yield from _blind(status, now)


def _blind(status: Status, now: dt.datetime) -> Iterator[str]:
    workers = status["ledger"].values()
    began = dt.datetime.fromisoformat(status["began"])
    if (now - began).total_seconds() < _BLIND_S:
        return
    if not any(worker["packets"]["passed"] for worker in workers):
        yield (
            f"no packet was seen since the start at {_time(began)}: unless nobody uses the server, see to"
            " capture.ports, capture.interfaces and capture.namespaces"
        )
    elif not any(worker["statements"]["decoded"] for worker in workers):
        encrypted = sum(worker["encrypted"]["connections"] for worker in workers)
        if encrypted:
            yield (
                f"no statement was read since the start at {_time(began)}, as TLS hides those of {encrypted}"
                " connections: let clients that are to be recorded connect without it"
            )


def _losing(status: Status, now: dt.datetime) -> Iterator[str]:
    if when := _recent(status, "dropped", now):
        yield (
            f"the kernel dropped packets, {when}: raise capture.ring_mib or workers.count, or lower"
            " capture.keep_percent"
        )
    if when := _recent(status, "lost", now):
        yield f"statements were lost, {when}: the log says with which process"
    if not status["balanced"]:
        yield "the ledger does not add up, as is said below: this is a fault of querytap, report it"


def _shedding(budget: Status) -> Iterator[str]:
    level = budget.get("level", FULL)
    if level == FULL:
        return
    since = dt.datetime.fromtimestamp(budget["since_ns"] / 1e9, dt.UTC)
    yield (
        f"less is recorded than is configured, to keep to the budget: level {level} since {_time(since)}"
        f" ({budget['why']}); raise budget.cpu_percent, or ask for less (capture.responses, capture.keep_percent)"
    )


def _restarted(status: Status, processes: Status, now: dt.datetime) -> Iterator[str]:
    if when := _recent(status, "crashes", now):
        yield f"workers ended and were started again, {when}: the log says how; what they held is counted as lost"
    for name, time in processes.get("restarted", {}).items():
        at = dt.datetime.fromisoformat(time)
        if now - at <= RECENT:
            yield f"{name} ended and was started again, last at {_time(at)}: the log says how"


def _store(status: Status, now: dt.datetime) -> Iterator[str]:
    store, batches = status["store"], status["batches"]
    if store.get("trouble"):
        yield (
            f"the store takes no objects since {_time(dt.datetime.fromisoformat(store['trouble_since']))}:"
            f" {store['trouble']}; {'nothing' if store['full'] else 'soon nothing'} more is taken from the rings,"
            " and what finds no room in them is counted as dropped"
        )
    uploads = store.get("uploads", {})
    if uploads.get("trouble"):
        yield (
            f"{store['place']} takes no objects since {_time(dt.datetime.fromisoformat(uploads['trouble_since']))}:"
            f" {uploads['trouble']}; {uploads['spooled']} objects wait in the spool, which store.local_max_mib bounds"
        )
    if when := _recent(status, "discarded", now):
        yield f"objects were given up, {when}{_of(batches['discarded_ns'])}: the log says why they are not stored"
    if when := _recent(status, "evicted", now):
        what = "spool" if uploads else "archive"
        yield (
            f"the {what} is full and its oldest objects are removed, {when}{_of(batches['evicted_ns'])}: raise"
            " store.local_max_mib or free its disk (store.min_free_percent), or move objects elsewhere in time"
        )


def _recent(status: Status, name: str, now: dt.datetime) -> str:
    """How often and when something grew, for people; empty when it did not within RECENT."""
    moment = status["moments"].get(name)
    if moment is None:
        return ""
    first, last = (dt.datetime.fromisoformat(moment[end]) for end in ("first", "last"))
    if now - last > RECENT:
        return ""
    return f"{moment['grown']} since {_time(first)}, last at {_time(last)}"


def _of(span_ns: Sequence[int]) -> str:
    """From when to when the statements are that are gone, for people."""
    if not span_ns:
        return ""
    first, last = (_time(dt.datetime.fromtimestamp(ns / 1e9, dt.UTC)) for ns in span_ns)
    return f", with statements of {first} to {last}"


def _time(time: dt.datetime) -> str:
    return time.isoformat(timespec="seconds")
