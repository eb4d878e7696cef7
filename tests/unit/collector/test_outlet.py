from __future__ import annotations

import select
import socket
import stat
from pathlib import Path

from collector.outlet import Inherited, Listening


def connected(path: Path) -> socket.socket:
    reader = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    reader.connect(str(path))
    return reader


def test_a_message_stays_whole() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    outlet = Inherited(ours.detach())
    with theirs:
        assert outlet.send(b"one")
        assert outlet.send(b"two")
        assert [theirs.recv(100), theirs.recv(100)] == [b"one", b"two"]
    outlet.close()


def test_without_room_or_reader_a_message_is_left_out_and_nothing_blocks() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    outlet = Inherited(ours.detach())
    with theirs:
        sent = 0
        while outlet.send(b"x" * 1000):
            sent += 1
        assert sent > 1
    assert not outlet.send(b"")
    outlet.close()


def test_before_anybody_has_connected_nothing_is_sent_and_then_what_comes_from_there_on(tmp_path: Path) -> None:
    outlet = Listening(tmp_path / "records.sock")
    assert not outlet.send(b"before")
    with connected(tmp_path / "records.sock") as reader:
        assert outlet.send(b"after")
        assert reader.recv(100) == b"after"
    outlet.close()


def test_a_reader_that_starts_anew_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    outlet = Listening(tmp_path / "records.sock")
    with connected(tmp_path / "records.sock") as first:
        assert outlet.send(b"one")
        with connected(tmp_path / "records.sock") as second:
            assert outlet.send(b"two")
            assert (first.recv(100), first.recv(100), second.recv(100)) == (b"one", b"", b"two")
        assert not outlet.send(b"three")
    outlet.close()


def test_what_was_left_in_its_place_is_replaced_and_others_than_owner_and_group_may_not_connect(tmp_path: Path) -> None:
    for _ in range(2):
        Listening(tmp_path / "records.sock").close()
    assert stat.S_IMODE((tmp_path / "records.sock").stat().st_mode) == 0o660


def test_what_is_written_back_is_taken_and_wakes_who_waits(tmp_path: Path) -> None:
    outlet = Listening(tmp_path / "records.sock")
    with connected(tmp_path / "records.sock") as reader:
        assert select.select([outlet.fd], [], [], 5)[0], "somebody has come"
        assert outlet.send(b"hello")
        assert outlet.take() is None
        reader.send(b"order")
        assert select.select([outlet.fd], [], [], 5)[0]
        assert outlet.take() == b"order"
        assert outlet.take() is None
    assert outlet.take() is None
    assert not select.select([outlet.fd], [], [], 0)[0], "who has gone wakes nobody any more"
    outlet.close()


def test_the_end_of_a_pair_is_told_once() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    outlet = Inherited(ours.detach())
    theirs.send(b"order")
    assert outlet.take() == b"order"
    theirs.close()
    select.select([outlet.fd], [], [], 5)
    assert outlet.take() is None
    assert not select.select([outlet.fd], [], [], 0)[0]
    outlet.close()
