"""Mode "monitor": one process without a right serves what a real server and this host do, and records nothing."""

from __future__ import annotations

import re
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from tests.support import dashboards, patience, processes
from tests.support.folders import reachable_folder
from tests.support.namespaces import Namespace
from tests.support.servers import PASSWORD, USER, MariaDB, free_port

pytestmark = [pytest.mark.integration, pytest.mark.either_build]

OPENMETRICS = "application/openmetrics-text;version=1.0.0"
ELSEWHERE = {
    "querytap_mysql_down",
    "querytap_mysql_lock_blocked",
    "mysql_slave_status_seconds_behind_master",
    "mysql_slave_status_slave_io_running",
    "mysql_slave_status_slave_sql_running",
    "querytap_mysql_replica_gtid_behind",
    "mysql_binlog_size_bytes",
    "mysql_info_schema_table_size",
    "querytap_statements_total",
    "querytap_packets_dropped_total",
    "querytap_packets_lost_total",
    "querytap_budget_cpu_percent",
}
"""Of the dashboard, what a server that is up has only with a lock, a source, a binary log, tables; and the ledger's."""
WAIT_S = patience.seconds(60)


@pytest.fixture(scope="module")
def server() -> Iterator[MariaDB]:
    with Namespace() as namespace, MariaDB(namespace) as made:
        made.folder.chmod(0o755)  # for its socket; the data stays closed
        yield made


@pytest.fixture
def folder() -> Iterator[Path]:
    with reachable_folder() as made:
        yield made


def configured(folder: Path, server: MariaDB, port: int) -> Path:
    credentials = folder / "database.cnf"
    credentials.write_text(f"[client]\nuser = {USER}\npassword = {PASSWORD}\n")
    credentials.chmod(0o644)
    file = folder / "querytap.toml"
    file.write_text(
        f'[capture]\nmode = "monitor"\n[monitor]\ninterval_s = 1\nlisten = "127.0.0.1:{port}"\n'
        f'servers = ["{server.socket}"]\ncredentials_file = "{credentials}"\n'
        f'[paths]\nstate = "{folder}/state"\nrun = "{folder}/run"\n'
    )
    file.chmod(0o644)
    return file


@contextmanager
def running(config: Path, *user: str) -> Iterator[subprocess.Popen[bytes]]:
    """`querytap run`, by the command *user* where there is one."""
    command = [*user, *processes.querytap("run", "--config", str(config))]
    with (config.parent / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=processes.environment())
    try:
        yield process
    finally:
        processes.stop(process, 30)


def page(port: int, accept: str = "") -> str:
    request = urllib.request.Request(f"http://127.0.0.1:{port}/metrics", headers={"Accept": accept})
    with urllib.request.urlopen(request, timeout=WAIT_S) as answer:  # noqa: S310  # it is http
        text: str = answer.read().decode()
        return text


def page_with(words: str, port: int, process: subprocess.Popen[bytes]) -> str:
    deadline = time.monotonic() + WAIT_S
    while True:
        assert process.poll() is None, "it ended"
        assert time.monotonic() < deadline, f"no {words}"
        try:
            found = page(port)
        except (urllib.error.URLError, ConnectionError):
            found = ""
        if words in found:
            return found
        time.sleep(0.1)


def capabilities(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    match = re.search(r"^CapEff:\s+([0-9a-f]+)", status, re.MULTILINE)
    assert match is not None
    return int(match[1], 16)


def test_one_process_without_a_right_serves_servers_and_host_and_makes_no_archive(
    server: MariaDB, folder: Path
) -> None:
    port = free_port()
    with running(configured(folder, server, port)) as process:
        text = page_with("querytap_processes 1.0", port, process)
        assert f'mysql_up{{server="{server.socket}"}} 1.0' in text
        assert "node_memory_MemTotal_bytes" in text
        assert f'querytap_server_open_fds{{pid="{(server.folder / "pid").read_text().strip()}"' in text
        assert capabilities(process.pid) == 0
        parsed = list(text_string_to_metric_families(page(port, OPENMETRICS)))  # type: ignore[no-untyped-call]
        assert len(parsed) > 500
        status = processes.run(processes.querytap("status", "--config", str(folder / "querytap.toml")))
        assert b"metrics    are served at 127.0.0.1" in status.stdout
        process.send_signal(signal.SIGINT)
        assert process.wait(WAIT_S) == 0
    assert not (folder / "state").exists()
    assert not (folder / "run").exists()


def test_each_metric_of_the_dashboard_is_there(server: MariaDB, folder: Path) -> None:
    port = free_port()
    with server.connect(), running(configured(folder, server, port)) as process:
        text = page_with("querytap_processes 1.0", port, process)
        text = page_with("node_filesystem_size_bytes", port, process)
        text = page_with("mysql_global_status_queries", port, process)
    missing = {name for name in dashboards.names() if f"\n{name}{{" not in text and f"\n{name} " not in text}
    assert missing == ELSEWHERE, "rename it, or say here when it is there"


def test_it_is_run_by_who_is_not_root(server: MariaDB, folder: Path) -> None:
    port = free_port()
    # In a user namespace that maps nobody there is no root.
    with running(configured(folder, server, port), "unshare", "--user", "--") as process:
        page_with("mysql_global_status_queries", port, process)
        assert capabilities(process.pid) == 0


def test_a_reload_is_taken_over_and_a_server_that_goes_is_told(server: MariaDB, folder: Path) -> None:
    port = free_port()
    file = configured(folder, server, port)
    with running(file) as process:
        page_with(f'mysql_up{{server="{server.socket}"}} 1.0', port, process)
        file.write_text(file.read_text().replace("interval_s = 1", "interval_s = 2"))
        process.send_signal(signal.SIGHUP)
        deadline = time.monotonic() + WAIT_S
        while "monitor.interval_s from 1 to 2" not in (folder / "log").read_text():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        server.stop()
        page_with(f'mysql_up{{server="{server.socket}"}} 0.0', port, process)


@pytest.mark.parametrize("part", ["capture", "aggregator"])
def test_the_services_that_record_refuse_to_start(server: MariaDB, folder: Path, part: str) -> None:
    file = configured(folder, server, free_port())
    done = subprocess.run(
        processes.querytap(part, "--config", str(file)), capture_output=True, env=processes.environment(), check=False
    )
    assert done.returncode == 3
    assert b"querytap-monitor alone" in done.stderr
