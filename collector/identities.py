"""Who the processes run as: users by their names, and a pair of numbers where the users of the packages are missing."""

from __future__ import annotations

import grp
import os
import pwd
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from collector import privileges
from collector.config import StartError
from collector.privileges import Identity


@dataclass(frozen=True, slots=True)
class Role:
    """A part of the tree with a user of its own."""

    option: str
    """The option that names the user."""
    usual: str
    """The user that a package makes."""
    number: int
    """User and group where there is no such user."""


# Not in use by any distribution, nor given out by systemd, and in reach of containers with 16 bits of users
# (https://systemd.io/UIDS-GIDS/; Debian policy 9.2.2 reserves 65000 to 65533).
SERVICE: Final = Role("process.user", "querytap", 65530)
"""The aggregator and the monitor."""
WORKERS: Final = Role("process.worker_user", "querytap-worker", 65531)

_OWN_MODULES: Final = re.compile(rb"\0-m\0collector\.(?:aggregator|monitor|capture)\0")


def identity(wanted: str, role: Role) -> Identity:
    """The user *wanted*; where that is empty the usual one of *role*, or its number where no such user exists.

    Where this process may not become that user (it is not root, or in a user namespace that does not map the number),
    it is the present one. StartError when a user that was asked for does not exist, or when the number is taken.
    """
    try:
        entry = pwd.getpwnam(wanted or role.usual)
    except KeyError:
        if wanted:
            raise StartError(f'there is no user "{wanted}"', f"create it, or set {role.option}") from None
        return _by_number(role)
    found = Identity(entry.pw_uid, entry.pw_gid, entry.pw_name)
    return found if within_reach(found) else present()


def present() -> Identity:
    """Whom this process runs as."""
    uid = os.geteuid()
    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:
        name = str(uid)
    return Identity(uid, os.getegid(), name)


def within_reach(user: Identity) -> bool:
    """Whether this process may become *user*."""
    able = all(privileges.has_capability(each) for each in (privileges.CAP_SETUID, privileges.CAP_SETGID))
    return able and _mapped("uid_map", user.uid) and _mapped("gid_map", user.gid)


def mapped(table: str, number: int) -> bool:
    """Whether a user namespace with this uid_map or gid_map (user_namespaces(7)) has *number*."""
    for line in table.splitlines():
        inside, _, count = (int(field) for field in line.split())
        if inside <= number < inside + count:
            return True
    return False


def strangers(number: int, processes: Iterable[Path]) -> list[str]:
    """The numbers of the processes (folders as in /proc) of this user that are not querytap's own."""
    found: list[str] = []
    for process in processes:
        try:
            status = (process / "status").read_text(encoding="utf-8", errors="replace")
            if number not in _users(status) or _is_over(status):
                continue
            if not _OWN_MODULES.search((process / "cmdline").read_bytes()):
                found.append(process.name)
        except (FileNotFoundError, ProcessLookupError):  # it ended meanwhile
            continue
    return found


def _by_number(role: Role) -> Identity:
    found = Identity(role.number, role.number, f"uid {role.number}")
    if not within_reach(found):
        return present()
    holder = _holder(role.number)
    if holder:
        raise StartError(
            f'there is no user "{role.usual}", and {role.number}, which stands in for it, is taken by {holder}',
            f"create it (useradd --system --user-group --no-create-home {role.usual}), or name one in {role.option}",
        )
    return found


def _holder(number: int) -> str:
    """Who else has the number; empty when nobody has."""
    try:
        return f'the user "{pwd.getpwuid(number).pw_name}"'
    except KeyError:
        pass  # as it should be
    try:
        return f'the group "{grp.getgrgid(number).gr_name}"'
    except KeyError:
        pass  # as it should be
    found = strangers(number, (path for path in Path("/proc").iterdir() if path.name.isdecimal()))
    return f"process {', '.join(found[:5])}" if found else ""


def _is_over(status: str) -> bool:
    """Whether it has ended, though its parent does not ask: the first process of a container often asks for none."""
    return re.search(r"^State:\s+[ZX]", status, re.MULTILINE) is not None


def _users(status: str) -> set[int]:
    """Real, effective, saved and file system user, from the text of /proc/PID/status (proc(5))."""
    line = next((line for line in status.splitlines() if line.startswith("Uid:")), "Uid:")
    return {int(field) for field in line.split()[1:]}


def _mapped(table: str, number: int) -> bool:
    return mapped(Path("/proc/self", table).read_text(encoding="ascii"), number)
