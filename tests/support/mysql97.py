"""A private MySQL 9.7 with the X Plugin, out of Debian's unstable suite: fetched once, unpacked, nothing installed.

What cannot be had raises UnavailableError: unstable is no consistent set of packages every day, and a host may be
offline.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

from tests.support import processes
from tests.support.namespaces import Namespace
from tests.support.servers import free_port

FOLDER = Path(os.environ.get("QUERYTAP_TEST_SERVERS", processes.ROOT / "build" / "servers"))
"""What was fetched stays here."""
USER = "app"
PASSWORD = "app secret"
CONNECTOR = "mysqlx-connector-python==26.10.0"

_SUITE = "sid"
_PACKAGES = ("mysql-server-core", "mysql-client-core")
_FETCH_TIMEOUT_S = 600
_START_TIMEOUT_S = 180
_INIT = f"CREATE USER IF NOT EXISTS {USER}@'%' IDENTIFIED BY '{PASSWORD}';\nGRANT ALL ON *.* TO {USER}@'%';\n"


class UnavailableError(Exception):
    """It cannot be had on this host; says why."""


def packages() -> Path:
    """The root of the unpacked server. Raises UnavailableError."""
    return once("mysql97", _fetch_server)


def program(folder: str, name: str) -> list[str]:
    """A program of the unpacked ones, with its own loader and libraries, whatever the host has. May raise as above."""
    root = packages()
    loader = min(root.glob("usr/lib/*/ld-linux*.so*"))
    return [str(loader), "--library-path", str(loader.parent), str(root / "usr" / folder / name)]


def connector() -> Path:
    """A folder for sys.path with the `mysqlx` package, MySQL's own client. Raises UnavailableError."""
    return once(f"mysqlx-client-{sys.version_info.major}{sys.version_info.minor}", _fetch_connector)


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


# --- fetching


def once(name: str, fetch: Callable[[Path], None]) -> Path:
    """The folder *name*, made by *fetch* unless it is there; processes that want it at the same time wait."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    ready = FOLDER / name
    with (FOLDER / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not ready.exists():
            work = Path(tempfile.mkdtemp(prefix=f"{name}.", dir=FOLDER))
            try:
                fetch(work)
                work.chmod(0o755)
                work.rename(ready)
            finally:
                shutil.rmtree(work, ignore_errors=True)
    return ready


def _fetch_server(folder: Path) -> None:
    """Packages and all they depend on, by an apt with folders of its own, for which nothing is installed yet."""
    apt = folder / "apt"
    for each in ("etc/apt.conf.d", "etc/preferences.d", "state/lists/partial", "cache/archives/partial"):
        (apt / each).mkdir(parents=True)
    keys = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
    signed = f"[signed-by={keys}] " if keys.exists() else ""
    (apt / "etc" / "sources.list").write_text(f"deb {signed}{_mirror()} {_SUITE} main\n", encoding="utf-8")
    (apt / "status").touch()
    options = [
        "-qq", "-y", "-o", f"Dir::Etc={apt / 'etc'}", "-o", f"Dir::State={apt / 'state'}", "-o",
        f"Dir::State::status={apt / 'status'}", "-o", f"Dir::Cache={apt / 'cache'}", "-o", "Debug::NoLocking=1", "-o",
        "Acquire::Languages=none", "-o", "Acquire::Check-Valid-Until=false", "-o", "Acquire::Check-Date=false", "-o",
        "APT::Sandbox::User=root", "-o", "APT::Install-Recommends=false",
    ]  # fmt: skip
    run(["apt-get", *options, "update"])
    run(["apt-get", *options, "install", "--download-only", *_PACKAGES])
    for package in sorted((apt / "cache" / "archives").glob("*.deb")):
        run(["dpkg-deb", "-x", str(package), str(folder)])
    shutil.rmtree(apt)
    if not (folder / "usr" / "sbin" / "mysqld").exists():
        raise UnavailableError("Debian's mysql-server-core has no usr/sbin/mysqld")


def _mirror() -> str:
    """Where this host gets its packages from."""
    lists = Path("/etc/apt")
    files = [*lists.glob("sources.list.d/*.sources"), lists / "sources.list", *lists.glob("sources.list.d/*.list")]
    for file in files:
        text = file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""
        found = re.search(r"^(?:URIs:\s*|deb\s+(?:\[.*?\]\s*)?)(\S+)", text, re.MULTILINE)
        if found:
            return found[1]
    raise UnavailableError("this host has no apt sources")


def _fetch_connector(folder: Path) -> None:
    run([sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder), CONNECTOR, "lz4", "zstandard"])


def run(command: list[str]) -> None:
    """Run what fetches something. Raises UnavailableError when it fails."""
    try:
        processes.run(command, _FETCH_TIMEOUT_S)
    except (OSError, AssertionError, subprocess.TimeoutExpired) as error:
        raise UnavailableError(f"{command[0]}: {str(error)[:300]}") from error
