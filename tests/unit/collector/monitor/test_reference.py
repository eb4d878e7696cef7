from __future__ import annotations

import os
from pathlib import Path

import pytest

from collector.monitor import own, reference
from collector.monitor.system import disks, host
from collector.monitor.system.processes import ServerProcesses
from tests.unit.collector.cli.test_status import a_status

pytestmark = pytest.mark.either_build


def test_all_that_is_read_of_the_host_and_of_querytap_is_declared() -> None:
    readings = [*host.read(), *disks.read(), *ServerProcesses().read(), *own.of_status(a_status(), 0)]
    assert {reading.family.name for reading in readings} - reference.declared().keys() == set()


def test_no_name_is_declared_twice() -> None:
    parts = [family.name for family in reference.declared().values()]
    assert len(parts) == len(set(parts))
    assert reference.document().count("| `") == len(parts)


def test_a_counter_is_named_as_one_and_nothing_else_is() -> None:
    for family in reference.declared().values():
        assert family.name.endswith("_total") == (family.kind == "counter"), family.name


def test_the_document_is_written_and_then_not_stale(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    assert reference.main([], tmp_path) == 1
    assert reference.main(["--write"], tmp_path) == 0
    assert reference.main([], tmp_path) == 0
    assert os.listdir(tmp_path / "docs") == ["metrics.md"]  # noqa: PTH208  # names alone
