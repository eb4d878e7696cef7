"""A real S3 server for the tests, moto's, and a way to it on which things go wrong."""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import hmac
import http.client
import os
import re
import select
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.parse
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Self

ACCESS_KEY: Final = "test-access"
SECRET_KEY: Final = "test-secret"
REGION: Final = "us-east-1"
BUCKET: Final = "archive"

_KEEP_A_DAY: Final = (
    b'<ObjectLockConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
    b"<ObjectLockEnabled>Enabled</ObjectLockEnabled><Rule><DefaultRetention><Mode>COMPLIANCE</Mode><Days>1</Days>"
    b"</DefaultRetention></Rule></ObjectLockConfiguration>"
)


class Server:
    """An S3 server on a port of this host, which knows ACCESS_KEY and has BUCKET."""

    def __init__(self, port: int = 0, trust: ssl.SSLContext | None = None) -> None:
        self.port = port
        self._trust = trust

    @property
    def endpoint(self) -> str:
        """Its URL."""
        return f"http{'s' if self._trust else ''}://127.0.0.1:{self.port}"

    def request(
        self, method: str, path: str, body: bytes = b"", service: str = "s3", more: Mapping[str, str] | None = None
    ) -> bytes:
        """An answer to a signed request, with *more* headers; its body. A query has names with values, in order."""
        headers = signed(method, path, body, service, {"host": f"127.0.0.1:{self.port}", **(more or {})})
        with contextlib.closing(self._connection()) as connection:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            body = answer.read()
        assert answer.status < 300, body
        return body

    def make_locked(self, bucket: str) -> None:
        """Make a bucket that keeps each object for a day (S3 Object Lock)."""
        self.request("PUT", f"/{bucket}", more={"x-amz-bucket-object-lock-enabled": "true"})
        self.request("PUT", f"/{bucket}?object-lock=", _KEEP_A_DAY)

    def names(self) -> list[str]:
        """Of all objects in the bucket."""
        return list(self.sizes())

    def sizes(self) -> dict[str, int]:
        """Bytes of each object in the bucket, by name."""
        listed = self.request("GET", f"/{BUCKET}").decode()
        assert "<IsTruncated>true" not in listed
        found = zip(re.findall(r"<Key>([^<]+)", listed), re.findall(r"<Size>(\d+)", listed), strict=True)
        return {name: int(size) for name, size in found}

    def _connection(self) -> http.client.HTTPConnection:
        if self._trust is None:
            return http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=30, context=self._trust)


class Moto(Server):
    """moto's S3 server in a process of its own, with an empty bucket. What it holds is lost with it.

    *identity* are certificate and key: it speaks TLS then.
    """

    def __init__(
        self, folder: Path, *, port: int = 0, bucket: bool = True, identity: tuple[Path, Path] | None = None
    ) -> None:
        super().__init__(trust=identity and ssl.create_default_context(cafile=str(identity[0])))
        self._folder = folder
        self._identity = identity
        self._wanted = port
        self._with_bucket = bucket

    def __enter__(self) -> Self:
        log = (self._folder / "moto.log").open("wb")
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self._wanted)]
        if self._identity is not None:
            command += ["-s", "-c", str(self._identity[0]), "-k", str(self._identity[1])]
        # A process group of its own; interpreted or compiled is none of its business.
        self._process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        log.close()
        self.port = self._find_port()
        if self._with_bucket:
            self.request("PUT", f"/{BUCKET}")
        return self

    def __exit__(self, *error: object) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def stall(self) -> None:
        """Let it answer nobody, though connections to it are made."""
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Let it answer again."""
        self._process.send_signal(signal.SIGCONT)

    def demand_credentials(self) -> tuple[str, str]:
        """Let no other request pass from here on than those with this key and secret."""
        may = '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}'
        for action in ("CreateUser", "PutUserPolicy", "CreateAccessKey"):
            form = {"Action": action, "UserName": "querytap", "PolicyName": "may", "PolicyDocument": may}
            answer = self.request("POST", "/", urllib.parse.urlencode(form).encode(), "iam").decode()
        self.request("POST", "/moto-api/reset-auth", b"0")
        key, secret = (re.findall(rf"<{name}>([^<]+)</{name}>", answer) for name in ("AccessKeyId", "SecretAccessKey"))
        return key[0], secret[0]

    def _find_port(self) -> int:
        """Flask says on which port it listens."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and self._process.poll() is None:
            told = re.search(r"Running on https?://127\.0\.0\.1:(\d+)", (self._folder / "moto.log").read_text())
            if told:
                return int(told[1])
            time.sleep(0.1)
        raise RuntimeError((self._folder / "moto.log").read_text())


