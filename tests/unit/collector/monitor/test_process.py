from __future__ import annotations

import socket

import msgpack

from collector.monitor.process import send


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
