"""A private MySQL 9.7 with the X Plugin, out of Debian's unstable suite. May raise debian.UnavailableError."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Self

from tests.support import debian, processes
from tests.support.namespaces import Namespace
from tests.support.servers import free_port

USER = "app"
PASSWORD = "app secret"
CONNECTOR = "mysqlx-connector-python==26.10.0"

_PACKAGES = ("mysql-server-core", "mysql-client-core")
_START_TIMEOUT_S = 180
_INIT = f"CREATE USER IF NOT EXISTS {USER}@'%' IDENTIFIED BY '{PASSWORD}';\nGRANT ALL ON *.* TO {USER}@'%';\n"


def packages() -> Path:
    """The root of the unpacked server. Raises UnavailableError."""
    return debian.once("mysql97", _fetch_server)


def program(folder: str, name: str) -> list[str]:
    """A program of the unpacked ones, with its own loader and libraries, whatever the host has. May raise as above."""
    root = packages()
    loader = min(root.glob("usr/lib/*/ld-linux*.so*"))
    return [str(loader), "--library-path", str(loader.parent), str(root / "usr" / folder / name)]


def connector() -> Path:
    """A folder for sys.path with the `mysqlx` package, MySQL's own client. Raises UnavailableError."""
    return debian.once(f"mysqlx-client-{sys.version_info.major}{sys.version_info.minor}", _fetch_connector)


class MySQL97:
    """A running server in *namespace*; as a context manager it stops, and its folder goes. Raises UnavailableError."""

    def __init__(self, namespace: Namespace, options: tuple[str, ...] = ()) -> None:
        self._root = packages()
        self.folder = Path(tempfile.mkdtemp(prefix="querytap-mysql-", dir="/dev/shm" if _memory() else None))
        self.port = free_port()
        self.x_port = free_port()
        self.x_socket = self.folder / "x.socket"
        self.general_log = self.folder / "general.log"
        self.socket = self.folder / "socket"
        self._log = self.folder / "error.log"
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._initialise()
            self._start(namespace, options)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def stop(self) -> None:
        """Stop the server in order, its logs complete; the folder stays until close()."""
        if self._process is not None:
            processes.stop(self._process, 60)
            self._process = None

    def close(self) -> None:
        """Stop the server and remove its folder."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def client(self, statement: str) -> list[str]:
        """The command line of a client that runs *statement* over the classic protocol's socket."""
        return [
            *program("bin", "mysql"), "--no-defaults", f"--socket={self.socket}", "--user=root", "-e", statement
        ]  # fmt: skip

    def _initialise(self) -> None:
        (self.folder / "init.sql").write_text(_INIT, encoding="utf-8")
        if os.geteuid() == 0:
            shutil.chown(self.folder, "nobody")
        processes.run(self._command("--initialize-insecure"), _START_TIMEOUT_S)

    def _command(self, *options: str) -> list[str]:
        usr = self._root / "usr"
        return [
            *program("sbin", "mysqld"), "--no-defaults",
            f"--basedir={usr}", f"--lc-messages-dir={usr}/share/mysql", f"--plugin-dir={usr}/lib/mysql/plugin",
            f"--character-sets-dir={usr}/share/mysql/charsets", f"--datadir={self.folder / 'data'}",
            "--secure-file-priv=NULL", "--innodb-redo-log-capacity=64M", "--performance-schema=OFF",
            f"--user={'nobody' if os.geteuid() == 0 else 'root'}", f"--log-error={self._log}", *options,
        ]  # fmt: skip

    def _start(self, namespace: Namespace, options: tuple[str, ...]) -> None:
        command = self._command(
            f"--port={self.port}", "--bind-address=127.0.0.1", f"--socket={self.socket}",
            f"--pid-file={self.folder / 'pid'}", f"--mysqlx-port={self.x_port}",
            f"--mysqlx-socket={self.x_socket}", "--mysqlx-bind-address=127.0.0.1",
            "--general-log=1", f"--general-log-file={self.general_log}", "--log-output=FILE", "--skip-log-bin",
            f"--init-file={self.folder / 'init.sql'}", *options,
        )  # fmt: skip
        self._process = namespace.start(command, self.folder / "output.log")
        deadline = time.monotonic() + _START_TIMEOUT_S
        while b"ready for connections. Version" not in self._said():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"MySQL does not start:\n{self._said()[-3000:].decode(errors='replace')}")
            time.sleep(0.05)

    def _said(self) -> bytes:
        return self._log.read_bytes() if self._log.exists() else b""


def _memory() -> bool:
    return os.access("/dev/shm", os.W_OK)


def _fetch_server(folder: Path) -> None:
    with debian.apt("sid") as apt:
        debian.unpack(apt.with_dependencies(_PACKAGES), folder)
    if not (folder / "usr" / "sbin" / "mysqld").exists():
        raise debian.UnavailableError("Debian's mysql-server-core has no usr/sbin/mysqld")


def _fetch_connector(folder: Path) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder), CONNECTOR]
    debian.run([*command, "lz4", "zstandard"])
