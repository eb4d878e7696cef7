"""All that is watched, and its serving: sources that are polled, figures that are posted, the page that shows them."""

from __future__ import annotations

import datetime as dt
import logging
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

from collector import jsonfile, places
from collector.config import Config
from collector.monitor import own
from collector.monitor.alerts.alerting import Alerting
from collector.monitor.alerts.alerting import read as read_rules
from collector.monitor.alerts.rules import RulesError
from collector.monitor.board import Board
from collector.monitor.database.polled import PolledServer
from collector.monitor.families import Reading, Readings
from collector.monitor.polling import Polling
from collector.monitor.serving.opening import ServingError, open_server
from collector.monitor.serving.render import Page, page
from collector.monitor.serving.web import Server
from collector.monitor.summary import Summary
from collector.monitor.system import disks, host
from collector.monitor.system.processes import ServerProcesses

_log = logging.getLogger(__name__)

HOST: Final = "host"
FILE_SYSTEMS: Final = "file systems"
OWN: Final = "querytap"
ALERTS: Final = "alerts"


class Watching:
    """Polls and serves from start() on, until close()."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._board = Board()
        self._summary = Summary()
        self._polling = Polling(self._board)
        self._server: Server | None = None
        self._alerting: Alerting | None = None
        self._refused = ""
        """Why it is not served, as was said last."""

    def start(self) -> None:
        """Begin. What cannot be served is logged, and tried again at each post()."""
        processes = ServerProcesses()
        self._polling.add(HOST, self._interval_s, lambda: (*host.read(), *processes.read()))
        self._polling.add(FILE_SYSTEMS, self._slow_interval_s, disks.read)
        for address in self._config.monitor.servers:
            server = PolledServer(address, lambda: self._config.monitor)
            self._polling.add(f"server {address}", self._interval_s, server.read)
        self._open()
        self._alerting = _alerting(self._config)

    def adopt(self, config: Config) -> None:
        """Go by another configuration."""
        self._config = config

    @property
    def fds(self) -> list[int]:
        """When one of them can be read, turn() is to be called."""
        return [self._polling.fd, *([self._server.fileno()] if self._server else [])]

    def turn(self) -> None:
        """Have a request answered that has come. Raises what ended a source, which is a fault of ours."""
        self._polling.check()
        if self._server is not None:
            self._server.answer_next()

    def with_figures(self, sample: Mapping[str, Any]) -> dict[str, Any]:
        """*sample* with the figures of host and servers that go into the archive."""
        figures = self._summary.take(self._board.all())
        return {**sample, **figures, "host": {**sample["host"], **figures["host"]}}

    def post(self, sample: Mapping[str, Any]) -> None:
        """Show what was measured of querytap, with the ledger."""
        self._board.post(OWN, (*own.of_sample(sample), *self._ledger()))
        if self._alerting is not None:
            self._board.post(ALERTS, self._alerting.take(self._board.all(), time.time()))
        if self._server is None:
            self._open()

    def close(self) -> None:
        """Poll and serve nothing more."""
        self._polling.close()
        if self._alerting is not None:
            self._alerting.close()
        if self._server is not None:
            self._server.server_close()
            self._server = None

    def page(self, accept: str) -> Page:
        """All that is known now, for one who has sent this `Accept` header."""
        return page(self._board.all(), accept)

    def _open(self) -> None:
        options = self._config.monitor
        if not options.listen:
            return
        try:
            self._server = open_server(options, self.page)
        except ServingError as error:
            if str(error) != self._refused:
                _log.error("%s", error)
            self._refused = str(error)
            return
        self._refused = ""
        _log.info("metrics are served at %s%s", options.listen, " with TLS" if options.tls_certificate else "")

    def _ledger(self) -> Readings:
        path = places.aggregator_run(self._config.paths.run) / places.STATUS_FILE
        try:
            status = jsonfile.read(path)
            return () if status is None else tuple(_of_status(status))
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            _log.warning("%s cannot be read, so metrics are without it: %s", path, type(error).__name__)
            return ()

    def _interval_s(self) -> float:
        return self._config.monitor.interval_s

    def _slow_interval_s(self) -> float:
        return self._config.monitor.slow_interval_s


def _alerting(config: Config) -> Alerting | None:
    """None where the rules cannot be read, which is logged: all else goes on."""
    try:
        return Alerting(config.alerts, *read_rules(config.alerts))
    except RulesError as error:
        for line in str(error).splitlines():
            _log.error("there are no alerts: %s", line)
        return None


def _of_status(status: Mapping[str, Any]) -> Iterator[Reading]:
    yield from own.of_status(status, dt.datetime.fromisoformat(status["time"]).timestamp())
