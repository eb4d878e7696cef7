from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from collector.monitor.database import session
from collector.monitor.database.credentials import Credentials
from collector.monitor.database.session import DownError, Session

pytestmark = pytest.mark.either_build

NOBODY = Credentials("nobody", "x")


def why(address: str) -> str:
    made = Session(address)
    with pytest.raises(DownError) as error:
        made.begin(NOBODY)
    made.close()
    return error.value.reason


def test_a_port_that_nobody_listens_on_refuses() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        assert why(f"127.0.0.1:{probe.getsockname()[1]}") == "refused"


def test_a_unix_socket_that_is_not_there_is_absent(tmp_path: Path) -> None:
    assert why(str(tmp_path / "mysqld.sock")) == "absent"


def test_who_accepts_and_says_nothing_is_given_up_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "CONNECT_S", 1)
    monkeypatch.setattr(session, "ANSWER_S", 1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert why(f"127.0.0.1:{silent.getsockname()[1]}") == "timeout"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (b"", "lost"),
        (b"\x17\x00\x00\x00\xff\x10\x04Too many connections", "full"),
        (b"\x16\x00\x00\x00\xff\x6a\x04Host is not allowed", "denied"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "protocol"),
        (b"\x01\x00\x00\x00\x0a", "protocol"),
        (b"\xff" * 64, "protocol"),
    ],
)
def test_what_a_server_or_a_stranger_says_in_place_of_a_greeting_is_a_reason(said: bytes, reason: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.sendall(said)

        thread = threading.Thread(target=answer)
        thread.start()
        found = why(f"127.0.0.1:{listening.getsockname()[1]}")
        thread.join()
    assert found == reason
