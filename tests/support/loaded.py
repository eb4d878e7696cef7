"""Services at load, and the accounts of what they and the server made of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final

import pytest

from tests.support import numbered, recording, statements
from tests.support.folders import reachable_folder
from tests.support.namespaces import Namespace
from tests.support.objectstores import ACCESS_KEY, BUCKET, SECRET_KEY, Moto, Way, environment
from tests.support.recording import Senders
from tests.support.servers import MariaDB
from tests.support.statements import Statement
from tests.support.units import Units

CONNECTIONS: Final = 4
"""Of each of the senders."""
_BETWEEN: Final = 400
"""Packets that are waited for at a time."""


class Loaded:
    """Services at load, and what they and the server made of it."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self.folder = stack.enter_context(reachable_folder())
        self.namespace = stack.enter_context(Namespace())
        self.server = stack.enter_context(MariaDB(self.namespace))
        self.units = stack.enter_context(Units(self.namespace, self.folder, self.server.port, workers=2))
        self._lists = [self.folder / name for name in "ab"]
        self.sent: list[Statement] = []
        self.log: list[Statement] = []

    @contextmanager
    def sending(self, then: Callable[[], None] = lambda: None) -> Iterator[None]:
        """Send until the context ends; *then* something, stop all in order, and read the accounts."""
        port = self.server.port
        commands = [numbered.command("127.0.0.1", port, one.name, CONNECTIONS, one) for one in self._lists]
        senders = Senders(self.namespace, self.folder, commands)
        try:
            self.wait_for_packets()
            yield
            self.wait_for_packets()
        finally:
            senders.stop()
        then()
        assert self.units.stop() == [0, 0, 0], self.units.complaint()
        self.server.stop()
        self.sent = [statement for one in self._lists for statement in statements.load(one)]
        self.log = recording.logged(self.server, self.sent)
        assert not statements.differences("the log", Counter(self.log), "the senders' lists", Counter(self.sent))

    def settle_remotely(self, moto: Moto) -> Way:
        """Have the archive in a store, which is reached by the way that comes back; it begins in the namespace."""
        way = self._stack.enter_context(Way(moto.port, self.namespace.listen()))
        patch = self._stack.enter_context(pytest.MonkeyPatch.context())
        for name, value in environment(moto.endpoint).items():
            patch.setenv(name, value)
        credentials = self.folder / "credentials"
        credentials.write_text(f"aws_access_key_id = {ACCESS_KEY}\naws_secret_access_key = {SECRET_KEY}\n")
        self.units.place = f"s3://{BUCKET}/by-{way.port}"  # reading keeps stores open by their URL
        store = {"url": self.units.place, "endpoint": way.endpoint, "credentials_file": credentials}
        for setting, given in store.items():
            self.units.configure(f'store.{setting}="{given}"')
        return way

    def wait_for_packets(self) -> None:
        """Wait until some more were recorded."""
        before = taken(self.units)
        self.units.wait_until(lambda: taken(self.units) > before + _BETWEEN)

    def logins(self) -> int:
        """Statements that are in the archive and in nobody's list."""
        return CONNECTIONS * len(self._lists)


def taken(units: Units) -> int:
    """Packets of which blocks have told, of all workers."""
    return sum(sum(one["packets"]["taken"].values()) for one in units.status()["ledger"].values())


def ledger_of(units: Units) -> dict[str, dict[str, Any]]:
    """The last ledger; its sums must hold, and nothing may be on its way."""
    status = units.status()
    assert status["balanced"], status["ledger"]
    for worker in status["ledger"].values():
        packets, sums = worker["packets"], worker["statements"]
        assert (packets["held"], packets["in_ring"], sums["held"]) == (0, 0, 0)
        known = packets["dropped"] + packets["lost"]
        assert packets["passed"] == sum(packets["taken"].values()) + known
        assert sums["decoded"] == sums["shipped"] + sums["lost"] + sums["evicted"]
    return dict(status["ledger"])


def lost(ledger: dict[str, dict[str, Any]], what: str) -> int:
    """Of all workers."""
    return sum(int(worker[what]["lost"]) for worker in ledger.values())


def last(ledger: dict[str, dict[str, Any]]) -> dict[int, int]:
    """The number of each worker's last process."""
    return {int(number): int(worker["incarnation"]) for number, worker in ledger.items()}
