"""The monitor process: figures of the host and of querytap at each interval, to the aggregator and to who asks."""

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
from collector.child import Changes, changes_over
from collector.config import Config
from collector.config.changes import Live, take_over
from collector.monitor.host import Sampler
from collector.monitor.watching import Watching
from collector.notify import Manager
from collector.outlet import Inherited, Outlet

_ALIVE_S: Final = 10.0
_END_S: Final = 5.0


class Monitor:
    """Takes a sample each `monitor.interval_s`, sends it to *outlet* (None: to nobody), and keeps *watching* going.

    *stops*: the signals that end it.
    """

    def __init__(
        self,
        config: Config,
        outlet: Outlet | None,
        changes: Changes,
        sampler: Sampler,
        manager: Manager | None = None,
        *,
        stops: Sequence[signal.Signals] = (signal.SIGTERM,),
    ) -> None:
        self._config = config
        self._outlet = outlet
        self._changes = changes
        self._sampler = sampler
        self._manager = manager or Manager({})
        self._watching = Watching(config)
        self._stops = stops
        self._stop = child.signals(stops)
        self._sampled = time.monotonic()

    def run(self) -> None:
        """Go on until it is told to end."""
        self._watching.start()
        self._manager.ready()
        try:
            while self._turn():
                pass
        finally:
            self._watching.close()

    def _turn(self) -> bool:
        """Wait for something to do and do it; False: it is to end."""
        self._manager.alive()
        due = self._sampled + self._config.monitor.interval_s
        watched = [self._stop.fileno(), *self._changes.fds, *self._watching.fds]
        ready = select.select(watched, [], [], min(max(due - time.monotonic(), 0.0), _ALIVE_S))[0]
        if self._stop.fileno() in ready and set(self._stops) & set(child.arrived(self._stop)):
            self._manager.stopping(_END_S)
            return False
        if set(ready) & set(self._changes.fds):
            self._reload()
        if set(ready) & set(self._watching.fds):
            self._watching.turn()
        if time.monotonic() >= due:
            self._sampled = time.monotonic()
            self._sample()
        return True

    def _sample(self) -> None:
        sample = self._watching.with_figures(self._sampler.sample())
        if self._outlet is not None:
            self._outlet.send(msgpack.packb(sample))  # without room: the next one says the same
        self._watching.post(sample)

    def _reload(self) -> None:
        config = self._changes.latest()
        if config is not None:
            self._config = config
            self._watching.adopt(config)
            take_over(self, LIVE)


LIVE: Final[Live[Monitor]] = {
    "monitor.interval_s": None,
    "monitor.slow_interval_s": None,
    "monitor.tables_interval_s": None,
    "monitor.credentials_file": None,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run as `python -m collector.monitor`, which the supervisor does, until SIGTERM."""
    parser = argparse.ArgumentParser(prog="python -m collector.monitor", description=__doc__)
    parser.add_argument("--settings-fd", type=int, required=True, help="memfd with the resolved configuration as JSON")
    parser.add_argument("--aggregator-fd", type=int, required=True, help="SOCK_SEQPACKET socket to the aggregator")
    parser.add_argument("--changes-fd", type=int, default=-1, help="SOCK_SEQPACKET socket: changed configurations")
    options = parser.parse_args(arguments)
    config = child.begin("monitor", options.settings_fd)
    outlet, changes = Inherited(options.aggregator_fd), changes_over(options.changes_fd)
    Monitor(config, outlet, changes, Sampler(lambda: [os.getppid()])).run()
    return 0
