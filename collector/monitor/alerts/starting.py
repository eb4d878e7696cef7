"""The rules that are on where nobody has said otherwise: what is wrong on any host with a server. docs/alerts.md."""

from __future__ import annotations

from typing import Final

from collector.monitor.alerts.rules import Rule

STARTING: Final = (
    Rule(
        name="server-down", metric="mysql_up", below=1, for_s=30, severity="critical",
        text="{server} does not answer",
    ),
    Rule(
        name="connections-nearly-used-up", metric="mysql_global_status_threads_connected",
        per="mysql_global_variables_max_connections", above=0.9, clear=0.8, for_s=60, severity="critical",
        text="{server} has {value:.0%} of its connections in use",
    ),
    Rule(
        name="replica-behind", metric="mysql_slave_status_seconds_behind_master", above=60, clear=30, for_s=120,
        text="{server} is {value:.0f} s behind {master_host}",
    ),
    Rule(
        name="replica-stopped", metric="mysql_slave_status_slave_sql_running", below=1, for_s=60, severity="critical",
        text="{server} does not apply what comes from {master_host}",
    ),
    Rule(
        name="replica-without-source", metric="mysql_slave_status_slave_io_running", below=1, for_s=120,
        severity="critical", text="{server} receives nothing from {master_host}",
    ),
    Rule(
        name="lock-pile-up", metric="querytap_mysql_lock_blocked", above=9, clear=4, for_s=20, severity="critical",
        text="{value:.0f} connections of {server} wait for connection {connection_id}",
    ),
    Rule(
        name="long-transaction", metric="querytap_mysql_oldest_transaction_seconds", above=1800, for_s=0,
        text="a transaction of {server} is open for {value:.0f} s",
    ),
    Rule(
        name="disk-full", metric="node_filesystem_avail_bytes", per="node_filesystem_size_bytes", below=0.05,
        clear=0.08, for_s=60, severity="critical", text="{mountpoint} has {value:.1%} of its space left",
    ),
    Rule(
        name="inodes-used-up", metric="node_filesystem_files_free", per="node_filesystem_files", below=0.05,
        clear=0.08, for_s=60, severity="critical", text="{mountpoint} has {value:.1%} of its inodes left",
    ),
    Rule(
        name="memory-short", metric="node_memory_MemAvailable_bytes", per="node_memory_MemTotal_bytes", below=0.05,
        clear=0.08, for_s=120, severity="critical", text="{value:.1%} of the memory is available",
    ),
    Rule(
        name="killed-for-memory", metric="node_vmstat_oom_kill", rate=True, above=0, severity="critical",
        text="the kernel killed a process for want of memory",
    ),
    Rule(
        name="descriptors-nearly-used-up", metric="querytap_server_open_fds", per="querytap_server_max_fds", above=0.9,
        clear=0.8, for_s=60, severity="critical", text="{process} {pid} has {value:.0%} of its descriptors in use",
    ),
    Rule(
        name="packets-dropped", metric="querytap_packets_dropped_total", rate=True, above=0, for_s=30,
        text="the kernel drops {value:.0f} packets a second of worker {worker}: raise capture.ring_mib",
    ),
    Rule(
        name="ledger-unbalanced", metric="querytap_ledger_balanced", below=1, for_s=60, severity="critical",
        text="the ledger does not add up: querytap status says where",
    ),
)  # fmt: skip
