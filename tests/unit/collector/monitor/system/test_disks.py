from __future__ import annotations

import os
from types import SimpleNamespace

import psutil
import pytest

from collector.monitor.system import disks

pytestmark = pytest.mark.either_build


def mounted(monkeypatch: pytest.MonkeyPatch, *places: tuple[str, str]) -> None:
    found = [SimpleNamespace(device="/dev/x", fstype=kind, mountpoint=place) for place, kind in places]
    monkeypatch.setattr(psutil, "disk_partitions", lambda **_: found)


def test_a_file_system_has_space_and_inodes(monkeypatch: pytest.MonkeyPatch) -> None:
    mounted(monkeypatch, ("/", "ext4"))
    found = {reading.name: reading for reading in disks.read()}
    there = os.statvfs("/")
    assert found["node_filesystem_size_bytes"].value == there.f_blocks * there.f_frsize
    assert found["node_filesystem_files"].value == there.f_files
    assert found["node_filesystem_device_error"].value == 0
    assert found["node_filesystem_avail_bytes"].labels == ("/dev/x", "ext4", "/")


def test_what_holds_no_data_is_left_out_and_a_place_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    mounted(monkeypatch, ("/", "proc"), ("/dev/shm", "tmpfs"), ("/sys", "ext4"), ("/tmp", "tmpfs"), ("/tmp", "ext4"))
    assert {reading.labels[1:] for reading in disks.read()} == {("tmpfs", "/tmp")}


def test_a_file_system_that_gives_no_figures_is_told_as_that(monkeypatch: pytest.MonkeyPatch) -> None:
    mounted(monkeypatch, ("/there/is/none", "nfs"))
    (only,) = disks.read()
    assert (only.name, only.value) == ("node_filesystem_device_error", 1)
