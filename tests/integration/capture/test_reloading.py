"""`querytap run` reads its configuration again on SIGHUP while a real server is under load, and records on."""

from __future__ import annotations

import fcntl
import itertools
import os
import pty
import signal
import subprocess
import termios
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from collector.config.option import toml
from collector.supervisor.lifecycle import READY
from tests.integration.capture.starting import Started, statements, status, texts, wait_for, wait_until
from tests.support import gaps, numbered, patience, processes, recording, records
from tests.support.collector import Collector
from tests.support.namespaces import Namespace
from tests.support.recording import Load, Senders, Share
from tests.support.servers import MariaDB
from tests.support.statements import load

pytestmark = [pytest.mark.integration, pytest.mark.either_build]

LOAD = Load(text=Share(8, 4000, 600), prepared=Share(8, 4000, 600), odd=Share(8, 1500, 250), seed=41)
CONNECTIONS = 12
_WAIT_S = 30


@pytest.fixture(scope="module")
def other(namespace: Namespace) -> Iterator[MariaDB]:
    """A second server in the same network."""
    with MariaDB(namespace) as made:
        yield made


def configuration(folder: Path, **sections: Mapping[str, object]) -> str:
    """A file's text."""
    sections.setdefault("budget", {"cpu_percent": patience.UNLIMITED_PERCENT})
    sections["paths"] = {"state": f"{folder}/state", "run": f"{folder}/run"}
    return "\n".join(
        f"[{name}]\n" + "".join(f"{option} = {toml(value)}\n" for option, value in options.items())
        for name, options in sections.items()
    )


def wait(holds: Callable[[], object], collector: Collector) -> None:
    deadline = time.monotonic() + _WAIT_S
    while not holds():
        assert time.monotonic() < deadline, collector.complaint()
        time.sleep(0.05)


@contextmanager
def numbered_load(namespace: Namespace, server: MariaDB, output: Path) -> Iterator[None]:
    """Numbered statements on connections named after *output*, which flow from its beginning to its end."""
    sending = namespace.start(
        numbered.command("127.0.0.1", server.port, output.name, CONNECTIONS, output), output.with_suffix(".log")
    )
    try:
        wait_for_statements(server, output, 20)
        yield
    finally:
        assert processes.stop(sending, 30) == 0, output.with_suffix(".log").read_text()


def wait_for_statements(server: MariaDB, output: Path, more: int) -> None:
    """Wait until the first connection of a numbered load, of which there are 250 a second at most, has sent so many."""
    text = numbered.text(f"{output.name}0", 0).removesuffix(b"0")
    wanted = server.general_log.read_bytes().count(text) + more
    deadline = time.monotonic() + 2 * _WAIT_S
    while server.general_log.read_bytes().count(text) < wanted:
        assert time.monotonic() < deadline, output.with_suffix(".log").read_text()
        time.sleep(0.2)


def sent_numbers(output: Path) -> dict[str, int]:
    """How many statements were sent on each connection of a numbered load."""
    places = [numbered.place(one.text) for one in load(output)]
    return dict(Counter(place[0] for place in places if place is not None))


def stopped_in_order(collector: Collector) -> None:
    assert collector.stop() == 0, collector.complaint()
    found = collector.status()
    assert found["balanced"], found["ledger"]
    for worker in found["ledger"].values():
        assert worker["packets"]["dropped"] == worker["packets"]["lost"] == worker["statements"]["lost"] == 0


