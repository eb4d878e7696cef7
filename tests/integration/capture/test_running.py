"""`querytap run` beside a real server: what it refuses, and what it survives."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from collector.capture import methods
from collector.supervisor.lifecycle import READY
from tests.integration.capture.starting import incarnation, make_veth, running, status, wait_for, wait_for_restart
from tests.support import patience, processes
from tests.support.collector import Archive, Collector
from tests.support.namespaces import Namespace
from tests.support.servers import MariaDB

pytestmark = [pytest.mark.integration, pytest.mark.either_build]

EXIT_CANNOT_START = 3
METHODS = tuple(method.METHOD for method in methods.METHODS)
_WAIT_S = patience.seconds(30)


def run_statements(namespace: Namespace, server: MariaDB, prefix: str, count: int) -> list[str]:
    """Run numbered statements over one connection of its own; their texts."""
    module = "tests.integration.capture.scenarios"
    namespace.run(processes.module(module, "statements", str(server.port), prefix, str(count)))
    return [f"SELECT '{prefix} {number}'" for number in range(count)]


def archived(collector: Archive, prefix: str) -> list[str]:
    """The texts with a prefix, in the order in which they ran."""
    found = [record for record in collector.records() if f"'{prefix} " in record.get("sql", "")]
    return [record["sql"] for record in sorted(found, key=lambda record: str(record["time"]))]


def child(collector: Collector, name: str) -> psutil.Process:
    """The supervisor's child that runs `python -m collector.<name>`."""
    found: list[psutil.Process] = psutil.Process(collector.process.pid).children()
    return next(process for process in found if f"collector.{name}" in process.cmdline())


def workers(collector: Collector) -> list[psutil.Process]:
    found: list[psutil.Process] = child(collector, "capture").children()
    return found


def wait_until(holds: Callable[[], bool], collector: Collector) -> None:
    deadline = time.monotonic() + _WAIT_S
    while not holds():
        assert time.monotonic() < deadline, collector.complaint()
        time.sleep(0.05)


def wait_until_said(collector: Collector, text: str) -> None:
    wait_until(lambda: text in collector.complaint(), collector)


def refusal(namespace: Namespace | None, folder: Path, *settings: str, before: tuple[str, ...] = ()) -> str:
    """What `querytap run` says when it cannot start; that it does not, and leaves nothing running, is checked here."""
    key = folder / "keys" / "reader.pub"
    if not key.exists():
        processes.run(processes.querytap("keygen", "--set", f'paths.state="{folder}"'))
    options = [f'seal.recipients=["{key}"]', f'paths.state="{folder}/state"', f'paths.run="{folder}/run"', *settings]
    command = [*before, *processes.querytap("run", *(word for one in options for word in ("--set", one)))]
    done = subprocess.run(
        namespace.command(command) if namespace else command,
        env=processes.environment(), capture_output=True, stdin=subprocess.DEVNULL, timeout=60, check=False,
    )  # fmt: skip
    text = done.stderr.decode()
    assert done.returncode == EXIT_CANNOT_START, text
    assert "Traceback" not in text
    return text


def test_without_the_right_to_capture_it_refuses_and_names_the_remedy(folder: Path) -> None:
    before = ("setpriv", "--bounding-set=-net_raw", "--inh-caps=-net_raw") if os.geteuid() == 0 else ()
    text = refusal(None, folder, "capture.ports=[3306]", before=before)
    assert "CAP_NET_RAW" in text
    assert "sudo querytap run" in text


def test_without_a_server_and_a_port_it_refuses(folder: Path) -> None:
    with Namespace() as empty:
        text = refusal(empty, folder)
    # Whose network namespace may not be looked at, as a server of root's, may be in ours.
    assert "no mysqld or mariadbd" in text or ("may not see" in text and os.geteuid() != 0)
    assert "capture.ports" in text


def test_an_interface_that_does_not_exist_is_refused_with_those_that_do(namespace: Namespace, folder: Path) -> None:
    text = refusal(namespace, folder, "capture.ports=[3306]", 'capture.interfaces=["nosuch0"]')
    assert "no interface nosuch0" in text
    assert "lo" in text


def test_a_user_that_does_not_exist_is_refused(namespace: Namespace, folder: Path) -> None:
    text = refusal(namespace, folder, "capture.ports=[3306]", 'process.worker_user="no-such-user"')
    assert "no-such-user" in text
    assert "process.worker_user" in text


def test_without_a_terminal_and_a_recipient_it_refuses(namespace: Namespace, folder: Path) -> None:
    text = refusal(namespace, folder, "capture.ports=[3306]", "seal.recipients=[]")
    assert "querytap keygen" in text
    assert "seal.recipients" in text


