"""A load on a server, sent by several processes at once, and the three accounts of it that must agree."""

from __future__ import annotations

import json
import subprocess
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support import generallog, patience, processes, serverrules, statements, sysbench, workload
from tests.support.namespaces import Namespace
from tests.support.servers import MariaDB
from tests.support.statements import Statement

TABLES = workload.TABLES + sysbench.TABLES
TIMEOUT_S = patience.seconds(600)
ODD_LIST = "odd"


@dataclass(frozen=True)
class Share:
    """What one kind of sender sends: so many statements in all, over so many connections, at so many a second."""

    connections: int
    statements: int
    rate: int


@dataclass(frozen=True)
class Load:
    """What runs at the same time: sysbench with text, sysbench with prepared statements, our own odd statements."""

    text: Share
    prepared: Share
    odd: Share
    seed: int = 1

    @property
    def connections(self) -> int:
        """Of all together."""
        return sum(share.connections for share in (self.text, self.prepared, self.odd))


def commands(port: int, folder: Path, load: Load) -> list[list[str]]:
    """The command lines that send a load and leave their lists in *folder*."""
    odd = processes.module(
        "tests.support.workload", "--port", str(port), "--connections", str(load.odd.connections),
        "--statements", str(load.odd.statements), "--rate", str(load.odd.rate), "--seed", str(load.seed),
        "--output", str(folder / ODD_LIST),
    )  # fmt: skip
    return [odd] + [
        sysbench.command(
            port, folder, prepared=prepared, connections=share.connections, statements=share.statements, rate=share.rate
        )
        for prepared, share in ((False, load.text), (True, load.prepared))
    ]


class Senders:
    """Processes that send, from the constructor on, and leave what they sent in lists in *folder*."""

    def __init__(self, namespace: Namespace, folder: Path, command_lines: Sequence[Sequence[str]]) -> None:
        self._folder = folder
        self._begun = time.monotonic()
        self.seconds = 0.0
        self._running: list[tuple[Sequence[str], subprocess.Popen[bytes]]] = []
        for number, command in enumerate(command_lines):
            self._running.append((command, namespace.start(command, self._log(number))))

    def wait(self) -> None:
        """Wait until all have sent what they had to. Raises AssertionError when one failed."""
        try:
            for number, (command, process) in enumerate(self._running):
                if process.wait(TIMEOUT_S) != 0:
                    text = self._log(number).read_text(errors="replace")
                    raise AssertionError(f"{' '.join(command)[:300]} failed:\n{text[-4000:]}")
            self.seconds = time.monotonic() - self._begun
        finally:
            self.stop()

    def stop(self) -> None:
        """End those that still run."""
        for _, process in self._running:
            processes.stop(process, 10)

    def running(self) -> bool:
        """Whether one still sends."""
        return any(process.poll() is None for _, process in self._running)

    def _log(self, number: int) -> Path:
        return self._folder / f"sender-{number}.log"

    def sent(self) -> list[Statement]:
        """The senders' own list."""
        odd = self._folder / ODD_LIST
        return (statements.load(odd) if odd.exists() else []) + sysbench.sent(self._folder)


def logged(server: MariaDB, own: Sequence[Statement]) -> list[Statement]:
    """What the log of the stopped server says; *own* tells it which statements look like entries."""
    known = [statement.text for statement in own if generallog.looks_like_entries(statement.text)]
    return generallog.network_statements(server.general_log.read_bytes(), known)


def disagreements(archive: Sequence[Statement], log: Sequence[Statement], own: Sequence[Statement]) -> list[str]:
    """How the three accounts differ, for people; empty when they are the same as multisets."""
    found = statements.differences("the server's log", Counter(log), "the senders' lists", Counter(own))
    expected = Counter(_without_types(statement) for statement in log)
    return found + statements.differences("the archive", Counter(archive), "the server's log", expected)


def _without_types(statement: Statement) -> Statement:
    if statement.command != "Execute":
        return statement
    return statement._replace(text=serverrules.without_types(statement.text))


def summary(senders: Senders, own: Sequence[Statement]) -> str:
    """How much was sent how fast: reported, never asserted."""
    sent = Counter(statement.command for statement in own)
    return f"{len(own)} statements in {senders.seconds:.1f} s, {len(own) / senders.seconds:.0f}/s: {json.dumps(sent)}"
