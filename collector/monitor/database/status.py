"""SHOW GLOBAL STATUS and SHOW GLOBAL VARIABLES as metrics. Pure: rows come in."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from collector.monitor.database import families as of
from collector.monitor.database.values import metric_name, number, text
from collector.monitor.families import Family, Reading

Row = Mapping[str, Any]
Rows = Sequence[Row]

_GROUPS: Final = re.compile(
    r"(com|handler|connection_errors|innodb_buffer_pool_pages|innodb_rows|performance_schema)_(.*)"
)
_BY_GROUP: Final = {
    "com": of.COMMANDS,
    "handler": of.HANDLERS,
    "connection_errors": of.CONNECTION_ERRORS,
    "innodb_rows": of.ROW_OPERATIONS,
    "performance_schema": of.INSTRUMENTS_LOST,
}
_POOL_STATES: Final = frozenset({"data", "free", "misc", "old"})
_ISOLATION: Final = frozenset({"tx_isolation", "transaction_isolation"})
_MOST_NAMES: Final = 4096


class _Place(NamedTuple):
    family: Family
    labels: tuple[str, ...] = ()
    ending: str = ""


def of_status(rows: Rows) -> Iterator[Reading]:
    """Of SHOW GLOBAL STATUS: those that are numbers."""
    for row in rows:
        value = number(row["Value"])
        place = None if value is None else _place(row["Variable_name"])
        if value is not None and place is not None:
            yield Reading(place.family, value, place.labels, place.ending)


def of_variables(rows: Rows) -> Iterator[Reading]:
    """Of SHOW GLOBAL VARIABLES: those that are numbers or switches."""
    for row in rows:
        value = number(row["Value"])
        if value is not None:
            yield Reading(of.VARIABLES, value, ending=metric_name(row["Variable_name"]))
        elif row["Variable_name"] in _ISOLATION:
            yield Reading(of.ISOLATION, 1, (text(row["Value"]),))


@functools.lru_cache(_MOST_NAMES)
def _place(variable: str) -> _Place | None:
    """Where a status counter goes; None: nowhere, as it is the sum of others."""
    name = metric_name(variable)
    match = _GROUPS.fullmatch(name)
    if match is None:
        return _Place(of.STATUS, ending=name)
    group, rest = match[1], match[2]
    if group != "innodb_buffer_pool_pages":
        return _Place(_BY_GROUP[group], (rest,))
    if rest in _POOL_STATES:
        return _Place(of.POOL_PAGES, (rest,))
    if rest == "dirty":
        return _Place(of.POOL_DIRTY)
    return None if rest == "total" else _Place(of.POOL_CHANGES, (rest,))