def environment(endpoint: str) -> dict[str, str]:
    """What reading commands need to reach the store at *endpoint*."""
    return {
        **os.environ,
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
        "AWS_REGION": REGION,
        "NO_PROXY": "127.0.0.1",
    }


def signed(method: str, path: str, body: bytes, service: str, headers: Mapping[str, str]) -> dict[str, str]:
    """The headers of a request, with those that sign it by AWS's Signature Version 4."""
    now = dt.datetime.now(dt.UTC)
    moment, day = now.strftime("%Y%m%dT%H%M%SZ"), now.strftime("%Y%m%d")
    content = hashlib.sha256(body).hexdigest()
    headers = dict(sorted({**headers, "x-amz-content-sha256": content, "x-amz-date": moment}.items()))
    names = ";".join(headers)
    path, _, query = path.partition("?")
    told = [f"{name}:{value}" for name, value in headers.items()]
    canonical = "\n".join([method, path, query, *told, "", names, content])
    scope = f"{day}/{REGION}/{service}/aws4_request"
    to_sign = "\n".join(["AWS4-HMAC-SHA256", moment, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = f"AWS4{SECRET_KEY}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.new(key, to_sign.encode(), "sha256").hexdigest()
    credential = f"Credential={ACCESS_KEY}/{scope}, SignedHeaders={names}, Signature={signature}"
    form = {"Content-Type": "application/x-www-form-urlencoded"} if service == "iam" else {}
    return {**headers, **form, "Authorization": f"AWS4-HMAC-SHA256 {credential}"}


_ANSWERS: Final = {
    "503": (b"503 Slow Down", b"SlowDown"),
    "501": (b"501 Not Implemented", b"NotImplemented"),  # as OpenStack Swift's S3 interface answers If-None-Match
}


class Way:
    """A proxy to a store, one connection a request. *trouble* says what happens to those that come from now on.

    "": nothing. "503", "501": answered so, and not passed on. "slow": passed on seconds later, and not answered. "cut":
    broken off in the middle of what is sent. "lost": passed on and done; the answer is lost. "refused": broken off at
    once.
    *listening* is where clients come to, else a socket on the loopback.
    """

    def __init__(self, port: int, listening: socket.socket | None = None) -> None:
        self._to = port
        self._listening = listening or socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.trouble = ""
        self.hurt = 0
        """How many requests something happened to."""
        self.sent_bytes = 0
        """Of what was put, without heads, whatever became of it."""
        self.answered_bytes = 0
        """Of all answers, heads included."""
        self._closing = threading.Event()
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, *error: object) -> None:
        self._closing.set()
        for thread in self._threads:
            thread.join()
        self._listening.close()

    @property
    def endpoint(self) -> str:
        """Its URL."""
        return f"http://127.0.0.1:{self.port}"

    def _start(self, target: object, *arguments: object) -> None:
        thread = threading.Thread(target=target, args=arguments)  # type: ignore[arg-type]
        thread.start()
        self._threads.append(thread)

    def _accept(self) -> None:
        while not self._closing.is_set():
            if select.select([self._listening], [], [], 0.05)[0]:
                self._start(self._serve, self._listening.accept()[0])

    def _serve(self, client: socket.socket) -> None:
        trouble = self.trouble
        self.hurt += bool(trouble)
        with client:
            client.settimeout(30)
            if trouble == "refused":
                return
            request = _whole_request(client, half=trouble == "cut")
            if request.startswith(b"PUT "):
                self.sent_bytes += len(request.partition(b"\r\n\r\n")[2])
            if trouble == "cut" or not request:
                return
            if trouble in _ANSWERS:
                status, code = _ANSWERS[trouble]
                body = b"<Error><Code>%s</Code></Error>" % code
                client.sendall(_head(status, len(body)) + body)
                return
            if trouble == "slow":
                self._closing.wait(3)
            answer = self._answer(request)
            self.answered_bytes += len(answer)
            if trouble not in {"lost", "slow"}:
                client.sendall(answer)

    def _answer(self, request: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", self._to), timeout=30) as server:
            server.sendall(re.sub(rb"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", request, count=1))
            found = b""
            while part := server.recv(65536):
                found += part
        return re.sub(rb"(?i)\r\nconnection: [^\r]*", b"", found, count=1).replace(
            b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1
        )


def _head(status: bytes, length: int) -> bytes:
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % (status, length)


def _whole_request(client: socket.socket, *, half: bool) -> bytes:
    found = b""
    while b"\r\n\r\n" not in found:
        part = client.recv(65536)
        if not part:
            return b""
        found += part
    head, _, body = found.partition(b"\r\n\r\n")
    told = re.search(rb"(?i)content-length: (\d+)", head)
    length = int(told[1]) if told else 0
    while len(body) < (length // 2 if half else length):
        body += client.recv(65536)
    return head + b"\r\n\r\n" + body
