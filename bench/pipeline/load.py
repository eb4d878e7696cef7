"""The sender as a process of its own, outside every measured tree."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from bench import veth
from bench.sender import whole_rounds
from bench.traffic import FIRST_CLIENT_PORT, Workload, generate
from tests.support import processes

_EXTRA_S = 3_600


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be sent."""

    rate: float
    """Statements a second."""
    connections: int
    texts: int
    """Statements after which the texts begin anew."""
    seed: int = 1

    def expected(self, statements: int) -> Counter[tuple[int, bytes]]:
        """The first *statements* statements, as client port and text."""
        size = whole_rounds(self.texts, self.connections)
        exchanges = generate(Workload(size, self.connections, self.seed)).exchanges
        found: Counter[tuple[int, bytes]] = Counter()
        for number in range(statements):
            exchange = exchanges[number % size]
            found[FIRST_CLIENT_PORT + exchange.connection, exchange.sql] += 1
        return found


class Load:
    """A sender that is ready to go."""

    def __init__(self, process: subprocess.Popen[str], progress: Path) -> None:
        self._process = process
        self._progress = progress

    def go(self) -> Self:
        """Open the connections and send, until stop()."""
        assert self._process.stdin is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()
        return self

    def statements(self) -> int:
        """How many statements have been sent."""
        with self._progress.open("rb") as file:
            return int.from_bytes(file.read(8), "little")

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def stop(self) -> dict[str, Any]:
        """Stop sending and close the connections; what was sent comes back."""
        self._process.terminate()
        said, _ = self._process.communicate(timeout=60)
        sent: dict[str, Any] = json.loads(said.splitlines()[-1])
        return sent


@contextmanager
def ready(pair: veth.Pair, folder: Path, plan: Plan) -> Iterator[Load]:
    """A sender between the ends of *pair* that has generated its packets and waits for go()."""
    progress = folder / "progress"
    progress.write_bytes(bytes(8))
    command = processes.module(
        "bench.sender", "--db", str(pair.db), "--app", str(pair.app), "--rate", str(plan.rate),
        "--connections", str(plan.connections), "--texts", str(plan.texts), "--seed", str(plan.seed),
        "--seconds", str(_EXTRA_S), "--progress", str(progress),
    )  # fmt: skip
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=processes.environment()
    )
    try:
        assert process.stdout is not None
        if process.stdout.readline() != "ready\n":
            raise RuntimeError("the sender does not start; its message is above")
        yield Load(process, progress)
    finally:
        process.kill()
        process.communicate()
