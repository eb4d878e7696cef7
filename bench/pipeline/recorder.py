"""`querytap run` in the capturing namespace, in folders of its own, and what is in its archive afterwards."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench import veth
from tests.support import patience, processes

_START_S: Final = 60
_STOP_S: Final = 60
_MEMORY: Final = Path("/dev/shm")  # noqa: S108  # a folder of our own is made in it


@dataclass(frozen=True, slots=True)
class Setting:
    """How querytap is run; what is not named here has its default."""

    port: int
    responses: str
    workers: int
    ring_mib: int
    more: tuple[str, ...] = ()
    """Further settings, as `--set` takes them."""

    def overrides(self, folder: Path, volatile: Path) -> list[str]:
        """The settings as command line arguments; *volatile* is where /run would be, in memory."""
        values = [
            f"capture.ports=[{self.port}]",
            f'capture.interfaces=["{veth.INTERFACE}"]',
            f'capture.responses="{self.responses}"',
            f"capture.ring_mib={self.ring_mib}",
            f"workers.count={self.workers}",
            f"budget.cpu_percent={patience.UNLIMITED_PERCENT}",
            f'paths.state="{folder}/state"',
            f'paths.run="{volatile}"',
            *self.more,
        ]
        return [word for value in values for word in ("--set", value)]


class Recorder:
    """A running querytap."""

    def __init__(self, folder: Path, volatile: Path, setting: Setting, process: subprocess.Popen[bytes]) -> None:
        self._folder = folder
        self._volatile = volatile
        self._setting = setting
        self._process = process

    @property
    def pid(self) -> int:
        """Of the supervisor, the root of the tree."""
        return self._process.pid

    def status(self) -> dict[str, Any]:
        """The status file; empty before there is one."""
        try:
            status: dict[str, Any] = json.loads(
                (self._volatile / "aggregator" / "status.json").read_text(encoding="utf-8")
            )
        except FileNotFoundError:
            return {}
        return status

    def wait_until_capturing(self) -> None:
        """Return when every worker's statistics are in the status: its ring is open then."""
        deadline = time.monotonic() + _START_S
        while len(self.status().get("ledger", {})) < self._setting.workers or self.status().get("state") != "running":
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"querytap does not start:\n{self.log()}")
            time.sleep(0.05)

    def stop(self) -> int:
        """Stop it in order; its exit status."""
        return processes.stop(self._process, _STOP_S)

    def log(self) -> str:
        """The end of what it wrote."""
        return (self._folder / "log").read_text(errors="replace")[-4000:]

    def archive_bytes(self) -> int:
        """Size of all objects."""
        return sum(file.stat().st_size for file in (self._folder / "state" / "archive").rglob("*") if file.is_file())

    def found(self) -> Counter[tuple[int, bytes]]:
        """The statements in the archive, as client port and text, through `querytap read`."""
        command = processes.querytap(
            "read", str(self._folder / "state" / "archive"),
            "--key", str(self._folder / "state" / "keys" / "reader.key"), "--format", "json",
        )  # fmt: skip
        found: Counter[tuple[int, bytes]] = Counter()
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=processes.environment()) as reading:
            assert reading.stdout is not None
            for line in reading.stdout:
                record = json.loads(line)
                if record["command"] == "query":
                    found[int(record["client"].rpartition(":")[2]), record.get("sql", "").encode()] += 1
        if reading.returncode != 0:
            raise RuntimeError(f"querytap read ended with {reading.returncode}")
        return found


@contextmanager
def recording(pair: veth.Pair, folder: Path, setting: Setting) -> Iterator[Recorder]:
    """A querytap that captures on the interface of *pair*; killed at the end unless it was stopped."""
    memory = _MEMORY if _MEMORY.is_dir() else folder
    with tempfile.TemporaryDirectory(prefix="querytap-", dir=memory) as volatile, (folder / "log").open("wb") as log:
        overrides = setting.overrides(folder, Path(volatile) / "run")
        processes.run(processes.querytap("keygen", *overrides))
        process = subprocess.Popen(
            veth.inside(pair.db, processes.querytap("run", *overrides)),
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=processes.environment(),
        )  # fmt: skip
        recorder = Recorder(folder, Path(volatile) / "run", setting, process)
        try:
            recorder.wait_until_capturing()
            yield recorder
        finally:
            recorder.stop()
