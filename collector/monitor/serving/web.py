"""Answers `GET /metrics`. Who asks may be a stranger: what a request holds, takes and how many there are is bounded."""

from __future__ import annotations

import contextlib
import hmac
import io
import socket
import socketserver
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Final

from collector.monitor.serving.render import Page

PATH: Final = "/metrics"
MOST_CONNECTIONS: Final = 8
"""Answered at a time; one more is closed unanswered."""
MOST_REQUEST_BYTES: Final = 16 << 10
"""Of request line and headers."""
LONGEST_S: Final = 10.0
"""From the first byte of a connection, TLS included, to the last one of the answer."""

Make = Callable[[str], Page]
"""Makes the page for an `Accept` header."""


class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """Listens on *address* and answers in threads. Raises OSError.

    *token*: what a request has to carry as `Authorization: Bearer TOKEN`; empty: nothing.
    """

    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    timeout = 0
    request_queue_size = 2 * MOST_CONNECTIONS

    def __init__(
        self, address: tuple[str, int], make: Make, *, token: str = "", tls: ssl.SSLContext | None = None
    ) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self.make = make
        self.token = token.encode()
        self._tls = tls
        self._free = threading.BoundedSemaphore(MOST_CONNECTIONS)
        super().__init__(address, _Request)
        self.socket.setblocking(False)

    def answer_next(self) -> None:
        """Take a connection if one has come, and have it answered; never waits."""
        self.handle_request()

    def verify_request(self, request: object, client_address: object) -> bool:  # noqa: ARG002  # the interface's
        """As socketserver says: whether there is room for one more."""
        return self._free.acquire(blocking=False)

    def process_request_thread(self, request: socket.socket, client_address: object) -> None:  # type: ignore[override]  # TCP
        """As socketserver says: answer a connection, within LONGEST_S."""
        end = threading.Timer(LONGEST_S, _cut, (request,))
        end.daemon = True
        end.start()
        try:
            request.settimeout(LONGEST_S)
            with self._wrapped(request) as stream:
                _Request(stream, client_address, self)
        except OSError:
            return  # who asked has gone, took too long, or does not speak TLS
        finally:
            end.cancel()
            self._free.release()
            self.shutdown_request(request)

    def _wrapped(self, request: socket.socket) -> socket.socket:
        if self._tls is None:
            return request.dup()
        return self._tls.wrap_socket(request.dup(), server_side=True)


class _Request(BaseHTTPRequestHandler):
    server: Server
    server_version = "querytap"
    sys_version = ""

    def setup(self) -> None:
        super().setup()
        self.rfile = _Bounded(self.rfile)

    def do_GET(self) -> None:  # the name is the interface's
        if not self._may():
            self._answer(401, Page("text/plain", b"a token is needed\n"), ("WWW-Authenticate", "Bearer"))
        elif self.path.partition("?")[0] != PATH:
            self._answer(404, Page("text/plain", f"there is {PATH} alone\n".encode()))
        else:
            self._answer(200, self.server.make(self.headers.get("Accept", "")))

    def log_message(self, *_: object) -> None:
        """What strangers ask for is not worth a log's space."""

    def _may(self) -> bool:
        token = self.server.token
        kind, _, given = self.headers.get("Authorization", "").partition(" ")
        return not token or (kind.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), token))

    def _answer(self, status: int, page: Page, *headers: tuple[str, str]) -> None:
        self.send_response(status)
        for name, value in (*headers, ("Content-Type", page.content_type), ("Content-Length", str(len(page.body)))):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(page.body)


class _Bounded(io.BufferedIOBase):
    """A request, which ends after MOST_REQUEST_BYTES."""

    def __init__(self, under: io.BufferedIOBase) -> None:
        self._under = under
        self._left = MOST_REQUEST_BYTES

    def readline(self, size: int | None = -1) -> bytes:
        wanted = self._left if size is None or size < 0 else min(size, self._left)
        line = self._under.readline(wanted)
        self._left -= len(line)
        if self._left <= 0:
            raise ConnectionAbortedError("a request that is too long")
        return line

    def close(self) -> None:
        self._under.close()


def _cut(request: socket.socket) -> None:
    with contextlib.suppress(OSError):
        request.shutdown(socket.SHUT_RDWR)
