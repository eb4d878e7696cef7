"""A worker that is taken over reaches nothing; and each process of a live tree has the rights it needs and no other."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import time
from collections.abc import Iterator, Mapping
from errno import EACCES, EPERM
from pathlib import Path

import psutil
import pytest

from collector.capture import landlock, seccomp
from collector.privileges import (
    CAP_DAC_READ_SEARCH,
    CAP_KILL,
    CAP_NET_RAW,
    CAP_SETGID,
    CAP_SETPCAP,
    CAP_SETUID,
    CAP_SYS_PTRACE,
)
from tests.integration.capture import intrusion
from tests.integration.capture.starting import UNLIMITED
from tests.support import patience, processes
from tests.support.collector import Collector
from tests.support.namespaces import Namespace
from tests.support.servers import MariaDB

pytestmark = [pytest.mark.integration, pytest.mark.either_build]

NAMES = [name for name, _ in intrusion.attempts(0, {"port": 0, "path": "", "abstract": ""})]

ROOTS_ALONE = {
    "read the passwords", "open a packet socket", "inject a frame", "listen promiscuously", "take others' packets",
    "become root", "signal capture", "trace a sibling", "read a sibling's memory",
}  # fmt: skip
"""What an unsealed worker cannot do either, as it has a user of its own and is closed to debuggers."""

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root can show what root may do, and have other users")
with_filter = pytest.mark.skipif(seccomp.flags() is None, reason="this kernel has no seccomp filter")
with_landlock = pytest.mark.skipif(landlock.version() < 6, reason="this kernel has no Landlock of version 6")

_WAIT_S = patience.seconds(60)


@pytest.fixture(scope="module")
def server(namespace: Namespace) -> Iterator[MariaDB]:
    with MariaDB(namespace) as made:
        made.folder.chmod(0o711)  # as on any host: who is on it can connect to the socket
        yield made


@pytest.fixture
def targets(server: MariaDB, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is tried is in the environment of the processes that try."""
    names = {"port": server.port, "path": str(server.socket), "abstract": folder.name}
    monkeypatch.setenv(intrusion.TARGETS, json.dumps(names))


def errors(text: str) -> dict[str, int]:
    """What became of each attempt: the error number, 0 where it succeeded."""
    lines = [line.split(intrusion.LINE)[1] for line in text.splitlines() if intrusion.LINE in line]
    return {name: int(number) for name, _, number in (line.rpartition(": ") for line in lines)}


def tried_in_a_worker(namespace: Namespace, server: MariaDB, folder: Path, sandbox: str) -> dict[str, int]:
    """What a worker of a live tree could do once it was at work; that the tree then stops in order is checked here."""
    options = (
        f'paths.state="{folder}/state"', f'paths.run="{folder}/run"', f"capture.ports=[{server.port}]",
        "workers.count=2", f'workers.sandbox="{sandbox}"', *UNLIMITED, *patience.PROCESS,
    )  # fmt: skip
    settings = [word for one in options for word in ("--set", one)]
    processes.run(processes.querytap("keygen", *settings))
    log = folder / "log"
    running = namespace.start(processes.module(intrusion.__name__, "run", *settings), log)
    try:
        deadline = time.monotonic() + _WAIT_S
        while len(errors(log.read_text())) < len(NAMES):
            assert running.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
    finally:
        code = processes.stop(running, _WAIT_S)
    assert code == 0, log.read_text()
    return errors(log.read_text())


def tried_alone(namespace: Namespace, folder: Path, wall: str) -> dict[str, int]:
    """What a process of our user can do behind a wall."""
    del folder
    command = processes.module(intrusion.__name__, "alone", wall)
    done = subprocess.run(
        namespace.command(command), env=processes.environment(), capture_output=True, timeout=_WAIT_S, check=False
    )
    return errors((done.stderr + done.stdout).decode())


@with_filter
@pytest.mark.usefixtures("targets")
def test_a_worker_that_is_taken_over_reaches_no_file_no_network_and_no_process(
    namespace: Namespace, server: MariaDB, folder: Path
) -> None:
    assert tried_in_a_worker(namespace, server, folder, "auto") == dict.fromkeys(NAMES, EPERM)
    assert "was killed" not in (folder / "log").read_text()


@root_only
@pytest.mark.usefixtures("targets")
def test_unsealed_the_same_worker_would_reach_all_but_what_is_roots(
    namespace: Namespace, server: MariaDB, folder: Path
) -> None:
    found = tried_in_a_worker(namespace, server, folder, "off")
    assert {name for name, number in found.items() if number} == ROOTS_ALONE
    assert found.keys() == set(NAMES)