def test_it_finds_the_ports_on_which_a_running_server_listens(
    namespace: Namespace, server: MariaDB, folder: Path
) -> None:
    with running(namespace, folder) as started:
        wait_for(started, f"{READY}: port {server.port}, all interfaces, 1 worker")


def test_an_interface_that_is_deleted_and_made_again_is_captured_again(folder: Path) -> None:
    with (
        Namespace() as own,
        running(own, folder, "capture.ports=[3306]", 'capture.interfaces=["cap0"]', veth=True) as started,
    ):
        wait_for(started, f"{READY}: port 3306, interfaces cap0")
        own.run(["ip", "link", "delete", "cap0"])
        make_veth(own)
        wait_for(started, "interface cap0 is gone: capture starts anew")
        wait_for(started, "capture ended with code 4 and is started again")
        wait_for_restart(folder, started)
        assert processes.stop(started.process, 60) == 0, started.log.read_text()
    assert incarnation(folder) == 1 << 16


def test_an_interface_that_stays_away_is_waited_for_and_the_status_says_so(folder: Path) -> None:
    with (
        Namespace() as own,
        running(own, folder, "capture.ports=[3306]", 'capture.interfaces=["cap0"]', veth=True) as started,
    ):
        wait_for(started, READY)
        own.run(["ip", "link", "delete", "cap0"])
        wait_for(started, "nothing is recorded until interface cap0 is back: no interface cap0 here")
        command = processes.querytap("status", "--set", f'paths.run="{folder}/run"')
        said = subprocess.run(command, env=processes.environment(), capture_output=True, check=False).stdout.decode()
        assert "WARNING    nothing is recorded: capture waits for interface cap0" in said
        time.sleep(6)  # longer than what once ended it
        make_veth(own)
        wait_for_restart(folder, started)
        said = subprocess.run(command, env=processes.environment(), capture_output=True, check=False).stdout.decode()
        assert "nothing is recorded" not in said
        assert processes.stop(started.process, 60) == 0, started.log.read_text()
    assert "Traceback" not in started.log.read_text()


def test_a_second_instance_on_the_same_state_is_refused(namespace: Namespace, server: MariaDB, folder: Path) -> None:
    with Collector(namespace, folder, server.port) as collector:
        text = refusal(namespace, folder, f'paths.run="{folder}/other"')
        assert f"another querytap uses {folder}/state" in text
        text = refusal(namespace, folder, f'paths.state="{folder}/other"')
        assert f"another querytap (process {collector.process.pid}) uses {folder}/run" in text
        assert collector.status()["state"] == "running"


@pytest.mark.parametrize("method", METHODS)
def test_a_worker_that_is_killed_is_followed_by_one_that_takes_over_its_ring(
    namespace: Namespace, server: MariaDB, folder: Path, method: str
) -> None:
    with Collector(namespace, folder, server.port, settings=[f'capture.method="{method}"']) as collector:
        before = run_statements(namespace, server, "before", 50)
        wait_until(lambda: held_or_shipped(collector) >= len(before), collector)
        workers(collector)[0].kill()
        meanwhile = run_statements(namespace, server, "meanwhile", 50)
        wait_until(lambda: len(workers(collector)) == 1, collector)
        after = run_statements(namespace, server, "after", 50)
        wait_until(lambda: "workers ended and were started again, 1 since" in status(folder), collector)
        verdict, *_ = said = status(folder).splitlines()
        assert verdict == "verdict    2 things to see to:"
        assert f"WARNING    {folder}/state/keys/reader.key opens the archive and is on this host" in said[2]
        assert collector.stop() == 0, collector.complaint()
    for prefix, texts in (("before", before), ("meanwhile", meanwhile), ("after", after)):
        assert archived(collector, prefix) == texts
    ledger = collector.status()["ledger"]["0"]
    assert ledger["incarnation"] == 1
    assert ledger["packets"]["dropped"] == 0
    assert ledger["faults"] == []


def held_or_shipped(collector: Collector) -> int:
    """Statements that have left the worker."""
    sums = collector.status()["ledger"]["0"]["statements"]
    waiting: int = collector.status()["batches"]["blocks_gathered"]
    return int(sums["shipped"]) + (int(sums["held"]) if waiting else 0)


