"""Packages of any suite of Debian, by an apt with folders of its own: fetched once, unpacked, nothing installed.

What cannot be had raises UnavailableError: unstable is no consistent set of packages every day, and a host may be
offline.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.support import processes

FOLDER = Path(os.environ.get("QUERYTAP_TEST_SERVERS", processes.ROOT / "build" / "servers"))
"""What was fetched stays here."""
KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_FETCH_TIMEOUT_S = 900


class UnavailableError(Exception):
    """It cannot be had on this host; says why."""


class Apt:
    """One suite, as the host's mirror has it. Raises UnavailableError, as all its methods do."""

    def __init__(self, suite: str, folder: Path) -> None:
        for each in ("etc/apt.conf.d", "etc/preferences.d", "state/lists/partial", "cache/archives/partial"):
            (folder / each).mkdir(parents=True)
        signed = f"[signed-by={KEYS}] " if KEYS.exists() else ""
        (folder / "etc" / "sources.list").write_text(f"deb {signed}{mirror()} {suite} main\n", encoding="utf-8")
        (folder / "status").touch()
        self._archives = folder / "cache" / "archives"
        self._options = [
            "-o", f"Dir::Etc={folder / 'etc'}", "-o", f"Dir::State={folder / 'state'}", "-o",
            f"Dir::State::status={folder / 'status'}", "-o", f"Dir::Cache={folder / 'cache'}", "-o",
            "Debug::NoLocking=1", "-o", "Acquire::Languages=none", "-o", "Acquire::Check-Valid-Until=false", "-o",
            "Acquire::Check-Date=false", "-o", "APT::Sandbox::User=root", "-o", "APT::Install-Recommends=false",
        ]  # fmt: skip
        run(["apt-get", "-qq", *self._options, "update"])

    def with_dependencies(self, packages: Sequence[str]) -> list[Path]:
        """The files of *packages* and all they depend on, as for a host that has none of them."""
        run(["apt-get", "-qq", "-y", *self._options, "install", "--download-only", *packages])
        return sorted(self._archives.glob("*.deb"))

    def alone(self, packages: Sequence[str], folder: Path) -> list[Path]:
        """The files of *packages* without any other, in *folder*."""
        run(["apt-get", "-qq", *self._options, "download", *packages], folder)
        return sorted(folder.glob("*.deb"))

    def depends(self, package: str) -> list[str]:
        """The packages that *package* depends on itself."""
        told = run(["apt-cache", *self._options, "depends", "--important", package])
        return re.findall(r"Depends: ([^<\s]+)", told)


@contextmanager
def apt(suite: str) -> Iterator[Apt]:
    """An apt whose folders go at the end."""
    with tempfile.TemporaryDirectory(prefix="querytap-apt-") as folder:
        yield Apt(suite, Path(folder))


def unpack(packages: Sequence[Path], folder: Path) -> None:
    """Unpack the files of packages, without any script of theirs."""
    for package in packages:
        run(["dpkg-deb", "-x", str(package), str(folder)])


def mirror() -> str:
    """Where this host gets its packages from. Raises UnavailableError."""
    lists = Path("/etc/apt")
    files = [*lists.glob("sources.list.d/*.sources"), lists / "sources.list", *lists.glob("sources.list.d/*.list")]
    for file in files:
        text = file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""
        found = re.search(r"^(?:URIs:\s*|deb\s+(?:\[.*?\]\s*)?)(\S+)", text, re.MULTILINE)
        if found:
            return found[1]
    raise UnavailableError("this host has no apt sources")


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


def run(command: Sequence[str], folder: Path | None = None) -> str:
    """Run what fetches something; what it printed. Raises UnavailableError when it fails."""
    try:
        return processes.run(command, _FETCH_TIMEOUT_S, folder).stdout.decode(errors="replace")
    except (OSError, AssertionError, subprocess.TimeoutExpired) as error:
        raise UnavailableError(f"{command[0]}: {str(error)[-400:]}") from error
