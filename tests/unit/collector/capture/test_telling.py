from __future__ import annotations

import contextlib
import socket

import pytest

from collector.capture.telling import MOST_BYTES, State, SupervisorTeller, teller_over, unpack

STATE = State(ready=True, waiting="a server", ports=(3306, 33060), notes=("in some way",), warnings=("mind this",))


def test_a_state_comes_back_as_it_was_packed() -> None:
    assert unpack(STATE.pack()) == STATE
    assert unpack(State().pack()) == State()


def test_however_much_there_is_to_warn_of_it_fits_a_message() -> None:
    packed = State(warnings=("x" * 10_000,) * 100, notes=("x" * 10_000,) * 100, waiting="y").pack()
    assert len(packed) <= MOST_BYTES
    assert unpack(packed).waiting == "y"


@pytest.mark.parametrize(
    "message", [b"", b"ready", b"[]", b"{}", b'{"ready":1,"waiting":"","ports":[""],"warnings":[]}']
)
def test_what_is_no_state_is_refused(message: bytes) -> None:
    with pytest.raises(ValueError, match="not a state of capture"):
        unpack(message)


def test_a_state_is_told_when_it_changes_and_only_then() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    teller = SupervisorTeller(ours.detach())
    with theirs:
        teller.tell(ready=True)
        teller.tell(ready=True)
        teller.tell(ports=(1,))
        assert unpack(theirs.recv(MOST_BYTES)) == State(ready=True)
        assert unpack(theirs.recv(MOST_BYTES)) == State(ready=True, ports=(1,))
        theirs.setblocking(False)
        with pytest.raises(BlockingIOError):
            theirs.recv(MOST_BYTES)
    teller.close()


def drain(receiving: socket.socket) -> None:
    with contextlib.suppress(BlockingIOError):
        while True:
            receiving.recv(MOST_BYTES)


def test_a_supervisor_that_does_not_listen_is_told_later_and_not_waited_for() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    teller = SupervisorTeller(ours.detach())
    for number in range(10_000):
        teller.tell(waiting=str(number))
    theirs.setblocking(False)
    drain(theirs)
    teller.tell()
    assert unpack(theirs.recv(MOST_BYTES)).waiting == "9999"
    theirs.close()
    teller.tell(waiting="nobody")
    teller.close()


def test_without_a_supervisor_nothing_is_told() -> None:
    nobody = teller_over(-1)
    nobody.tell(ready=True)
    assert nobody.state == State(ready=True)
    nobody.close()
