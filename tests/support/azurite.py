"""Azurite, Microsoft's own server that speaks as Azure Blob Storage does: a process on this host, out of npm's package.

What it holds is lost with it. May raise debian.UnavailableError.
"""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import hmac
import http
import http.client
import shutil
import signal
import ssl
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Self

from tests.support import certificates, debian, patience
from tests.support.servers import free_port

CONTAINER: Final = "archive"
_ACCOUNT: Final = "devstoreaccount1"
# Documented for everybody: https://learn.microsoft.com/azure/storage/common/storage-use-azurite
_KEY: Final = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
_VERSION: Final = "2021-12-02"
_START_TIMEOUT_S: Final = patience.seconds(60)


class Azurite:
    """A server with an empty container, over TLS. It runs when the constructor returns, and ends with the context."""

    def __init__(self, folder: Path) -> None:
        program = debian.once("azurite", _fetch) / "node_modules" / ".bin" / "azurite-blob"
        self.port = free_port()
        self._certificate, private = certificates.write(folder)
        self._trust = ssl.create_default_context(cafile=str(self._certificate))
        self._credentials = folder / "credentials"
        self._credentials.write_text(
            f"azure_storage_account_name = {_ACCOUNT}\nazure_storage_account_key = {_KEY}\n", encoding="utf-8"
        )
        options = ["--inMemoryPersistence", "--disableTelemetry", "--silent", "--skipApiVersionCheck"]
        where = ["--blobHost", "127.0.0.1", "--blobPort", str(self.port)]
        command = [str(program), *options, *where, "--cert", str(self._certificate), "--key", str(private)]
        with (folder / "azurite.log").open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
        try:
            self._wait()
            self._make_container()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End it."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def store(self, folder: str, container: str = CONTAINER) -> dict[str, str]:
        """The section [store] of a configuration for a folder in the container."""
        return {
            "url": f"az://{container}/{folder}",
            "endpoint": f"https://127.0.0.1:{self.port}/{_ACCOUNT}",
            "ca_file": str(self._certificate),
            "credentials_file": str(self._credentials),
        }

    def _make_container(self) -> None:
        """https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key."""
        date = dt.datetime.now(dt.UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")
        headers = f"x-ms-date:{date}\nx-ms-version:{_VERSION}\n"
        resource = f"/{_ACCOUNT}/{_ACCOUNT}/{CONTAINER}\nrestype:container"
        to_sign = "PUT" + "\n" * 12 + headers + resource
        signature = base64.b64encode(hmac.digest(base64.b64decode(_KEY), to_sign.encode(), hashlib.sha256)).decode()
        signed = {"x-ms-date": date, "x-ms-version": _VERSION, "Authorization": f"SharedKey {_ACCOUNT}:{signature}"}
        status, told = self._request("PUT", f"/{_ACCOUNT}/{CONTAINER}?restype=container", signed)
        assert status == http.HTTPStatus.CREATED, told

    def _request(self, method: str, path: str, headers: Mapping[str, str]) -> tuple[int, bytes]:
        """Status and body of the answer. Raises OSError."""
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=30, context=self._trust)
        try:
            connection.request(method, path, b"", dict(headers))
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def _wait(self) -> None:
        deadline = time.monotonic() + _START_TIMEOUT_S
        while time.monotonic() < deadline:
            assert self._process.poll() is None, "the server has ended"
            try:
                self._request("GET", "/", {})
            except OSError:
                time.sleep(0.1)
            else:
                return
        raise AssertionError("the server does not answer")


def _fetch(folder: Path) -> None:
    if shutil.which("npm") is None:
        raise debian.UnavailableError("there is no npm here")
    (folder / "package.json").write_text('{"private": true}\n', encoding="utf-8")
    debian.run(["npm", "install", "--omit=dev", "--no-audit", "--no-fund", "azurite"], folder)
