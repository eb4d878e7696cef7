"""The monitor process: a sample each interval, to the aggregator."""

from __future__ import annotations

import argparse
import os
import select
import signal
import socket
from collections.abc import Sequence
from typing import Any

import msgpack

from collector import child
from collector.child import LATER
from collector.monitor.host import Sampler


def main(arguments: Sequence[str] | None = None) -> int:
    """Run as `python -m collector.monitor`, which the supervisor does, until SIGTERM."""
    parser = argparse.ArgumentParser(prog="python -m collector.monitor", description=__doc__)
    parser.add_argument("--settings-fd", type=int, required=True, help="memfd with the resolved configuration as JSON")
    parser.add_argument("--aggregator-fd", type=int, required=True, help="SOCK_SEQPACKET socket to the aggregator")
    options = parser.parse_args(arguments)
    config = child.begin("monitor", options.settings_fd)
    channel = socket.socket(fileno=options.aggregator_fd)
    channel.setblocking(False)
    sampler = Sampler(os.getppid())
    stop = child.signals((signal.SIGTERM,))
    while not select.select([stop], [], [], config.monitor.interval_s)[0]:
        send(channel, sampler.sample())
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