@pytest.mark.parametrize("name", ["aggregator", "monitor", "capture"])
def test_a_process_that_is_killed_is_started_again_and_counted(
    namespace: Namespace, server: MariaDB, folder: Path, name: str
) -> None:
    with Collector(namespace, folder, server.port) as collector:
        first = child(collector, name)
        first.kill()
        wait_until(lambda: "is started again" in collector.complaint(), collector)
        wait_until(lambda: any_child(collector, name, but=first.pid), collector)
        time_of = collector.status().get("time")
        wait_until(lambda: collector.status().get("time") != time_of, collector)
        if name == "capture":
            wait_until(lambda: len(workers(collector)) == 1, collector)
        wait_until(lambda: statements_arrive(namespace, server, collector), collector)
        assert restarts(folder)[name] == 1
        assert collector.stop() == 0, collector.complaint()
    assert archived(collector, "probe")


def any_child(collector: Collector, name: str, but: int) -> bool:
    return any(
        f"collector.{name}" in process.cmdline() and process.pid != but
        for process in psutil.Process(collector.process.pid).children()
    )


def statements_arrive(namespace: Namespace, server: MariaDB, collector: Collector) -> bool:
    """Run some statements and look whether the ledger grows."""
    before = passed(collector)
    run_statements(namespace, server, "probe", 20)
    wait_until(lambda: passed(collector) > before, collector)
    return True


def passed(collector: Collector) -> int:
    """Packets that passed the filter, of all workers."""
    return sum(int(worker["packets"]["passed"]) for worker in collector.status()["ledger"].values())


def restarts(folder: Path) -> dict[str, int]:
    counted: dict[str, int] = json.loads((folder / "run" / "processes.json").read_text())["restarts"]
    return counted


def test_what_was_captured_when_the_stop_came_is_in_the_archive(
    namespace: Namespace, server: MariaDB, folder: Path
) -> None:
    with Collector(namespace, folder, server.port, workers=2) as collector:
        texts = run_statements(namespace, server, "last", 200)
        assert collector.stop() == 0, collector.complaint()  # at once: the kernel still holds some of it
    assert archived(collector, "last") == texts
    assert not (folder / "run" / "processes.json").exists()  # it would hide that of units, started now
    complaint = collector.complaint()
    assert "stopped: statements: " in complaint
    assert " 0 lost, 0 evicted, 0 held; packets: 0 dropped by the kernel, 0 left" in complaint


def test_a_worker_that_waits_for_its_restart_when_the_stop_comes_still_empties_its_ring(
    namespace: Namespace, server: MariaDB, folder: Path
) -> None:
    with Collector(namespace, folder, server.port) as collector:
        for delay_s in ("0.30", "0.50", "1.00", "2.00"):
            wait_until(lambda: len(workers(collector)) == 1, collector)
            (worker,) = workers(collector)
            if delay_s == "2.00":
                worker.suspend()
                texts = run_statements(namespace, server, "waiting", 50)
            worker.kill()
            wait_until_said(collector, f"worker 0 was killed by SIGKILL, the next one starts in {delay_s} s")
        assert collector.stop() == 0, collector.complaint()  # long before that
    assert archived(collector, "waiting") == texts
    assert collector.status()["ledger"]["0"]["crashes"] == 4


def test_after_capture_was_killed_under_load_the_status_adds_up(
    namespace: Namespace, server: MariaDB, folder: Path
) -> None:
    module = "tests.integration.capture.scenarios"
    load = processes.module(module, "statements", str(server.port), "load", "3000")
    with Collector(namespace, folder, server.port, workers=2) as collector:
        for generation in range(1, 4):
            sending = namespace.start(load)
            wait_for_packets(collector, beyond=passed(collector))
            child(collector, "capture").kill()
            wait_for_generation(collector, generation)
            assert sending.wait(_WAIT_S) == 0
        run_statements(namespace, server, "last", 50)
        assert restarts(folder)["capture"] == 3
        assert collector.stop() == 0, collector.complaint()
    status = collector.status()
    assert status["balanced"], status["ledger"]
    for worker in status["ledger"].values():
        packets, statements = worker["packets"], worker["statements"]
        known = ("dropped", "lost", "held", "in_ring")
        assert min(*(packets[name] for name in known), *packets["taken"].values(), *statements.values()) >= 0, worker
        assert packets["passed"] == sum(packets["taken"].values()) + sum(packets[name] for name in known), worker
    assert len(archived(collector, "last")) == 50


def wait_for_packets(collector: Collector, beyond: int) -> None:
    wait_until(lambda: passed(collector) > beyond, collector)


def wait_for_generation(collector: Collector, number: int) -> None:
    """Wait until all workers' figures are of the capture process before which there were so many."""
    wait_until(
        lambda: {worker["incarnation"] >> 16 for worker in collector.status()["ledger"].values()} == {number},
        collector,
    )


