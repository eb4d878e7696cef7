from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from collector.capture.sandbox import sandbox
from collector.capture.unit import UnitTeller
from collector.config import Config
from collector.notify import Manager


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[socket.socket]:
    """The service manager's socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as found:
        found.bind(str(tmp_path / "notify"))
        found.setblocking(False)
        yield found


@pytest.fixture
def teller(listening: socket.socket, tmp_path: Path) -> Iterator[UnitTeller]:
    folder = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    with closing(Manager({"NOTIFY_SOCKET": listening.getsockname()})) as manager:
        found = UnitTeller(manager, Config(), folder, sandbox("off"))
        yield found
        found.close()
    os.close(folder)


def heard(listening: socket.socket) -> list[str]:
    found = []
    while True:
        try:
            found.append(listening.recv(1000).decode())
        except BlockingIOError:
            return found


def written(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "processes.json").read_text())
    return found


def test_the_service_manager_hears_once_that_it_is_ready_and_each_time_what_it_does(
    teller: UnitTeller, listening: socket.socket, tmp_path: Path
) -> None:
    teller.tell(ports=(3306,))
    assert heard(listening) == ["STATUS=starts"]
    teller.tell(ready=True)
    teller.tell(ready=True)
    assert heard(listening) == ["STATUS=records port 3306", "READY=1"]
    teller.tell(ports=(3306, 3307))
    assert heard(listening) == ["STATUS=records port 3306, 3307"]
    assert (written(tmp_path)["ports"], written(tmp_path)["pid"]) == ([3306, 3307], os.getpid())


def test_while_it_waits_for_a_server_it_is_ready_all_the_same_and_says_so(
    teller: UnitTeller, listening: socket.socket, tmp_path: Path
) -> None:
    teller.tell(waiting="a server")
    assert heard(listening) == ["STATUS=nothing is recorded until a server is there", "READY=1"]
    assert written(tmp_path)["waiting"] == "a server"


def test_what_came_of_a_reload_is_written_beside_what_it_was(teller: UnitTeller, tmp_path: Path) -> None:
    teller.tell(ports=(3306,), warnings=("mind this",))
    teller.reloaded({"time": "now", "applied": True})
    assert written(tmp_path)["reload"] == {"time": "now", "applied": True}
    assert (written(tmp_path)["ports"], written(tmp_path)["warnings"]) == ([3306], ["mind this"])
