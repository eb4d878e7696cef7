"""Whether a valid configuration fits the host it is on; what does not is a warning, as it may come to be later."""

from __future__ import annotations

import pwd
import socket
import stat
from collections.abc import Callable, Collection
from pathlib import Path

from collector.config.errors import Problem
from collector.config.option import toml
from collector.config.schema import Config


def warnings_on_this_host(config: Config) -> list[Problem]:
    """What *config* names and this host does not have: users, interfaces, files with keys."""
    return warnings(
        config,
        users={entry.pw_name for entry in pwd.getpwall()},
        interfaces={name for _, name in socket.if_nameindex()},
        missing=_missing,
    )


def warnings(
    config: Config,
    *,
    users: Collection[str],
    interfaces: Collection[str],
    missing: Callable[[str], str | None],
) -> list[Problem]:
    """What *config* names that is not among *users* and *interfaces*, or a file of which *missing* says why."""
    found = []
    for name, user in (("user", config.process.user), ("worker_user", config.process.worker_user)):
        if user and user not in users:
            found.append(Problem(f"process.{name}", "there is no such user on this host", toml(user)))
    found += [
        Problem("capture.interfaces", f"this host has no interface {toml(name)} now")
        for name in config.capture.interfaces
        if name not in interfaces
    ]
    for path in config.seal.recipients:
        reason = missing(path)
        if reason is not None:
            found.append(Problem("seal.recipients", f"{path} cannot be used: {reason}"))
    return found


def _missing(path: str) -> str | None:
    try:
        mode = Path(path).stat().st_mode
    except OSError as error:
        return error.strerror
    return None if stat.S_ISREG(mode) else "not a file"
