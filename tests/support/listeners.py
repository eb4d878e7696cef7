"""Who is told of alerts in tests: an HTTP server and a mail server that keep what they get."""

from __future__ import annotations

import http.server
import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def http_listener(*statuses: int) -> Iterator[tuple[str, list[Any]]]:
    """Its URL, and the JSON bodies that it got; *statuses* are its first answers, 200 all others."""
    got: list[Any] = []
    answers = list(statuses)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(answers.pop(0) if answers else 200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/hook", got
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def mail_listener() -> Iterator[tuple[str, list[str]]]:
    """Its address, and the messages that it took, by the least of SMTP (RFC 5321)."""
    got: list[str] = []

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(b"220 here\r\n")
            for line in self.rfile:
                word = line.split()[0].upper() if line.split() else b""
                if word == b"DATA":
                    self.wfile.write(b"354 go on\r\n")
                    got.append(b"".join(iter(self.rfile.readline, b".\r\n")).decode())
                self.wfile.write(b"221 bye\r\n" if word == b"QUIT" else b"250 well\r\n")
                if word == b"QUIT":
                    return

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}", got
        finally:
            server.shutdown()
            thread.join()
