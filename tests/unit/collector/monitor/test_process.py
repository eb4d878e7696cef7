from __future__ import annotations

import json
import os
import signal
import socket
import threading

import msgpack
import pytest

from collector.child import SentChanges
from collector.config import from_mapping
from collector.monitor.host import Sampler
from collector.monitor.process import Monitor
from collector.outlet import Inherited


def test_another_interval_is_taken_over_while_the_one_before_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    stop, stopping = socket.socketpair()
    monkeypatch.setattr("collector.child.signals", lambda _: stop)
    changes, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    samples, channel = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    stop.setblocking(False)
    with stop, stopping, changes, samples:
        config = from_mapping({"monitor": {"interval_s": 3600, "listen": ""}})
        received = SentChanges(theirs.detach())
        outlet, sampler = Inherited(channel.detach()), Sampler(lambda: [os.getpid()])
        thread = threading.Thread(target=Monitor(config, outlet, received, sampler).run)
        thread.start()
        changes.send(json.dumps({"monitor": {"interval_s": 1, "listen": ""}}).encode())
        samples.settimeout(30)
        assert msgpack.unpackb(samples.recv(10_000))["format"] == 1
        stopping.send(bytes([signal.SIGTERM]))
        thread.join()
    received.latest()
    assert received.fds == []
    received.close()
    outlet.close()
