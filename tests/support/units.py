"""querytap as three services of a stand-in for the service manager, beside a test's server."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

import psutil

from tests.support import patience, processes
from tests.support.collector import CONFIG, Archive
from tests.support.manager import TIMEOUT_S, Service
from tests.support.namespaces import Namespace


class Units(Archive):
    """Capture, aggregator and monitor, all recording when start() returns; as a context manager they stop."""

    def __init__(
        self, namespace: Namespace, folder: Path, port: int, *, workers: int = 1, settings: Sequence[str] = ()
    ) -> None:
        super().__init__(folder, folder / "run")
        self._config = folder / "querytap.toml"
        state, run = folder / "state", folder / "run"
        for path in (state, run):
            path.mkdir()
        text = CONFIG.format(
            port=port,
            x_ports=[],
            responses="first",
            workers=workers,
            cpu_percent=patience.UNLIMITED_PERCENT,
            state=state,
            run=run,
        )
        self._config.write_text(text, encoding="utf-8")
        processes.run(processes.querytap("keygen", "--config", str(self._config)))
        self._namespace = namespace
        self._settings = list(settings)
        self.capture, self.aggregator, self.monitor = map(self.another, ("capture", "aggregator", "monitor"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for one in self.all:
            one.__exit__(*error)

    def another(self, name: str) -> Service:
        """A service like capture, aggregator or monitor, not started yet."""
        return Service(self._namespace, name, self._command(name), self.log)

    def configure(self, setting: str) -> None:
        """Add a setting to what the services start with from now on."""
        self._settings.append(setting)
        for one in self.all:
            one.command = self._command(one.name)

    def _command(self, name: str) -> list[str]:
        more = [word for setting in self._settings for word in ("--set", setting)]
        return processes.querytap(name, "--config", str(self._config), *more)

    @property
    def all(self) -> tuple[Service, ...]:
        """In the order in which they stop."""
        return self.monitor, self.capture, self.aggregator

    def start(self) -> None:
        """Start all of them, in the order that suits them least."""
        for one in self.all:
            one.start()
        self.wait_until(lambda: self.status().get("state") == "running")

    def stop(self) -> list[int]:
        """Stop them in order; their exit status."""
        return [one.stop() for one in self.all]

    def wait_until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds. Raises AssertionError where it does not within a minute."""
        deadline = time.monotonic() + TIMEOUT_S
        while not holds():
            assert time.monotonic() < deadline, self.complaint()
            time.sleep(0.05)

    def workers(self) -> list[psutil.Process]:
        """The processes of the workers: those below capture's."""
        return psutil.Process(self.capture.running.pid).children()
