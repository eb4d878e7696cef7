from __future__ import annotations

import contextlib
import http.client
import select
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from collector.monitor.serving import web
from collector.monitor.serving.render import Page
from collector.monitor.serving.web import Server
from tests.support import certificates

pytestmark = pytest.mark.either_build

TIMEOUT_S = 30


@contextmanager
def serving(token: str = "", tls: ssl.SSLContext | None = None) -> Iterator[tuple[str, int]]:
    """A server that answers, on a port of its own."""
    server = Server(("127.0.0.1", 0), lambda accept: Page("text/x", accept.encode()), token=token, tls=tls)
    over, ending = socket.socketpair()
    host, port = server.server_address[:2]

    def answer() -> None:
        while over.fileno() not in select.select([server.fileno(), over.fileno()], [], [])[0]:
            server.answer_next()

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        yield str(host), port
    finally:
        ending.send(b"x")
        thread.join()
        server.server_close()
        over.close()
        ending.close()


def asked(address: tuple[str, int], path: str = web.PATH, **headers: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(*address, timeout=TIMEOUT_S)
    connection.request("GET", path, headers=headers)
    response = connection.getresponse()
    try:
        return response.status, response.read()
    finally:
        connection.close()


def test_the_page_is_made_for_who_asks() -> None:
    with serving() as address:
        assert asked(address, Accept="this") == (200, b"this")
        assert asked(address, "/metrics?a=b", Accept="that") == (200, b"that")


def test_there_is_nothing_else() -> None:
    with serving() as address:
        assert asked(address, "/")[0] == 404
        assert asked(address, "/metrics/../etc/passwd")[0] == 404


def test_with_a_token_nobody_is_answered_without_it() -> None:
    with serving(token="s3cret") as address:
        assert asked(address)[0] == 401
        assert asked(address, Authorization="Bearer other")[0] == 401
        assert asked(address, Authorization="Basic s3cret")[0] == 401
        assert asked(address, Authorization="Bearer \xe9")[0] == 401
        assert asked(address, Authorization="Bearer s3cret", Accept="x") == (200, b"x")


def test_with_a_certificate_it_speaks_tls_and_nothing_else(tmp_path: Path) -> None:
    certificate, key = certificates.write(tmp_path)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    trusting = ssl.create_default_context(cafile=str(certificate))
    with serving(tls=tls) as address:
        connection = http.client.HTTPSConnection(*address, timeout=TIMEOUT_S, context=trusting)
        connection.request("GET", web.PATH, headers={"Accept": "sealed"})
        assert connection.getresponse().read() == b"sealed"
        connection.close()
        with pytest.raises((http.client.HTTPException, OSError)):
            asked(address)


def test_a_request_that_does_not_end_is_cut_off_by_its_size() -> None:
    with serving() as address, socket.create_connection(address, TIMEOUT_S) as connection:
        connection.sendall(b"GET /metrics HTTP/1.0\r\n" + (b"X-Filler: " + b"x" * 1000 + b"\r\n") * 20)
        with contextlib.suppress(ConnectionResetError):  # there may be more on its way
            assert connection.recv(1) == b""


def test_who_says_nothing_is_cut_off_by_the_time_and_then_others_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "LONGEST_S", 0.5)
    with serving() as address:
        silent = [socket.create_connection(address, TIMEOUT_S) for _ in range(web.MOST_CONNECTIONS)]
        try:
            assert [connection.recv(1) for connection in silent] == [b""] * len(silent)
            assert asked(address, Accept="x") == (200, b"x")
        finally:
            for connection in silent:
                connection.close()


def test_one_connection_more_than_are_answered_at_a_time_is_closed() -> None:
    with serving() as address:
        silent = [socket.create_connection(address, TIMEOUT_S) for _ in range(web.MOST_CONNECTIONS)]
        try:
            with socket.create_connection(address, TIMEOUT_S) as one_more:
                assert one_more.recv(1) == b""
        finally:
            for connection in silent:
                connection.close()
