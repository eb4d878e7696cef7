from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from signal import SIGKILL, SIGTERM

import pytest

from collector import child
from collector.config import Config, to_mapping


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
