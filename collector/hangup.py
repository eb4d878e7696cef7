"""What SIGHUP asks of a service: its configuration is read again, and what can be taken over is."""

from __future__ import annotations

import datetime as dt
import logging
import signal
import socket
from collections.abc import Callable, Mapping
from typing import Any

from collector.child import Changes
from collector.config import Config
from collector.config.reloading import Read, reload
from collector.notify import Manager

_log = logging.getLogger(__name__)


class Rereading(Changes):
    """Configurations as *read* gives them at each SIGHUP, beside the one that is *running*."""

    def __init__(self, running: Config, read: Read, manager: Manager) -> None:
        super().__init__()
        self._running = running
        self._read = read
        self._manager = manager
        self.told: Callable[[Mapping[str, Any]], None] = _nobody
        """Called with what came of it, as `querytap status` shows that."""
        self._asked, self._asking = socket.socketpair()
        for end in (self._asked, self._asking):
            end.setblocking(False)
        self.fds = [self._asked.fileno()]
        signal.signal(signal.SIGHUP, self._ask)

    def latest(self) -> Config | None:
        """As Changes says; of settings that take a restart it has the values from before."""
        try:
            self._asked.recv(4096)
        except BlockingIOError:
            return None
        self._manager.reloading()
        outcome = reload(self._running, self._read)
        for line in outcome.lines():
            _log.log(*line)
        self._running = outcome.config
        self.told({"time": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"), **outcome.as_map()})
        self._manager.ready()
        return outcome.config

    def close(self) -> None:
        """As Changes says."""
        super().close()
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        self._asked.close()
        self._asking.close()

    def _ask(self, *_: object) -> None:
        try:
            self._asking.send(b"\0")
        except BlockingIOError:
            return  # as often as that it is asked already


def _nobody(_: Mapping[str, Any]) -> None:
    """Who is told where nobody listens."""
