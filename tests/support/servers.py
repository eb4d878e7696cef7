"""A private MariaDB: free port, throw-away data folder, general log in a file, nothing of the host's configuration."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Self

import pymysql

from tests.support import patience, processes
from tests.support.namespaces import Namespace

USER = "app"
PASSWORD = "app secret"
DATABASE = "app"
CLIENT = "10.9.0.2"
"""Address of a client on another host; those on this one come from loopback addresses."""
START_TIMEOUT_S = patience.seconds(60)

# One statement a line, as --init-file wants them. The server looks no names up, so each address has its own account.
_ACCOUNTS = "".join(
    f"CREATE USER IF NOT EXISTS {USER}@'{host}' IDENTIFIED BY '{PASSWORD}';\nGRANT ALL ON *.* TO {USER}@'{host}';\n"
    for host in ("127.0.0.1", "::1", "localhost", "%")
)
INIT = f"CREATE DATABASE IF NOT EXISTS {DATABASE};\n{_ACCOUNTS}"
"""What the server runs at its start."""


class MariaDB:
    """A running server in *namespace*; as a context manager it stops, and its folder goes.

    Connections over its Unix socket reach it from any namespace and are never captured: preparations use those.
    """

    def __init__(self, namespace: Namespace, options: tuple[str, ...] = (), port: int | None = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="querytap-mariadb-", dir=_memory_folder()))
        self.port = port or free_port()
        self.socket = self.folder / "socket"
        self.general_log = self.folder / "general.log"
        self._error_log = self.folder / "error.log"
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._install()
            self._start(namespace, options)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def connect(self) -> pymysql.Connection[pymysql.cursors.Cursor]:
        """A connection over the Unix socket."""
        return pymysql.connect(
            unix_socket=str(self.socket), user=USER, password=PASSWORD, database=DATABASE, autocommit=True
        )

    def execute(self, *statements: str) -> None:
        """Run statements over the Unix socket."""
        with self.connect() as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def stop(self) -> None:
        """Stop the server in order, its logs complete; the folder stays until close()."""
        if self._process is not None:
            processes.stop(self._process, 30)
            self._process = None

    def start_again(self, namespace: Namespace, port: int) -> None:
        """Start the stopped server on another port."""
        self.port = port
        self._start(namespace, ())

    def close(self) -> None:
        """Stop the server and remove its folder."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _install(self) -> None:
        (self.folder / "init.sql").write_text(INIT, encoding="utf-8")
        owner = _owner()
        if owner:
            shutil.chown(self.folder, owner)
        processes.run(["cp", "-a", str(_installed() / "data"), str(self.folder)])

    def _start(self, namespace: Namespace, options: tuple[str, ...]) -> None:
        command = [
            _program("mariadbd", "mysqld"), "--no-defaults", f"--datadir={self.folder / 'data'}",
            f"--port={self.port}", "--bind-address=*", f"--socket={self.socket}",
            f"--pid-file={self.folder / 'pid'}", f"--log-error={self._error_log}",
            "--general-log=1", f"--general-log-file={self.general_log}", "--log-output=FILE",
            f"--init-file={self.folder / 'init.sql'}", "--skip-name-resolve", "--max-connections=300",
            "--max-allowed-packet=64M", "--innodb-log-file-size=32M", "--innodb-flush-log-at-trx-commit=0",
            f"--user={_owner() or 'root'}", *options,
        ]  # fmt: skip
        self._process = namespace.start(command, self.folder / "output.log")
        deadline = time.monotonic() + START_TIMEOUT_S
        while not _accepts(self.socket):  # which it does only after it has run the --init-file
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"MariaDB does not start:\n{self._complaint()}")
            time.sleep(0.05)

    def _complaint(self) -> str:
        files = (self._error_log, self.folder / "output.log")
        return "\n".join(file.read_text(errors="replace")[-3000:] for file in files if file.exists())


@functools.cache
def _installed() -> Path:
    """A folder with the data of a server that never ran, for all that this process starts; it goes when that ends."""
    folder = Path(tempfile.mkdtemp(prefix="querytap-mariadb-", dir=_memory_folder()))
    atexit.register(_remove, folder, os.getpid())
    owner = _owner()
    if owner:
        shutil.chown(folder, owner)
    processes.run([
        _program("mariadb-install-db", "mysql_install_db"), "--no-defaults", f"--datadir={folder / 'data'}",
        "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve",
        "--innodb-log-file-size=32M", *([f"--user={owner}"] if owner else []),
    ])  # fmt: skip
    return folder


def _remove(folder: Path, maker: int) -> None:
    if os.getpid() == maker:
        shutil.rmtree(folder, ignore_errors=True)


def free_port() -> int:
    """A TCP port of the loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _accepts(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0


def _memory_folder() -> str | None:
    """Where a data folder costs no disk writes; None: the default temporary folder."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def _owner() -> str | None:
    """Whose the data is and as whom the server runs; None: the caller's, who is called root in the namespace."""
    return "nobody" if os.geteuid() == 0 else None


def _program(*names: str) -> str:
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    for name in names:
        found = shutil.which(name, path=path)
        if found:
            return found
    raise RuntimeError(f"{names[0]} is not installed: packaging/build/debian-packages server")
