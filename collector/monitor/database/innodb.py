"""INNODB_METRICS, open transactions and binary logs as metrics. Pure: rows come in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from collector.monitor.database import families as of
from collector.monitor.database.status import Row, Rows
from collector.monitor.database.values import number, text, whole
from collector.monitor.families import Reading

_COUNTERS: Final = frozenset({"counter", "status_counter"})
_PAGE: Final = re.compile(r"buffer_page_(read|written)_(.*)")
_POOL: Final = re.compile(r"buffer_pool_pages_(.*)")
_NO_NAME: Final = re.compile(r"[^A-Za-z0-9_]")


def of_metrics(rows: Rows) -> Iterator[Reading]:
    """Of information_schema.INNODB_METRICS: NAME, SUBSYSTEM, TYPE, COUNT of those that are counted."""
    for row in rows:
        reading = _metric(row)
        if reading is not None:
            yield reading


def _metric(row: Row) -> Reading | None:
    name, subsystem, value = text(row["NAME"]), text(row["SUBSYSTEM"]), whole(row["COUNT"])
    page = _PAGE.fullmatch(name) if subsystem == "buffer_page_io" else None
    if page is not None:
        return Reading(of.PAGES_READ if page[1] == "read" else of.PAGES_WRITTEN, value, (page[2],))
    pool = _POOL.fullmatch(name) if subsystem == "buffer" else None
    if pool is not None:
        if pool[1] == "dirty":
            return Reading(of.INNODB_POOL_DIRTY, value)
        return None if pool[1] == "total" else Reading(of.INNODB_POOL_PAGES, value, (pool[1],))
    ending = _NO_NAME.sub("_", f"{subsystem}_{name}")
    if row["TYPE"] in _COUNTERS:
        return Reading(of.INNODB_COUNTER, value, ending=ending)
    return Reading(of.INNODB_GAUGE, value, ending=ending)


def of_transactions(rows: Rows) -> Iterator[Reading]:
    """Of the one row with sums over information_schema.INNODB_TRX."""
    for row in rows[:1]:
        yield Reading(of.TRANSACTIONS, whole(row["total"]))
        yield Reading(of.TRANSACTIONS_WAITING, whole(row["waiting"]))
        yield Reading(of.TRANSACTIONS_LONG, whole(row["lasting"]))
        yield Reading(of.OLDEST_TRANSACTION, whole(row["oldest_s"]))
        yield Reading(of.ROWS_LOCKED, whole(row["locked"]))
        yield Reading(of.ROWS_CHANGED, whole(row["changed"]))


def of_binlogs(rows: Rows) -> Iterator[Reading]:
    """Of SHOW BINARY LOGS."""
    yield Reading(of.BINLOGS, len(rows))
    yield Reading(of.BINLOG_BYTES, sum(whole(row["File_size"]) for row in rows))
    last = number(text(rows[-1]["Log_name"]).rpartition(".")[2]) if rows else None
    if last is not None:
        yield Reading(of.BINLOG_NUMBER, last)


def of_tables(rows: Rows) -> Iterator[Reading]:
    """Of information_schema.TABLES."""
    for row in rows:
        labels = (text(row["TABLE_SCHEMA"]), text(row["TABLE_NAME"]))
        yield Reading(of.TABLE_ROWS, whole(row["TABLE_ROWS"]), labels)
        for component in ("data_length", "index_length", "data_free"):
            yield Reading(of.TABLE_SIZE, whole(row[component.upper()]), (*labels, component))
