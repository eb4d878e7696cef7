"""The load as a table for eyes, and as a map for programs. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from collector.reading.histogram import MOST_ERROR
from collector.reading.lines import duration, printable, rfc3339
from collector.reading.load import PERCENTILES, REST, Group, Load, Loads, group_id, ranked

_HEAD: Final = (
    f"{'time':>9} {'share':>6} {'count':>9} {'mean':>8} "
    + " ".join(f"{f'p{percent}':>8}" for percent in PERCENTILES)
    + f" {'max':>8} {'rows':>10} {'errors':>7}"
)


def digest_table(loads: Loads, by: str, rank: str, most: int, width: int | None = None) -> Iterator[str]:
    """The groups of most load as lines, cut at *width*, with a line that sums up before them and one below."""
    whole = loads.total()
    if not whole.count:
        yield "no statement is what was asked for"
        return
    yield (
        f"{whole.count} statements, {duration(whole.total_ns)} of answering, {whole.errors} errors,"
        f" {rfc3339(whole.first_ns)} to {rfc3339(whole.last_ns)}"
    )
    if whole.timed < whole.count:
        yield f"of {whole.count - whole.timed} of them the time is not known: they are in no time, mean or percentile"
    of_shape = by == "shape"
    yield f"{_HEAD}  {'id                ' if of_shape else ''}{by}"
    for group, load in islice(ranked(loads.groups, rank), most):
        label = f"{group_id(group) or '':16}  {_name(group)}" if of_shape else _name(group)
        line = f"{_numbers(load, whole)}  {label}"
        yield line if width is None or len(line) <= width else line[: width - 3] + "..."
    hidden = len(loads.groups) - most
    if hidden > 0:
        yield f"{hidden} more are not shown: see --top"


def digest_record(loads: Loads, by: str, rank: str, most: int) -> dict[str, Any]:
    """The same as a map that JSON can hold."""
    whole = loads.total()
    return {
        "by": by,
        "rank": rank,
        "percentile_error": MOST_ERROR,
        "total": _record(whole),
        "groups": [{**_names(group, by), **_record(load)} for group, load in islice(ranked(loads.groups, rank), most)],
        "groups_total": len(loads.groups),
    }


def _numbers(load: Load, whole: Load) -> str:
    share = load.total_ns / whole.total_ns if whole.total_ns else 0
    times = [load.total_ns // load.timed if load.timed else None, *map(load.percentile, PERCENTILES)]
    times.append(load.slowest_ns if load.timed else None)
    shown = " ".join(f"{'-' if one is None else duration(one):>8}" for one in times)
    rows = load.rows + load.affected_rows
    return f"{duration(load.total_ns):>9} {share:6.1%} {load.count:9} {shown} {rows:10} {load.errors:7}"


def _name(group: Group) -> str:
    if group == REST:
        return "(others, of less time each)"
    words = [f"({group[0]})" if len(group) > 1 and group[0] else group[0], *group[1:]]
    return printable(" ".join(word for word in words if word)) or "(unknown)"


def _names(group: Group, by: str) -> dict[str, Any]:
    if group == REST:
        return {"rest": True}
    if by != "shape":
        return {by: group[0]}
    command, shape = group
    return {"id": group_id(group), "shape": _clean(shape), **({"command": command} if command else {})}


def _record(load: Load) -> dict[str, Any]:
    if not load.count:
        return {"count": 0}
    record: dict[str, Any] = {
        "count": load.count,
        "timed": load.timed,
        "time_ns": load.total_ns,
        "rows": load.rows,
        "affected_rows": load.affected_rows,
        "errors": load.errors,
        "bytes_out": load.bytes_out,
        "first": rfc3339(load.first_ns),
        "last": rfc3339(load.last_ns),
    }
    if load.timed:
        record["mean_ns"] = load.total_ns // load.timed
        record |= {f"p{percent}_ns": load.percentile(percent) for percent in PERCENTILES}
        record["max_ns"] = load.slowest_ns
        slowest = {"time": rfc3339(load.slowest_at_ns), "sql": load.sample.decode("utf-8", "replace")}
        record["slowest"] = slowest
    return record


def _clean(text: str) -> str:
    """Without the surrogates that stand for bytes that are no UTF-8."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