def test_what_may_change_changes_under_load_and_not_a_statement_is_missing(
    namespace: Namespace, other: MariaDB, folder: Path
) -> None:
    """Ports, and how often and how blocks, batches and objects are made."""
    beside = folder / "beside"
    with MariaDB(namespace) as server:
        server.execute(*recording.TABLES)
        with Collector(namespace, folder, server.port, workers=2) as collector:
            senders = Senders(namespace, folder, recording.commands(server.port, folder, LOAD))
            with numbered_load(namespace, other, beside):
                rounds = itertools.cycle(
                    [
                        ([server.port, other.port], 50, 1, 1, 1.0),
                        ([server.port], 2000, 5, 9, 4.0),
                        ([server.port, other.port], 500, 3, 2, 2.0),
                    ]
                )
                while senders.running():
                    ports, block_age_ms, level, most_mib, age_s = next(rounds)
                    collector.reload(
                        configuration(
                            folder,
                            capture={"ports": ports},
                            workers={"count": 2},
                            batch={
                                "block_age_ms": block_age_ms, "zstd_level": level, "max_mib": most_mib,
                                "max_age_s": age_s,
                            },
                        )
                    )  # fmt: skip
                    time.sleep(1)
                senders.wait()
            stopped_in_order(collector)
        server.stop()
        own = senders.sent()
        archive: dict[bool, list[dict[str, Any]]] = {True: [], False: []}
        for one in collector.records():
            archive[one["server"].endswith(f":{server.port}")].append(one)
        found = recording.disagreements(records.statements(archive[True]), recording.logged(server, own), own)
        assert not found, "\n".join(found)
    beside_it = Counter(one.text for one in records.statements(archive[False]) if one.command == "Query")
    assert beside_it, "nothing of the server that came and went was recorded"
    assert beside_it <= Counter(one.text for one in load(beside))


def test_of_a_port_that_is_added_all_is_recorded_from_then_on_and_of_one_that_is_left_out_all_until_then(
    namespace: Namespace, server: MariaDB, other: MariaDB, folder: Path
) -> None:
    joined = folder / "joined"
    load = numbered_load(namespace, other, joined)
    with Collector(namespace, folder, server.port, workers=2) as collector, load:
        for ports in ([server.port, other.port], [server.port]):
            collector.reload(configuration(folder, capture={"ports": ports}, workers={"count": 2}))
            wait_for_statements(other, joined, 600)
        stopped_in_order(collector)
    account = gaps.recorded(collector)
    assert not account.invented
    sent = sent_numbers(joined)
    assert len(account.found) == len(sent) == CONNECTIONS
    for name, found in account.found.items():
        numbers = [one.number for one in found]
        if name != f"{joined.name}{CONNECTIONS - 1}":  # there the text of the executions is known only later
            assert numbers == list(range(numbers[0], numbers[0] + len(numbers))), name
        assert 0 < numbers[-1] < sent[name] - 1


def test_of_a_share_of_the_connections_each_is_recorded_whole_and_later_all_are(
    namespace: Namespace, server: MariaDB, folder: Path
) -> None:
    output = folder / "shared"
    load = numbered_load(namespace, server, output)
    with Collector(namespace, folder, server.port, workers=2) as collector, load:
        for percent in (50, 100):
            capture = {"ports": [server.port], "keep_percent": percent}
            collector.reload(configuration(folder, capture=capture, workers={"count": 2}))
            note = f"{percent} % of all connections are recorded, as capture.keep_percent says"
            wait(lambda: (note in collector.processes()["capture"]) == (percent < 100), collector)  # noqa: B023
            wait_for_statements(server, output, 600)
    assert collector.stop() == 0, collector.complaint()
    assert collector.status()["balanced"]
    account = gaps.recorded(collector)
    assert not account.invented
    sent = sent_numbers(output)
    holes = {}
    for name, found in account.found.items():
        if name == f"{output.name}{CONNECTIONS - 1}":
            continue  # there the text of the executions is known again only later
        numbers = [one.number for one in found]
        holes[name] = sum(1 for before, after in itertools.pairwise(numbers) if after != before + 1)
        assert numbers[0] == 0
        assert numbers[-1] == sent[name] - 1
    assert set(holes.values()) == {0, 1}, "of each connection all, or all but while it was left out"