def test_an_aggregator_that_stalls_loses_nothing(namespace: Namespace, server: MariaDB, folder: Path) -> None:
    with Collector(namespace, folder, server.port) as collector:
        aggregator = child(collector, "aggregator")
        aggregator.suspend()
        texts = run_statements(namespace, server, "stalled", 30_000)  # more than the queues hold
        aggregator.resume()
        assert collector.stop() == 0, collector.complaint()
    assert archived(collector, "stalled") == texts
    assert collector.status()["balanced"]


def test_an_aggregator_that_hangs_does_not_keep_the_stop_beyond_its_bound(
    namespace: Namespace, server: MariaDB, folder: Path
) -> None:
    with Collector(namespace, folder, server.port) as collector:
        tree = psutil.Process(collector.process.pid).children(recursive=True)
        child(collector, "aggregator").suspend()
        collector.process.terminate()
        wait_until(lambda: "stopping: " in collector.complaint(), collector)
        collector.process.terminate()  # hurry
        assert collector.process.wait(_WAIT_S) == 1
        assert "aggregator did not end in time and is killed" in collector.complaint()
        assert psutil.wait_procs(tree, _WAIT_S)[1] == []


def test_workers_of_a_capture_process_that_hangs_do_not_outlive_a_stop(
    namespace: Namespace, server: MariaDB, folder: Path
) -> None:
    with Collector(namespace, folder, server.port) as collector:
        capture = child(collector, "capture")
        tree = [capture, *capture.children()]
        for process in tree:
            process.suspend()
        collector.process.terminate()
        wait_until(lambda: "stopping: " in collector.complaint(), collector)
        collector.process.terminate()  # hurry
        assert collector.process.wait(_WAIT_S) == 1
        assert "capture did not end in time and is killed" in collector.complaint()
        assert psutil.wait_procs(tree, _WAIT_S)[1] == []


def test_what_a_terminal_sends_to_the_whole_group_stops_it_in_order(
    namespace: Namespace, server: MariaDB, folder: Path
) -> None:
    with Collector(namespace, folder, server.port) as collector:
        texts = run_statements(namespace, server, "interrupted", 50)
        tree = psutil.Process(collector.process.pid).children(recursive=True)
        for process in (*tree, psutil.Process(collector.process.pid)):  # as for Ctrl-C
            process.send_signal(signal.SIGINT)
        assert collector.process.wait(60) == 0, collector.complaint()
        assert not any(process.is_running() for process in tree)
    assert archived(collector, "interrupted") == texts


def test_when_the_supervisor_is_killed_the_others_stop_in_order(
    namespace: Namespace, server: MariaDB, folder: Path
) -> None:
    with Collector(namespace, folder, server.port) as collector:
        tree = psutil.Process(collector.process.pid).children(recursive=True)
        texts = run_statements(namespace, server, "orphaned", 50)
        collector.process.kill()
        gone, alive = psutil.wait_procs(tree, timeout=_WAIT_S)
        assert not alive, collector.complaint()
        assert len(gone) == 4  # aggregator, monitor, capture, one worker
    assert archived(collector, "orphaned") == texts


def test_each_process_is_a_user_of_its_own_closed_to_debuggers_and_holds_no_secret_nor_terminal(
    namespace: Namespace, server: MariaDB, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hush")
    with Collector(namespace, folder, server.port) as collector:
        of = {name: child(collector, name) for name in ("capture", "aggregator", "monitor")}
        (of["worker"],) = workers(collector)
        users = {name: process.uids().real for name, process in of.items()}
        sessions = {name: os.getsid(process.pid) for name, process in of.items()}
        assert {process.terminal() for process in of.values()} == {None}
        # The files of what is not dumpable are root's, whoever runs it (proc(5)).
        owners = {Path(f"/proc/{of[name].pid}/stat").stat().st_uid for name in ("aggregator", "monitor", "worker")}
        told = json.loads((folder / "run" / "processes.json").read_text())
        secret = {name for name in of if os.geteuid() == 0 and holds(of[name], b"hush")}
    assert sessions == {name: of["capture" if name == "worker" else name].pid for name in of}
    if os.geteuid() == 0:
        assert secret == {"aggregator"}
        assert owners == {0}
        assert users["worker"] not in {users["aggregator"], users["capture"], 0}
        assert not told["one_user"]
    else:
        assert told["one_user"]
        assert told["kept_user"] == ["aggregator", "workers"]


def holds(process: psutil.Process, text: bytes) -> bool:
    """Whether a process has a text in its environment."""
    return text in Path(f"/proc/{process.pid}/environ").read_bytes()
