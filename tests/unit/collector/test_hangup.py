from __future__ import annotations

import os
import select
import signal
import socket
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from collector.config import Config, ConfigError, load
from collector.hangup import Rereading
from collector.notify import Manager


class File:
    """What is in the configuration file."""

    def __init__(self) -> None:
        self.config = Config()
        self.wrong = False

    def read(self) -> Config:
        if self.wrong:
            return load(None, ["capture.nonsense=1"])
        return self.config


@pytest.fixture
def file() -> File:
    return File()


@pytest.fixture
def rereading(file: File) -> Iterator[Rereading]:
    found = Rereading(Config(), file.read, Manager({}))
    yield found
    found.close()


def hang_up(rereading: Rereading) -> None:
    os.kill(os.getpid(), signal.SIGHUP)
    assert select.select(rereading.fds, [], [], 10)[0] == rereading.fds


def test_a_hangup_has_the_configuration_read_again_once_however_often_it_comes(
    rereading: Rereading, file: File
) -> None:
    assert rereading.latest() is None
    file.config = replace(Config(), batch=replace(Config().batch, max_age_s=7.0))
    for _ in range(3):
        hang_up(rereading)
    assert rereading.latest() == file.config
    assert rereading.latest() is None


def test_what_takes_a_restart_stays_and_is_told(rereading: Rereading, file: File) -> None:
    told: list[Mapping[str, Any]] = []
    rereading.told = told.append
    file.config = replace(Config(), capture=replace(Config().capture, ring_mib=32))
    hang_up(rereading)
    assert rereading.latest() == Config()
    assert (told[0]["applied"], told[0]["waiting"]) == (True, ["capture.ring_mib"])


def test_a_wrong_configuration_changes_nothing(rereading: Rereading, file: File) -> None:
    file.wrong = True
    with pytest.raises(ConfigError):
        file.read()
    hang_up(rereading)
    assert rereading.latest() == Config()


def test_the_service_manager_hears_when_it_begins_and_ends(
    tmp_path_factory: pytest.TempPathFactory, file: File
) -> None:
    path = Path(tmp_path_factory.mktemp("n"), "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(path))
        manager = Manager({"NOTIFY_SOCKET": str(path)})
        rereading = Rereading(Config(), file.read, manager)
        hang_up(rereading)
        rereading.latest()
        assert listening.recv(100).startswith(b"RELOADING=1\nMONOTONIC_USEC=")
        assert listening.recv(100) == b"READY=1"
        rereading.close()
        manager.close()