def test_a_file_with_problems_changes_nothing_and_the_log_and_the_status_name_each(
    namespace: Namespace, server: MariaDB, folder: Path
) -> None:
    with Collector(namespace, folder, server.port) as collector:
        load = namespace.start(statements(server.port, "during", 3000))
        good = collector.config.read_text()
        collector.reload(good.replace("[workers]\ncount = 1", "[workers]\ncuont = 1\n[batch]\nzstd_level = 99\n[paths"))
        collector.reload(good.replace("count = 1", "cuont = 1\n").replace("max_age_s = 1", "max_age_s = 0"))
        said = status(folder)
        for problem in ("workers.cuont: unknown option, did you mean count?", "batch.max_age_s = 0: must be between"):
            assert any(f"{collector.config}:" in line and problem in line for line in said.splitlines()), said
            assert any("ERROR run: reload: " in line and problem in line for line in collector.complaint().splitlines())
        assert "REFUSED, the settings from before go on" in said
        assert "is not TOML" in collector.complaint()
        collector.reload(good.replace("max_age_s = 1", "max_age_s = 2"))
        said = status(folder)
        assert "batch.max_age_s from 1.0 to 2.0" in said
        assert "REFUSED" not in said
        assert load.wait(60) == 0
        stopped_in_order(collector)
    found = [one["sql"] for one in collector.records() if "'during " in one.get("sql", "")]
    assert sorted(found) == sorted(texts("during", 3000))


def test_what_takes_a_restart_is_named_and_left_as_it_is(namespace: Namespace, server: MariaDB, folder: Path) -> None:
    with Collector(namespace, folder, server.port) as collector:
        collector.reload(
            configuration(
                folder,
                capture={"ports": [server.port], "ring_mib": 8, "responses": "all"},
                workers={"count": 3},
                store={"url": f"{folder}/elsewhere"},
            )
        )
        names = "capture.responses, capture.ring_mib, workers.count, store.url"
        assert f"reload: differs, and takes effect after a restart: {names}" in collector.complaint()
        assert f"after a restart: {names}" in status(folder)
        assert f"{folder}/elsewhere" not in collector.complaint()
        namespace.run(statements(server.port, "kept", 50))
        stopped_in_order(collector)
        assert list(collector.status()["ledger"]) == ["0"]
    found = [one["sql"] for one in collector.records() if "'kept " in one.get("sql", "")]
    assert sorted(found) == sorted(texts("kept", 50))


def test_a_second_reader_can_open_what_is_sealed_after_a_reload_and_one_whose_key_is_missing_is_told(
    namespace: Namespace, server: MariaDB, folder: Path
) -> None:
    keys = [f"{folder}/state/keys/reader.pub", f"{folder}/second/reader.pub"]
    with Collector(namespace, folder, server.port) as collector:
        namespace.run(statements(server.port, "first", 20))
        text = configuration(folder, capture={"ports": [server.port]}, seal={"recipients": keys})
        collector.reload(text)
        wait(lambda: f"{keys[1]} cannot be read: No such file" in status(folder), collector)
        processes.run(processes.querytap("keygen", "--folder", str(folder / "second")))
        Path(keys[1]).parent.chmod(0o755)
        collector.reload(text)  # the same: what was missing is there now
        wait(lambda: "the archive is sealed for" in collector.complaint(), collector)
        wait(lambda: keys[1] not in status(folder), collector)
        namespace.run(statements(server.port, "second", 20))
        stopped_in_order(collector)
    command = processes.querytap("read", str(collector.archive), "--key", f"{folder}/second/reader.key")
    done = subprocess.run([*command, "--format", "json"], env=processes.environment(), capture_output=True, check=False)
    found = [one["sql"] for one in records.parse(done.stdout) if "'second " in one.get("sql", "")]
    assert sorted(found) == sorted(texts("second", 20)), done.stderr.decode()
    assert len([one for one in collector.records() if "'first " in one.get("sql", "")]) == 20


def test_a_capture_that_waits_for_a_server_goes_by_the_ports_that_are_set_then(folder: Path) -> None:
    with Namespace() as alone, MariaDB(alone) as own, Collector(alone, folder, own.port) as collector:
        collector.reload(configuration(folder))
        wait(lambda: "capture.ports from [" in collector.complaint(), collector)
        own.stop()
        capture = next(
            one for one in psutil.Process(collector.process.pid).children() if "collector.capture" in one.cmdline()
        )
        capture.kill()
        wait(lambda: collector.processes()["waiting"] == "a server", collector)
        collector.reload(configuration(folder, capture={"ports": [own.port]}))
        wait(lambda: "nobody listens on port" in status(folder), collector)
        assert (collector.processes()["waiting"], collector.processes()["ports"]) == ("", [own.port])
        own.start_again(alone, own.port)
        alone.run(statements(own.port, "again", 20))
        assert collector.stop() == 0, collector.complaint()
    found = [one["sql"] for one in collector.records() if "'again " in one.get("sql", "")]
    assert sorted(found) == sorted(texts("again", 20))


