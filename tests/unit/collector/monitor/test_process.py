from __future__ import annotations

import json
import socket
import threading

import msgpack
import pytest

from collector.child import Changes
from collector.config import from_mapping
from collector.monitor.process import Monitor, send


def test_a_sample_is_one_message() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        assert send(ours, {"host": {"load": [1.0]}})
        assert msgpack.unpackb(theirs.recv(1000)) == {"host": {"load": [1.0]}}


def test_without_room_or_reader_a_sample_is_left_out_and_nothing_blocks() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setblocking(False)
    with ours, theirs:
        sent = 0
        while send(ours, {"text": "x" * 1000}):
            sent += 1
        assert sent > 1
        theirs.close()
        assert not send(ours, {})


def test_another_interval_is_taken_over_while_the_one_before_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    stop, stopping = socket.socketpair()
    monkeypatch.setattr("collector.child.signals", lambda _: stop)
    changes, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    samples, channel = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with stop, stopping, changes, samples, channel:
        config = from_mapping({"monitor": {"interval_s": 3600}})
        received = Changes(theirs.detach())
        thread = threading.Thread(target=Monitor(config, channel, received).run)
        thread.start()
        changes.send(json.dumps({"monitor": {"interval_s": 1}}).encode())
        samples.settimeout(30)
        assert msgpack.unpackb(samples.recv(10_000))["format"] == 1
        stopping.send(b"x")
        thread.join()
    received.latest()
    assert received.fds == []
    received.close()