@root_only
@pytest.mark.usefixtures("targets")
def test_and_root_reaches_all_of_it(namespace: Namespace, folder: Path) -> None:
    assert tried_alone(namespace, folder, "none") == dict.fromkeys(NAMES, 0)


@root_only
@with_filter
@pytest.mark.usefixtures("targets")
def test_the_filter_holds_root_too(namespace: Namespace, folder: Path) -> None:
    assert tried_alone(namespace, folder, "seccomp") == dict.fromkeys(NAMES, EPERM)


@root_only
@with_landlock
@pytest.mark.usefixtures("targets")
def test_landlock_alone_keeps_root_from_files_ports_abstract_sockets_and_processes(
    namespace: Namespace, folder: Path
) -> None:
    found = tried_alone(namespace, folder, "landlock")
    assert {name: number for name, number in found.items() if number} == {
        "read a file": EACCES,
        "read the passwords": EACCES,
        "write a file": EACCES,
        "list processes": EACCES,
        "connect to the server": EACCES,
        "connect to an abstract socket": EPERM,
        "read a sibling's memory": EPERM,
        "trace a sibling": EPERM,
        "signal capture": EPERM,
        "kill a sibling": EPERM,
        "run a program": EACCES,
    }


def rights(process: psutil.Process) -> dict[str, set[int]]:
    """The sets of capabilities in /proc/PID/status, by their names."""
    return {
        name: {number for number in range(64) if int(value, 16) >> number & 1}
        for name, value in status(process).items()
        if name.startswith("Cap")
    }


def status(process: psutil.Process) -> Mapping[str, str]:
    lines = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8").splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def test_each_process_has_the_rights_that_it_needs_and_no_other(
    namespace: Namespace, server: MariaDB, folder: Path
) -> None:
    starting = {CAP_NET_RAW, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH}
    restarting = {CAP_SETUID, CAP_SETGID, CAP_SETPCAP, CAP_KILL}
    none: dict[str, set[int]] = {name: set() for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")}
    with Collector(namespace, folder, server.port, workers=2) as collector:
        supervisor = psutil.Process(collector.process.pid)
        children = {process: " ".join(process.cmdline()) for process in supervisor.children()}
        (capture,) = (process for process, command in children.items() if "collector.capture" in command)
        others = [process for process in children if process != capture]
        workers = capture.children()
        assert (len(others), len(workers)) == (2, 2)
        # Capture that is started again opens sockets and looks for servers: it gets that by exec, and gives it up.
        assert rights(supervisor) == {
            **none, "CapPrm": restarting, "CapEff": restarting, "CapBnd": restarting | starting,
        }  # fmt: skip
        assert rights(capture) == {**none, "CapPrm": restarting, "CapEff": restarting, "CapBnd": restarting}
        for process in (*others, *workers):
            assert rights(process) == none
        assert {status(process)["NoNewPrivs"] for process in (capture, *others, *workers)} == {"1"}
        sealed = [(status(process)["Seccomp"], status(process).get("Seccomp_filters", "1")) for process in workers]
        assert sealed == [("2", "1") if seccomp.flags() is not None else ("0", "0")] * 2
        assert threads_outside(workers) == []


def threads_outside(workers: list[psutil.Process]) -> list[str]:
    """Threads of workers that are under no filter, where there are filters."""
    if seccomp.flags() is None:
        return []
    found = [path for process in workers for path in Path(f"/proc/{process.pid}/task").iterdir()]
    assert len(found) > len(workers)  # ZeroMQ's
    return [path.name for path in found if "Seccomp:\t2\n" not in (path / "status").read_text(encoding="utf-8")]


def test_sockets_below_the_run_folder_are_closed_to_others(namespace: Namespace, server: MariaDB, folder: Path) -> None:
    with Collector(namespace, folder, server.port, workers=2) as collector:
        found = [path.lstat() for path in (folder / "run").rglob("*") if path.is_socket()]
        assert collector.status()["state"] == "running"
    assert len(found) == 2
    assert {stat.S_IMODE(entry.st_mode) for entry in found} <= {0o600, 0o660}


def test_the_log_and_the_status_say_what_seals_the_workers(namespace: Namespace, server: MariaDB, folder: Path) -> None:
    with Collector(namespace, folder, server.port) as collector:
        command = processes.querytap("status", "--set", f'paths.run="{folder}/run"')
        said = processes.run(command).stdout.decode()
    walls = [*(["seccomp"] if seccomp.flags() is not None else [])]
    walls += [f"Landlock (version {landlock.version()})"] if landlock.version() else []
    if walls:
        assert f"workers are sealed by: {' and '.join(walls)}" in collector.complaint()
        assert f"sandbox    {' and '.join(walls)}\n" in said
    assert ("this kernel has not" in said) == (len(walls) < 2)
