from __future__ import annotations

import json
import os
import select
import signal
import socket
from collections.abc import Iterator
from signal import SIGKILL, SIGTERM

import pytest

from collector import child
from collector.config import Config, from_mapping, to_mapping


@pytest.fixture
def handlers() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGUSR1, signal.SIGUSR2)}
    yield
    signal.set_wakeup_fd(-1)
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("handlers")
def test_signals_that_arrived_are_read_once() -> None:
    with child.signals((signal.SIGUSR1, signal.SIGUSR2)) as reading:
        assert child.arrived(reading) == b""
        os.kill(os.getpid(), signal.SIGUSR2)
        assert child.arrived(reading) == bytes([signal.SIGUSR2])
        assert child.arrived(reading) == b""


def test_the_configuration_can_be_read_by_more_than_one_process() -> None:
    fd = os.memfd_create("settings")
    os.write(fd, json.dumps(to_mapping(Config())).encode())
    for _ in range(2):
        assert child.read_config(os.dup(fd)) == Config()
    os.close(fd)


def test_how_a_process_ended_is_said_in_words() -> None:
    assert child.manner(3) == "ended with code 3"
    assert child.manner(-SIGKILL) == "was killed by SIGKILL"
    assert child.manner(-SIGTERM) == "was killed by SIGTERM"


def test_of_the_configurations_that_came_the_last_is_taken_and_the_end_is_seen() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    changes = child.changes_over(theirs.detach())
    assert changes.latest() is None
    for level in (2, 3):
        config = from_mapping({"batch": {"zstd_level": level}})
        ours.send(json.dumps(to_mapping(config)).encode())
    assert select.select(changes.fds, [], [], 0)[0] == changes.fds
    assert changes.latest() == config
    assert changes.latest() is None
    ours.close()
    assert changes.latest() is None
    assert changes.fds == []
    changes.close()
    assert child.changes_over(-1).fds == []
