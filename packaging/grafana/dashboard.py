"""Writes querytap.json, a dashboard for Grafana, from the panels below.

`python packaging/grafana/dashboard.py` writes it; with `--check` it ends with 1 when the file is not what the panels
say.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final, NamedTuple

FILE: Final = Path(__file__).with_name("querytap.json")

_SOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}
_WIDTH: Final = 24
_ACROSS: Final = 3
_HEIGHT: Final = 7


class Panel(NamedTuple):
    """A graph: what Grafana calls a time series. Of a query S stands for the chosen servers, H for the chosen host."""

    title: str
    unit: str
    queries: tuple[tuple[str, str], ...]
    """Legend and PromQL."""


def _rate(metric: str, more: str = "") -> str:
    return f"rate({metric}{{S{more}}}[$__rate_interval])"


_OF_READS: Final = ',handler=~"read_.*"'

ROWS: Final[tuple[tuple[str, tuple[Panel, ...]], ...]] = (
    (
        "Servers",
        (
            Panel("Up", "short", (
                ("{{server}}", "mysql_up{S}"),
                ("{{server}}: {{reason}}", "-querytap_mysql_down{S}"),
            )),
            Panel("Questions", "ops", (("{{server}}", _rate("mysql_global_status_questions")),)),
            Panel("Statements by kind", "ops", (
                ("{{command}}", "topk(8, sum by (command) (" + _rate("mysql_global_status_commands_total") + "))"),
            )),
            Panel("Connections", "short", (
                ("{{server}} connected", "mysql_global_status_threads_connected{S}"),
                ("{{server}} running", "mysql_global_status_threads_running{S}"),
                ("{{server}} allowed", "mysql_global_variables_max_connections{S}"),
            )),
            Panel("Connections that fail", "ops", (
                ("{{server}} aborted", _rate("mysql_global_status_aborted_connects")),
                ("{{server}} {{error}}", _rate("mysql_global_status_connection_errors_total")),
            )),
            Panel("Threads by state", "short", (
                (
                    "{{command}} {{state}}",
                    "topk(10, sum by (command, state) (mysql_info_schema_processlist_threads{S}))",
                ),
            )),
            Panel("Slow queries", "ops", (("{{server}}", _rate("mysql_global_status_slow_queries")),)),
            Panel("Bytes", "Bps", (
                ("{{server}} sent", _rate("mysql_global_status_bytes_sent")),
                ("{{server}} received", _rate("mysql_global_status_bytes_received")),
            )),
            Panel("Time of a poll", "s", (("{{server}}", "querytap_mysql_poll_seconds{S}"),)),
        ),
    ),
    (
        "Work",
        (
            Panel("Temporary tables", "ops", (
                ("{{server}}", _rate("mysql_global_status_created_tmp_tables")),
                ("{{server}} on disk", _rate("mysql_global_status_created_tmp_disk_tables")),
            )),
            Panel("Sorts", "ops", (
                ("{{server}} rows", _rate("mysql_global_status_sort_rows")),
                ("{{server}} merge passes", _rate("mysql_global_status_sort_merge_passes")),
            )),
            Panel("Scans and joins without an index", "ops", (
                ("{{server}} scans", _rate("mysql_global_status_select_scan")),
                ("{{server}} full joins", _rate("mysql_global_status_select_full_join")),
            )),
            Panel("Rows by the way to them", "ops", (
                (
                    "{{handler}}",
                    f"sum by (handler) ({_rate('mysql_global_status_handlers_total', _OF_READS)})",
                ),
            )),
            Panel("Buffer pool", "short", (
                ("{{server}} {{state}}", "mysql_global_status_buffer_pool_pages{S}"),
                ("{{server}} dirty", "mysql_global_status_buffer_pool_dirty_pages{S}"),
            )),
            Panel("Reads that the buffer pool could not serve", "percentunit", (
                (
                    "{{server}}",
                    _rate("mysql_global_status_innodb_buffer_pool_reads")
                    + " / "
                    + _rate("mysql_global_status_innodb_buffer_pool_read_requests"),
                ),
            )),
        ),
    ),
    (
        "Transactions and locks",
        (
            Panel("Open transactions", "short", (
                ("{{server}}", "querytap_mysql_transactions{S}"),
                ("{{server}} over a minute", "querytap_mysql_transactions_long{S}"),
                ("{{server}} waiting", "querytap_mysql_transactions_waiting{S}"),
            )),
            Panel("Oldest transaction", "s", (("{{server}}", "querytap_mysql_oldest_transaction_seconds{S}"),)),
            Panel("Who is waited for", "short", (
                ("{{server}} connection {{connection_id}}", "querytap_mysql_lock_blocked{S}"),
                ("{{server}} depth", "querytap_mysql_lock_depth{S}"),
            )),
            Panel("Row locks", "ops", (
                ("{{server}} waits", _rate("mysql_global_status_innodb_row_lock_waits")),
                ("{{server}} table waits", _rate("mysql_global_status_table_locks_waited")),
            )),
            Panel("History that is not purged", "short", (
                ("{{server}}", "mysql_info_schema_innodb_metrics_transaction_trx_rseg_history_len{S}"),
            )),
            Panel("Deadlocks", "short", (("{{server}}", "mysql_info_schema_innodb_metrics_lock_lock_deadlocks{S}"),)),
        ),
    ),
    (
        "Replication, logs and tables",
        (
            Panel("Lag", "s", (
                (
                    "{{server}} {{channel_name}}{{connection_name}}",
                    "mysql_slave_status_seconds_behind_master{S}",
                ),
            )),
            Panel("Transactions behind", "short", (
                ("{{server}} {{channel}}", "querytap_mysql_replica_gtid_behind{S}"),
            )),
            Panel("Replication threads", "short", (
                ("{{server}} receives", "mysql_slave_status_slave_io_running{S}"),
                ("{{server}} applies", "mysql_slave_status_slave_sql_running{S}"),
            )),
            Panel("Binary logs", "bytes", (("{{server}}", "mysql_binlog_size_bytes{S}"),)),
            Panel("Largest tables", "bytes", (
                ("{{schema}}.{{table}}", "topk(10, sum by (schema, table) (mysql_info_schema_table_size{S}))"),
            )),
        ),
    ),
    (
        "Host",
        (
            Panel("Processors", "percentunit", (
                ("{{mode}}", 'sum by (mode) (rate(node_cpu_seconds_total{H,mode!="idle"}[$__rate_interval]))'),
            )),
            Panel("Load", "short", (("1 min", "node_load1{H}"), ("15 min", "node_load15{H}"))),
            Panel("Memory", "bytes", (
                ("total", "node_memory_MemTotal_bytes{H}"),
                ("available", "node_memory_MemAvailable_bytes{H}"),
                ("swap used", "node_memory_SwapTotal_bytes{H} - node_memory_SwapFree_bytes{H}"),
            )),
            Panel("Pressure", "percentunit", tuple(
                (what, f"rate(node_pressure_{what}_waiting_seconds_total{{H}}[$__rate_interval])")
                for what in ("cpu", "io", "memory")
            )),
            Panel("Latency of disks", "s", tuple(
                (
                    f"{{{{device}}}} {kind}",
                    f"rate(node_disk_{kind}_time_seconds_total{{H}}[$__rate_interval])"
                    f" / rate(node_disk_{kind}s_completed_total{{H}}[$__rate_interval])",
                )
                for kind in ("read", "write")
            )),
            Panel("Disks at work", "percentunit", (
                ("{{device}}", "rate(node_disk_io_time_seconds_total{H}[$__rate_interval])"),
            )),
            Panel("Space left", "percentunit", (
                ("{{mountpoint}}", "node_filesystem_avail_bytes{H} / node_filesystem_size_bytes{H}"),
                ("{{mountpoint}} inodes", "node_filesystem_files_free{H} / node_filesystem_files{H}"),
            )),
            Panel("Network", "Bps", (
                ("{{device}} in", "rate(node_network_receive_bytes_total{H}[$__rate_interval])"),
                ("{{device}} out", "-rate(node_network_transmit_bytes_total{H}[$__rate_interval])"),
            )),
            Panel("Servers' processes", "bytes", (
                ("{{process}} {{pid}}", "querytap_server_resident_memory_bytes{H}"),
            )),
        ),
    ),
    (
        "querytap",
        (
            Panel("Statements", "ops", (
                ("{{outcome}}", "sum by (outcome) (rate(querytap_statements_total{H}[$__rate_interval]))"),
            )),
            Panel("Packets lost", "pps", (
                ("dropped by the kernel", "sum(rate(querytap_packets_dropped_total{H}[$__rate_interval]))"),
                ("lost with a worker", "sum(rate(querytap_packets_lost_total{H}[$__rate_interval]))"),
            )),
            Panel("Cost", "percent", (
                ("CPU", "querytap_cpu_percent{H}"),
                ("allowed", "querytap_budget_cpu_percent{H}"),
            )),
        ),
    ),
)  # fmt: skip


def dashboard() -> dict[str, Any]:
    """What Grafana imports."""
    panels: list[dict[str, Any]] = []
    top = 0
    for title, row in ROWS:
        panels.append({"type": "row", "title": title, "gridPos": _place(0, top, _WIDTH, 1), "panels": []})
        top += 1
        for index, panel in enumerate(row):
            across, down = index % _ACROSS, index // _ACROSS
            place = _place(across * _WIDTH // _ACROSS, top + down * _HEIGHT, _WIDTH // _ACROSS, _HEIGHT)
            panels.append(_graph(panel, place))
        top += -(-len(row) // _ACROSS) * _HEIGHT
    return {
        "title": "querytap: servers and their host",
        "uid": "querytap-servers",
        "tags": ["mysql", "querytap"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": _choices()},
        "panels": [{"id": number, **panel} for number, panel in enumerate(panels, start=1)],
    }


def _choices() -> list[dict[str, Any]]:
    common = {"type": "query", "datasource": _SOURCE, "refresh": 2, "sort": 1}
    return [
        {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"},
        {"name": "instance", "label": "Host", "query": "label_values(node_load1, instance)", **common},
        {
            "name": "server",
            "label": "Server",
            "query": 'label_values(mysql_up{instance="$instance"}, server)',
            "multi": True,
            "includeAll": True,
            "current": {"text": "All", "value": "$__all"},
            **common,
        },
    ]


def _graph(panel: Panel, place: dict[str, int]) -> dict[str, Any]:
    return {
        "type": "timeseries",
        "title": panel.title,
        "datasource": _SOURCE,
        "gridPos": place,
        "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + number), "datasource": _SOURCE, "legendFormat": legend, "expr": _chosen(query)}
            for number, (legend, query) in enumerate(panel.queries)
        ],
    }


def _chosen(query: str) -> str:
    host = 'instance="$instance"'
    return query.replace("{S", "{" + host + ',server=~"$server"').replace("{H", "{" + host)


def _place(left: int, top: int, width: int, height: int) -> dict[str, int]:
    return {"x": left, "y": top, "w": width, "h": height}


def main() -> int:
    """Write the file, or compare it."""
    text = json.dumps(dashboard(), indent=1) + "\n"
    if "--check" in sys.argv[1:]:
        return int(not FILE.exists() or FILE.read_text(encoding="utf-8") != text)
    FILE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
