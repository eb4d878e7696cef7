"""The demonstration does what it says, and leaves nothing behind but its own folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from tests.support import processes
from tests.support.folders import reachable_folder

pytestmark = [pytest.mark.integration, pytest.mark.either_build]

MARK = "QUERYTAP_DEMO_TEST"


@dataclass(frozen=True)
class Demo:
    """A short demonstration, whose processes and temporary files can be told from all others."""

    base: Path
    command: list[str]
    environment: dict[str, str]

    @property
    def folder(self) -> Path:
        """What it may leave."""
        return self.base / "demo"

    @property
    def temporary(self) -> Path:
        """Where its temporary files are."""
        return self.base / "temporary"


@pytest.fixture
def demo() -> Iterator[Demo]:
    with reachable_folder() as base:
        script = str(processes.ROOT / "bench" / "demo.py")
        command = [sys.executable, script, "--seconds", "3", "--folder", str(base / "demo")]
        environment = {**processes.environment(), MARK: str(base), "TMPDIR": str(base / "temporary")}
        found = Demo(base, command, environment)
        found.temporary.mkdir()
        found.temporary.chmod(0o1777)  # the server's user uses it too
        yield found
        for process in marked(base):
            process.kill()


def marked(folder: Path) -> list[psutil.Process]:
    """Processes that were started, directly or not, with the mark of this test in their environment."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == str(folder):
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


def left_in_shared_memory() -> set[str]:
    return {path.name for path in Path("/dev/shm").glob("querytap-*") if path.stat().st_uid in {os.geteuid(), 65534}}


def test_it_shows_what_was_recorded_and_finds_no_difference(demo: Demo) -> None:
    before = left_in_shared_memory()
    done = subprocess.run(demo.command, env=demo.environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    for part in (
        " decoded, ",
        "Z app@127.0.0.1:",
        "statements decoded",
        "sums hold",
        "heaviest statement shapes",
        "update orders set changed",
        "querytap read " if (Path(sys.executable).parent / "querytap").exists() else "collector.cli read ",
        "no difference: all ",
    ):
        assert part in done.stdout
    assert marked(demo.base) == []
    assert list(demo.temporary.iterdir()) == []
    assert left_in_shared_memory() <= before
    assert list((demo.folder / "state" / "archive").rglob("*.querytap"))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name)
def test_it_takes_everything_with_it_when_it_is_told_to_end(demo: Demo, number: signal.Signals) -> None:
    with subprocess.Popen(
        demo.command, env=demo.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if b" decoded, " in line:
                break
        assert len(marked(demo.base)) > 5
        process.send_signal(number)
        process.stdout.read()
    assert process.returncode != 0
    deadline = time.monotonic() + 10  # what was told to end by the end of a pipe takes its moment
    while marked(demo.base) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert marked(demo.base) == []
    assert list(demo.temporary.iterdir()) == []


def test_the_temporary_folder_is_the_one_that_is_watched(demo: Demo) -> None:
    """Or the other tests here would look in the wrong place."""
    code = "import tempfile; print(tempfile.gettempdir())"
    done = subprocess.run(
        [sys.executable, "-c", code], env=demo.environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == str(demo.temporary) != tempfile.gettempdir()
