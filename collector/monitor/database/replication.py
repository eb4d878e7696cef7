"""SHOW REPLICA STATUS and its older forms as metrics, a row each source. Pure: rows come in."""

from __future__ import annotations

from collections.abc import Iterator

from collector.monitor.database import families as of
from collector.monitor.database import gtid
from collector.monitor.database.status import Row, Rows
from collector.monitor.database.values import metric_name, number, text
from collector.monitor.families import Reading

_LABELS = ("Master_Host", "Master_UUID", "Channel_Name", "Connection_name")


def of_replicas(rows: Rows) -> Iterator[Reading]:
    """A number of each column that holds one, by its older name; what is NULL is left out."""
    for row in rows:
        older = {_older(name): value for name, value in row.items()}
        labels = tuple(text(older.get(name)) for name in _LABELS)
        for name, value in older.items():
            found = None if value is None else number(value)
            if found is not None:
                yield Reading(of.REPLICATION, found, labels, metric_name(name))
        behind = _behind(older)
        if behind is not None:
            yield Reading(of.GTID_BEHIND, behind, (labels[2] or labels[3],))


def _older(column: str) -> str:
    """The name that a column had before MySQL 8.0.22."""
    return column.replace("Source", "Master").replace("Replica", "Slave")


def _behind(row: Row) -> int | None:
    """Transactions that were received and are not executed; None where they have no ids."""
    received, executed = row.get("Retrieved_Gtid_Set"), row.get("Executed_Gtid_Set")
    position, applied = row.get("Gtid_IO_Pos"), row.get("Gtid_Slave_Pos")
    try:
        if received and executed is not None:
            return gtid.behind(_long_text(received), _long_text(executed))
        if position and applied is not None:
            return gtid.behind_by_position(_long_text(position), _long_text(applied))
    except ValueError:
        return None
    return None


def _long_text(value: object) -> str:
    """A set of ids, whole."""
    return value.decode("ascii", "replace") if isinstance(value, bytes) else str(value)
