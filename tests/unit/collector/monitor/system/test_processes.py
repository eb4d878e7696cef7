from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from collector.monitor.system.processes import ServerProcesses

pytestmark = pytest.mark.either_build


@pytest.fixture
def server(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process by the name of a server."""
    program = tmp_path / "mariadbd"
    shutil.copy(shutil.which("sleep") or "", program)
    with subprocess.Popen([program, "60"]) as process:
        comm = Path(f"/proc/{process.pid}/comm")
        while comm.read_text() != "mariadbd\n":  # a moment after its files were closed on exec
            time.sleep(0.01)
        yield process
        process.kill()


def test_a_process_by_a_servers_name_is_told_with_memory_and_descriptors(server: subprocess.Popen[bytes]) -> None:
    labels = ("mariadbd", str(server.pid))
    found = {reading.name: reading.value for reading in ServerProcesses().read() if reading.labels == labels}
    assert found["querytap_server_resident_memory_bytes"] > 0
    assert found["querytap_server_threads"] == 1
    assert found["querytap_server_open_fds"] >= 1
    assert found["querytap_server_max_fds"] >= found["querytap_server_open_fds"]


def test_one_that_has_ended_is_told_no_more(server: subprocess.Popen[bytes]) -> None:
    processes = ServerProcesses()
    pid = str(server.pid)
    assert [reading for reading in processes.read() if reading.labels[1] == pid]
    server.kill()
    server.wait()
    assert not [reading for reading in processes.read() if reading.labels[1] == pid]
