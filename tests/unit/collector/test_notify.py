from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from collector.notify import Manager

Start = Callable[[dict[str, str]], Manager]


@pytest.fixture
def manager_socket(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "notify"))
        listening.setblocking(False)
        yield listening


@pytest.fixture
def started() -> Iterator[Start]:
    with ExitStack() as stack:

        def start(environment: dict[str, str]) -> Manager:
            return stack.enter_context(closing(Manager(environment)))

        yield start


def environment(listening: socket.socket, **more: str) -> dict[str, str]:
    return {"NOTIFY_SOCKET": listening.getsockname(), **more}


def test_each_word_is_a_datagram_of_lines(manager_socket: socket.socket, started: Start) -> None:
    manager = started(environment(manager_socket))
    assert manager.there
    manager.status("records\nport 3306")
    manager.ready()
    manager.stopping(1.5)
    assert [manager_socket.recv(100) for _ in range(3)] == [
        b"STATUS=records port 3306",
        b"READY=1",
        b"STOPPING=1\nEXTEND_TIMEOUT_USEC=1500000",
    ]


def test_a_reload_says_when_it_began_and_ready_when_it_ended(manager_socket: socket.socket, started: Start) -> None:
    manager = started(environment(manager_socket))
    manager.reloading()
    first, second = manager_socket.recv(100).split(b"\n")
    assert first == b"RELOADING=1"
    assert int(second.removeprefix(b"MONOTONIC_USEC=")) > 0


def test_without_a_manager_nothing_happens() -> None:
    manager = Manager({})
    assert not manager.there
    manager.ready()
    manager.alive()
    manager.keep("state", 0)
    manager.drop("state")
    assert manager.kept == {}


def test_a_manager_that_is_gone_or_takes_nothing_is_not_waited_for(
    manager_socket: socket.socket, started: Start
) -> None:
    manager = started(environment(manager_socket))
    for _ in range(2000):
        manager.status("more than there is room for")
    manager_socket.close()
    manager.status("nobody is there")


def test_the_variables_are_not_passed_on(manager_socket: socket.socket, started: Start) -> None:
    given = environment(manager_socket, WATCHDOG_USEC="1", WATCHDOG_PID=str(os.getpid()), LISTEN_FDS="0", PATH="/bin")
    started(given)
    assert given == {"PATH": "/bin"}


def test_the_watchdog_is_told_when_it_is_time_and_only_where_there_is_one(
    manager_socket: socket.socket, started: Start
) -> None:
    started(environment(manager_socket)).alive()
    started(environment(manager_socket, WATCHDOG_USEC="60000000", WATCHDOG_PID="1")).alive()
    with pytest.raises(BlockingIOError):
        manager_socket.recv(100)
    manager = started(environment(manager_socket, WATCHDOG_USEC="60000000"))
    manager.alive()
    manager.alive()
    assert manager_socket.recv(100) == b"WATCHDOG=1"
    with pytest.raises(BlockingIOError):
        manager_socket.recv(100)


def test_a_descriptor_is_kept_by_name_and_dropped_by_name(manager_socket: socket.socket, started: Start) -> None:
    manager = started(environment(manager_socket))
    memory = os.memfd_create("kept")
    os.write(memory, b"what it holds")
    manager.keep("state", memory)
    os.close(memory)
    data, fds, _, _ = socket.recv_fds(manager_socket, 100, 2)
    assert data == b"FDSTORE=1\nFDPOLL=0\nFDNAME=state"
    assert os.pread(fds[0], 100, 0) == b"what it holds"
    os.close(fds[0])
    manager.drop("state")
    assert manager_socket.recv(100) == b"FDSTOREREMOVE=1\nFDNAME=state"


def test_descriptors_that_are_meant_for_another_process_are_not_ours() -> None:
    assert Manager({"LISTEN_PID": "1", "LISTEN_FDS": "2", "LISTEN_FDNAMES": "state:page-0"}).kept == {}
