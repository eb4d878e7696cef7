"""The few figures of host and servers that go into the archive beside the statements: levels, and rates since the last.

Pure: readings come in. A rate is over the time between two readings of the same source, as these say themselves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, NamedTuple

from collector.monitor.families import Reading

_HOST: Final = ""
_HOST_CLOCK: Final = "node_time_seconds"
_SERVER_CLOCK: Final = "querytap_mysql_poll_time_seconds"
_OF_SERVERS: Final = ("mysql_", "querytap_mysql_")
_DIGITS: Final = 3

Sums = dict[str, float]


class Figure(NamedTuple):
    """One of a metric, its series summed up."""

    name: str
    metric: str
    how: Literal["level", "rate"]
    label: str = ""
    """A label's value that the series have to have."""
    scale: float = 1


class Ratio(NamedTuple):
    """The growth of one metric by that of another."""

    name: str
    metric: str
    by: str
    scale: float


FIGURES: Final = (
    *(Figure(f"cpu_{mode}_percent", "node_cpu_seconds_total", "rate", mode, 100)
      for mode in ("user", "system", "iowait", "softirq", "steal")),
    Figure("blocked", "node_procs_blocked", "level"),
    Figure("swap_free_bytes", "node_memory_SwapFree_bytes", "level"),
    Figure("dirty_bytes", "node_memory_Dirty_bytes", "level"),
    Figure("major_faults_per_s", "node_vmstat_pgmajfault", "rate"),
    *(Figure(f"pressure_{what}_percent", f"node_pressure_{what}_waiting_seconds_total", "rate", scale=100)
      for what in ("cpu", "io", "memory")),
    Figure("disk_reads_per_s", "node_disk_reads_completed_total", "rate"),
    Figure("disk_writes_per_s", "node_disk_writes_completed_total", "rate"),
    Figure("disk_read_bytes_per_s", "node_disk_read_bytes_total", "rate"),
    Figure("disk_written_bytes_per_s", "node_disk_written_bytes_total", "rate"),
    Figure("disk_busy_percent", "node_disk_io_time_seconds_total", "rate", scale=100),
    Figure("network_in_bytes_per_s", "node_network_receive_bytes_total", "rate"),
    Figure("network_out_bytes_per_s", "node_network_transmit_bytes_total", "rate"),
    Figure("up", "mysql_up", "level"),
    Figure("threads_connected", "mysql_global_status_threads_connected", "level"),
    Figure("threads_running", "mysql_global_status_threads_running", "level"),
    Figure("questions_per_s", "mysql_global_status_questions", "rate"),
    Figure("slow_queries_per_s", "mysql_global_status_slow_queries", "rate"),
    Figure("tmp_disk_tables_per_s", "mysql_global_status_created_tmp_disk_tables", "rate"),
    Figure("rows_scanned_per_s", "mysql_global_status_handlers_total", "rate", "read_rnd_next"),
    Figure("buffer_pool_reads_per_s", "mysql_global_status_innodb_buffer_pool_reads", "rate"),
    Figure("row_lock_waits_per_s", "mysql_global_status_innodb_row_lock_waits", "rate"),
    Figure("replica_lag_s", "mysql_slave_status_seconds_behind_master", "level"),
    Figure("transactions", "querytap_mysql_transactions", "level"),
    Figure("oldest_transaction_s", "querytap_mysql_oldest_transaction_seconds", "level"),
    Figure("lock_waiters", "querytap_mysql_lock_waiters", "level"),
    Figure("lock_wait_s", "querytap_mysql_lock_wait_seconds", "level"),
)  # fmt: skip
RATIOS: Final = (
    Ratio("disk_read_ms", "node_disk_read_time_seconds_total", "node_disk_reads_completed_total", 1000),
    Ratio("disk_write_ms", "node_disk_write_time_seconds_total", "node_disk_writes_completed_total", 1000),
)

_WANTED: Final = (
    {figure.metric for figure in FIGURES}
    | {name for ratio in RATIOS for name in (ratio.metric, ratio.by)}
    | {_HOST_CLOCK, _SERVER_CLOCK}
)


class Summary:
    """Sums readings up, and remembers them for the rates of the next time."""

    def __init__(self) -> None:
        self._before: Mapping[str, Sums] = {}
        self._told: dict[str, dict[str, float]] = {}

    def take(self, readings: Iterable[Reading]) -> dict[str, Any]:
        """The figures by "host" and "server_1" and so on, the latter with their "address"; at first without rates.

        Of a source that was not read since the last time they are the same again.
        """
        now = _sums(readings)
        for source, sums in now.items():
            before = self._before.get(source, {})
            seconds = _clock(sums) - _clock(before) if before else 0.0
            if seconds > 0 or source not in self._told:
                self._told[source] = _figures(before, sums, seconds)
        self._told = {source: self._told[source] for source in now}
        self._before = now
        servers = sorted(source for source in now if source != _HOST)
        found: dict[str, Any] = {"host": self._told.get(_HOST, {})}
        for number, address in enumerate(servers, start=1):
            found[f"server_{number}"] = {"address": address, **self._told[address]}
        return found


def _figures(before: Mapping[str, float], now: Mapping[str, float], seconds: float) -> dict[str, float]:
    found = {}
    for figure in FIGURES:
        key = _key(figure.metric, figure.label)
        value = now.get(key)
        if value is None:
            continue
        if figure.how == "level":
            found[figure.name] = round(value * figure.scale, _DIGITS)
        elif seconds > 0 and key in before:
            found[figure.name] = round(max(value - before[key], 0) / seconds * figure.scale, _DIGITS)
    for ratio in RATIOS:
        if ratio.metric in now and ratio.metric in before:
            count = now[ratio.by] - before[ratio.by]
            grown = now[ratio.metric] - before[ratio.metric]
            if count > 0 and grown >= 0:
                found[ratio.name] = round(grown / count * ratio.scale, _DIGITS)
    return found


def _sums(readings: Iterable[Reading]) -> dict[str, Sums]:
    """By source and metric, and by metric and label where a figure asks for one."""
    found: defaultdict[str, Sums] = defaultdict(dict)
    for reading in readings:
        name = reading.name
        if name not in _WANTED:
            continue
        source = reading.labels[0] if name.startswith(_OF_SERVERS) else _HOST
        sums = found[source]
        for key in {name, _key(name, reading.labels[-1] if reading.labels else "")}:
            sums[key] = sums.get(key, 0.0) + reading.value
    return dict(found)


def _key(metric: str, label: str) -> str:
    return f"{metric} {label}" if label else metric


def _clock(sums: Mapping[str, float]) -> float:
    return sums.get(_HOST_CLOCK, sums.get(_SERVER_CLOCK, 0.0))
