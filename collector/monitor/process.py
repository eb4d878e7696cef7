"""The monitor process: a sample each interval, to the aggregator."""

from __future__ import annotations

import argparse
import os
import select
import signal
import socket
import time
from collections.abc import Sequence
from typing import Any, Final

import msgpack

from collector import child
from collector.child import LATER, Changes
from collector.config import Config
from collector.config.changes import Live, take_over
from collector.monitor.host import Sampler


class Monitor:
    """Sends samples on *channel*, each `monitor.interval_s`."""

    def __init__(self, config: Config, channel: socket.socket, changes: Changes) -> None:
        self._config = config
        self._channel = channel
        self._changes = changes
        self._sampler = Sampler(os.getppid())
        self._stop = child.signals((signal.SIGTERM,))
        self._sampled = time.monotonic()

    def run(self) -> None:
        """Go on until SIGTERM."""
        while True:
            due = self._sampled + self._config.monitor.interval_s
            watched = [self._stop.fileno(), *self._changes.fds]
            ready = select.select(watched, [], [], max(due - time.monotonic(), 0.0))[0]
            if self._stop.fileno() in ready:
                return
            if ready:
                self._reload()
            elif time.monotonic() >= due:
                self._sampled = time.monotonic()
                send(self._channel, self._sampler.sample())

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
    channel = socket.socket(fileno=options.aggregator_fd)
    channel.setblocking(False)
    Monitor(config, channel, Changes(options.changes_fd)).run()
    return 0


def send(channel: socket.socket, sample: dict[str, Any]) -> bool:
    """Send a sample without blocking; False when there is no room, as the next sample will say the same."""
    try:
        channel.send(msgpack.packb(sample), socket.MSG_NOSIGNAL)
    except OSError as error:
        if error.errno not in LATER:
            raise
        return False
    return True
