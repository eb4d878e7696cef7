"""The monitor process: a sample each interval, to the aggregator."""

from __future__ import annotations

import argparse
import os
import select
import signal
import time
from collections.abc import Sequence
from typing import Final

import msgpack

from collector import child
from collector.child import Changes
from collector.config import Config
from collector.config.changes import Live, take_over
from collector.monitor.host import Sampler
from collector.notify import Manager
from collector.outlet import Inherited, Outlet

_ALIVE_S: Final = 10.0
_END_S: Final = 5.0


class Monitor:
    """Sends samples, each `monitor.interval_s`."""

    def __init__(
        self, config: Config, outlet: Outlet, changes: Changes, sampler: Sampler, manager: Manager | None = None
    ) -> None:
        self._config = config
        self._outlet = outlet
        self._changes = changes
        self._sampler = sampler
        self._manager = manager or Manager({})
        self._stop = child.signals((signal.SIGTERM,))
        self._sampled = time.monotonic()

    def run(self) -> None:
        """Go on until SIGTERM."""
        self._manager.ready()
        while True:
            self._manager.alive()
            due = self._sampled + self._config.monitor.interval_s
            watched = [self._stop.fileno(), *self._changes.fds]
            ready = select.select(watched, [], [], min(max(due - time.monotonic(), 0.0), _ALIVE_S))[0]
            if self._stop.fileno() in ready and signal.SIGTERM in child.arrived(self._stop):
                self._manager.stopping(_END_S)
                return
            if ready:
                self._reload()
            elif time.monotonic() >= due:
                self._sampled = time.monotonic()
                self._outlet.send(msgpack.packb(self._sampler.sample()))  # without room: the next one says the same

    def _reload(self) -> None:
        config = self._changes.latest()
        if config is not None:
            self._config = config
            take_over(self, LIVE)


LIVE: Final[Live[Monitor]] = {"monitor.interval_s": None}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run as `python -m collector.monitor`, which the supervisor does, until SIGTERM."""
    parser = argparse.ArgumentParser(prog="python -m collector.monitor", description=__doc__)
    parser.add_argument("--settings-fd", type=int, required=True, help="memfd with the resolved configuration as JSON")
    parser.add_argument("--aggregator-fd", type=int, required=True, help="SOCK_SEQPACKET socket to the aggregator")
    parser.add_argument("--changes-fd", type=int, default=-1, help="SOCK_SEQPACKET socket: changed configurations")
    options = parser.parse_args(arguments)
    config = child.begin("monitor", options.settings_fd)
    outlet, changes = Inherited(options.aggregator_fd), Changes(options.changes_fd)
    Monitor(config, outlet, changes, Sampler(lambda: [os.getppid()])).run()
    return 0
