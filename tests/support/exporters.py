"""Debian's prometheus-mysqld-exporter and prometheus-node-exporter, fetched once. May raise debian.UnavailableError."""

from __future__ import annotations

import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from tests.support import debian, patience, processes
from tests.support.servers import free_port

_PACKAGES = ("prometheus-mysqld-exporter", "prometheus-node-exporter")
Running = AbstractContextManager[tuple[int, str]]

_WAIT_S = patience.seconds(30)
_MORE = (
    "info_schema.processlist", "info_schema.processlist.processes_by_user", "info_schema.innodb_metrics",
    "info_schema.tables", "binlog_size",
)  # fmt: skip
"""What the exporter of mysqld reads only when it is told to, and querytap always."""


def of_mysqld(folder: Path, port: int, user: str, password: str) -> Running:
    """The exporter of a server on this host: its process and URL. Its option file is put into *folder*."""
    options = folder / "exporter.cnf"
    options.write_text(f"[client]\nhost=127.0.0.1\nport={port}\nuser={user}\npassword={password}\n", encoding="utf-8")
    return _running(
        "prometheus-mysqld-exporter", [f"--config.my-cnf={options}", *(f"--collect.{name}" for name in _MORE)]
    )


def of_node() -> Running:
    """The exporter of this host: the same."""
    return _running("prometheus-node-exporter", [])


@contextmanager
def _running(name: str, arguments: Sequence[str]) -> Iterator[tuple[int, str]]:
    program = debian.once("exporters", _fetch) / "usr" / "bin" / name
    address = f"127.0.0.1:{free_port()}"
    process = subprocess.Popen(
        [program, f"--web.listen-address={address}", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _wait(f"http://{address}/metrics", process)
        yield process.pid, f"http://{address}/metrics"
    finally:
        processes.stop(process, 5)


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _WAIT_S
    while True:
        try:
            urllib.request.urlopen(url, timeout=_WAIT_S).close()  # noqa: S310  # it is http
        except urllib.error.URLError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return


def _fetch(folder: Path) -> None:
    with debian.apt("bookworm") as apt, tempfile.TemporaryDirectory(prefix="querytap-debs-") as downloads:
        debian.unpack(apt.alone(_PACKAGES, Path(downloads)), folder)