def test_figures_of_budget_and_monitor_follow(namespace: Namespace, server: MariaDB, folder: Path) -> None:
    with Collector(namespace, folder, server.port) as collector:
        capture = {"ports": [server.port]}
        collector.reload(configuration(folder, capture=capture, budget={"cpu_percent": 33}, monitor={"interval_s": 1}))
        wait(lambda: collector.status()["budget"]["cpu_percent"] == 33, collector)
        wait(lambda: collector.status()["host_sample"].get("seconds", 99) < 5, collector)


def test_a_hundred_signals_in_a_second_are_harmless(namespace: Namespace, server: MariaDB, folder: Path) -> None:
    with Collector(namespace, folder, server.port) as collector:
        load = namespace.start(statements(server.port, "storm", 3000))
        for number in range(100):
            collector.config.write_text(
                configuration(folder, capture={"ports": [server.port]}, batch={"max_age_s": 1 + number % 2})
            )
            collector.process.send_signal(signal.SIGHUP)
            time.sleep(0.01)
        for _ in range(10_000):
            collector.process.send_signal(signal.SIGHUP)
        assert load.wait(60) == 0
        stopped_in_order(collector)
    assert "Traceback" not in collector.log.read_text()
    found = [one["sql"] for one in collector.records() if "'storm " in one.get("sql", "")]
    assert sorted(found) == sorted(texts("storm", 3000))


def answers_hangups(process: subprocess.Popen[bytes]) -> bool:
    """Whether SIGHUP no longer ends a process: it is blocked, or caught."""
    found = dict(line.split(":\t", 1) for line in Path(f"/proc/{process.pid}/status").read_text().splitlines())
    bit = 1 << signal.SIGHUP - 1
    return any(int(found[name], 16) & bit for name in ("SigBlk", "SigCgt"))


def arguments(folder: Path, port: int) -> list[str]:
    options = (f'paths.state="{folder}/state"', f'paths.run="{folder}/run"', f"capture.ports=[{port}]")
    return [word for one in options for word in ("--set", one)]


@pytest.mark.parametrize("before", [(), ("nohup",)], ids=["plain", "nohup"])
def test_a_signal_before_it_is_ready_is_answered_once_it_is_under_nohup_too(
    namespace: Namespace, server: MariaDB, folder: Path, before: Sequence[str]
) -> None:
    processes.run(processes.querytap("keygen", *arguments(folder, server.port)))
    log = folder / "log"
    started = Started(namespace.start([*before, *processes.querytap("run", *arguments(folder, server.port))], log), log)
    try:
        wait_until(lambda: answers_hangups(started.process), started)
        while READY not in started.log.read_text():
            started.process.send_signal(signal.SIGHUP)
            assert started.process.poll() is None, started.log.read_text()
            time.sleep(0.01)
        wait_for(started, "run: reload: no setting that can be changed without a restart differs")
    finally:
        assert processes.stop(started.process, 60) == 0, started.log.read_text()


def test_that_its_terminal_goes_stops_it_in_order(namespace: Namespace, server: MariaDB, folder: Path) -> None:
    processes.run(processes.querytap("keygen", *arguments(folder, server.port)))
    terminal, theirs = pty.openpty()
    process = subprocess.Popen(
        namespace.command(processes.querytap("run", *arguments(folder, server.port))),
        stdin=theirs, stdout=theirs, stderr=theirs, env=processes.environment(), start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509  # there are no threads here
    )  # fmt: skip
    os.close(theirs)
    said = b""
    while READY.encode() not in said:
        said += os.read(terminal, 4096)
    namespace.run(statements(server.port, "terminal", 20))
    os.close(terminal)
    assert process.wait(60) == 0
    command = processes.querytap("read", f"{folder}/state/archive", "--key", f"{folder}/state/keys/reader.key")
    found = records.parse(processes.run([*command, "--format", "json"]).stdout)
    assert len([one for one in found if "'terminal " in one.get("sql", "")]) == 20
