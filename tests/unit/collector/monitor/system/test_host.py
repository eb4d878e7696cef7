from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from collector.monitor.system import host

pytestmark = pytest.mark.either_build


def test_this_host_has_processors_memory_and_a_load() -> None:
    found = {(reading.name, *reading.labels): reading.value for reading in host.read()}
    assert found["node_memory_MemTotal_bytes",] == psutil.virtual_memory().total
    assert found["node_boot_time_seconds",] == psutil.boot_time()
    processors = {key[1] for key in found if key[0] == "node_cpu_seconds_total"}
    assert len(processors) == psutil.cpu_count()
    assert ("node_load1",) in found


def test_a_file_that_the_kernel_has_not_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "loadavg").write_text("1 2 3 4/5 6\n")
    assert [reading.name for reading in host.read(tmp_path)] == [
        "node_time_seconds", "node_load1", "node_load5", "node_load15",
    ]  # fmt: skip
