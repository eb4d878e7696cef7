from __future__ import annotations

import socket
from pathlib import Path

from collector.aggregator.inlet import Inlet
from collector.outlet import Listening


def test_a_connection_that_was_given_ends_for_good() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    inlet = Inlet(100, fd=ours.detach())
    assert (inlet.lasting, inlet.take()) == (False, None)
    with theirs:
        theirs.send(b"record")
    assert [inlet.take(), inlet.take()] == [b"record", b""]
    inlet.close()
    assert (inlet.fd, inlet.connect(), inlet.take()) == (-1, False, None)


def test_one_that_is_made_by_path_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "records.sock"
    inlet = Inlet(100, path=path)
    assert (inlet.lasting, inlet.connect(), inlet.fd) == (True, False, -1)
    for _ in range(2):
        outlet = Listening(path)
        assert inlet.connect()
        assert not inlet.connect()
        assert outlet.send(b"record")
        outlet.close()
        assert [inlet.take(), inlet.take()] == [b"record", b""]
        inlet.close()


def test_a_record_that_is_longer_than_it_may_be_shows_as_one_that_is_cut() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    inlet = Inlet(3, fd=ours.detach())
    with theirs:
        theirs.send(b"record")
        assert inlet.take() == b"rec"
    inlet.close()
