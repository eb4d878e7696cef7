"""`querytap run` with settings of a test's own, and what it says."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.support import patience, processes, records
from tests.support.namespaces import Namespace

UNLIMITED = (f"budget.cpu_percent={patience.UNLIMITED_PERCENT}",)
SCENARIOS = "tests.integration.capture.scenarios"
_WAIT_S = patience.seconds(30)


class Started(NamedTuple):
    process: subprocess.Popen[bytes]
    log: Path


@contextmanager
def running(
    namespace: Namespace, folder: Path, *settings: str, veth: bool = False, before: Sequence[str] = ()
) -> Iterator[Started]:
    """`querytap run` with keys of its own and *settings*; *before*: what runs the command line that follows it."""
    if veth:
        make_veth(namespace)
    options = (f'paths.state="{folder}/state"', f'paths.run="{folder}/run"', *UNLIMITED, *patience.PROCESS, *settings)
    arguments = [word for one in options for word in ("--set", one)]
    processes.run(processes.querytap("keygen", *arguments))
    log = folder / "log"
    started = Started(namespace.start([*before, *processes.querytap("run", *arguments)], log), log)
    try:
        yield started
    finally:
        processes.stop(started.process, 60)


def make_veth(namespace: Namespace) -> None:
    """A pair of interfaces that are down."""
    namespace.run(["ip", "link", "add", "cap0", "type", "veth", "peer", "name", "cap1"])


def wait_for(started: Started, text: str) -> None:
    """Wait until its log has *text*."""
    wait_until(lambda: text in started.log.read_text(), started)


def wait_until(holds: Callable[[], bool], started: Started) -> None:
    """Wait until something holds of a `querytap run` that goes on."""
    deadline = time.monotonic() + _WAIT_S
    while not holds():
        assert started.process.poll() is None, started.log.read_text()
        assert time.monotonic() < deadline, started.log.read_text()
        time.sleep(0.05)


def wait_for_restart(folder: Path, started: Started) -> None:
    """Wait until a second capture process has sent statistics."""
    wait_until(lambda: incarnation(folder) >= 1 << 16, started)


def incarnation(folder: Path) -> int:
    """The number of worker 0's process, as the status has it."""
    found = json.loads((folder / "run" / "aggregator" / "status.json").read_text())
    return int(found["ledger"]["0"]["incarnation"])


def ports(folder: Path) -> list[int]:
    """Those that are recorded."""
    found: list[int] = json.loads((folder / "run/processes.json").read_text())["ports"]
    return found


def status(folder: Path) -> str:
    """What `querytap status` prints."""
    command = processes.querytap("status", "--set", f'paths.run="{folder}/run"')
    done = subprocess.run(command, env=processes.environment(), capture_output=True, check=False)
    return done.stdout.decode()


def archived(folder: Path, prefix: str) -> list[str]:
    """The texts with a prefix, in the order in which they ran."""
    command = processes.querytap("read", f"{folder}/state/archive", "--key", f"{folder}/state/keys/reader.key")
    found = records.parse(processes.run([*command, "--format", "json"]).stdout)
    chosen = [record for record in found if f"'{prefix} " in record.get("sql", "")]
    return [record["sql"] for record in sorted(chosen, key=lambda record: str(record["time"]))]


def ledger(folder: Path) -> dict[str, Any]:
    """What became of each worker's packets and statements, once it has ended and adds up."""
    found = json.loads((folder / "run/aggregator/status.json").read_text())
    assert found["balanced"], found["ledger"]
    workers: dict[str, Any] = found["ledger"]
    return workers


def statements(port: int, prefix: str, count: int, host: str = "127.0.0.1") -> list[str]:
    """The command that runs numbered statements."""
    return processes.module(SCENARIOS, "statements", str(port), prefix, str(count), host)


def texts(prefix: str, count: int) -> list[str]:
    """What they run."""
    return [f"SELECT '{prefix} {number}'" for number in range(count)]
