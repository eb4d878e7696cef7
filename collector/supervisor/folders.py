"""Makes the folders the processes meet in, hands each to its user, and locks them against a second instance.

`paths.run` and `paths.state` themselves stay with the user who starts querytap, root as a rule: were they another's,
that user could put links where root is about to write. Everything below is reached from an open folder and by a name
without a slash, and no link is followed.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from collector import places
from collector.config import Config, StartError
from collector.identities import present
from collector.privileges import Identity

MARKER: Final = ".querytap"
"""A file in each folder that was handed over, of the user who starts querytap: the folder may be handed to another."""

_MARKER_TEXT: Final = b"querytap keeps this folder, and gives it with all that is in it to the user it runs as.\n"
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_OWN_MODE: Final = 0o755
_CHOOSE: Final = "or set paths.state and paths.run to folders that belong to you alone"


class Held(NamedTuple):
    """What lock() opened: the two folders and the pid file. The locks last until these are closed."""

    run: int
    state: int
    pid: int

    def close(self) -> None:
        """Let go of them."""
        for fd in self:
            os.close(fd)


def lock(config: Config) -> Held:
    """Open the folders, make those that are missing, and take them for this process.

    StartError when another instance has one of them, or when another user could change what is in it. Comes before
    prepare(), which changes what is in them.
    """
    opened: list[int] = []
    try:
        with _told():
            run, state = Path(config.paths.run), Path(config.paths.state)
            for path, names in ((run, _RUN_NAMES), (state, _STATE_NAMES)):
                opened.append(_own(path, names))
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
            opened.append(os.open(places.PID_FILE, flags, 0o644, dir_fd=opened[0]))
            _check_plain(opened[-1], run / places.PID_FILE)
        held = Held(*opened)
        _take(held.pid, run, held.pid)
        _take(held.state, state, held.pid)
    except BaseException:
        for fd in opened:
            os.close(fd)
        raise
    os.ftruncate(held.pid, 0)
    os.write(held.pid, f"{os.getpid()}\n".encode("ascii"))
    return held


def prepare(config: Config, held: Held, user: Identity, worker_user: Identity) -> None:
    """Make the folders below, with the owners and modes that keep the processes apart.

    A worker's folder belongs to the workers' user, and the aggregator's group may reach the socket in it; where both
    are one user it is closed to all others. StartError when a folder cannot be made, or is somebody else's.
    """
    run, state = Path(config.paths.run), Path(config.paths.state)
    apart = worker_user.uid != user.uid
    worker = Identity(worker_user.uid, user.gid if apart else worker_user.gid, worker_user.name)
    with _told():
        _hand(held.run, places.aggregator_run(run), user, 0o755)
        _hand(held.run, places.capture_run(run), present(), _OWN_MODE)
        with _below(held.run, places.capture_run(run)) as folder:
            for number in range(config.worker_total):
                _hand(folder, places.worker_folder(run, number), worker, 0o2750 if apart else 0o700)
        _hand(held.state, places.aggregator_state(state), user, 0o700)
        _open_keys(held.state, places.keys_folder(state))
        _archive(config, user)
        with _below(held.run, places.aggregator_run(run)) as folder:
            _remove(folder, places.STATUS_FILE)


def clear(held: Held) -> None:
    """Take away what tells of processes, which have ended: another's would be hidden by it."""
    _remove(held.run, places.PROCESSES_FILE)


def _archive(config: Config, user: Identity) -> None:
    path = places.local_folder(places.archive_place(config.store.url, config.paths.state))
    if path is None:
        return
    if not path.name:
        raise StartError(f"{path} cannot be an archive", "name a folder below it in store.url")
    path.parent.mkdir(parents=True, exist_ok=True)
    parent = os.open(path.parent, _FOLDER)
    try:
        _hand(parent, path, user, 0o750, keep_mode=bool(config.store.url))
    finally:
        os.close(parent)


_RUN_NAMES: Final = frozenset(
    {places.PID_FILE, places.PROCESSES_FILE}
    | {each("").name for each in (places.aggregator_run, places.capture_run, places.monitor_run)}
)
_STATE_NAMES: Final = frozenset(
    {each("").name for each in (places.aggregator_state, places.capture_state, places.keys_folder)}
    | {Path(places.archive_place("", "")).name}
)
_NOBODYS: Final = frozenset({MARKER, "lost+found"})
_KEY_NAMES: Final = frozenset({places.READER_PRIVATE, places.READER_PUBLIC})


def _own(path: Path, names: frozenset[str]) -> int:
    """Open a folder that stays with us; the mode of one that has nothing but *names* is set so that all can enter."""
    path.mkdir(parents=True, exist_ok=True)
    folder = os.open(path, _FOLDER)
    try:
        found = os.fstat(folder)
        _check_ours(path, found)
        if found.st_mode & _OWN_MODE != _OWN_MODE and _has_only(folder, names):
            os.fchmod(folder, _OWN_MODE)
    except BaseException:
        os.close(folder)
        raise
    return folder


def _check_ours(path: Path, found: os.stat_result) -> None:
    us = os.geteuid()
    if found.st_uid not in {0, us}:
        raise StartError(f"{path} belongs to another user ({found.st_uid})", f"chown {us} {path}, {_CHOOSE}")
    group = found.st_mode & stat.S_IWGRP and found.st_gid not in {0, os.getegid()}
    if found.st_mode & stat.S_IWOTH or group:
        raise StartError(f"others may write to {path}", f"chmod go-w {path}, {_CHOOSE}")


def _check_plain(fd: int, path: Path) -> None:
    found = os.fstat(fd)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
        raise StartError(f"{path} is a link or no file, and is to be written to", f"remove {path}")


def _open_keys(state: int, path: Path) -> None:
    """Let the aggregator read the public key; the private one is closed to all by its own mode."""
    try:
        with _below(state, path) as folder:
            if os.fstat(folder).st_uid == os.geteuid() and _has_only(folder, _KEY_NAMES):
                os.fchmod(folder, _OWN_MODE)
    except FileNotFoundError:
        return  # the keys are elsewhere


def _hand(parent: int, path: Path, owner: Identity, mode: int, *, keep_mode: bool = False) -> None:
    """Make the folder *path* in *parent* if it is missing, and see to it that it is *owner*'s.

    One that is not is taken only if it is new, empty or has the marker; then what its former owner had in it changes
    hands as well. *keep_mode*: of one that is there and is *owner*'s already.
    """
    made = _make(parent, path.name)
    with _below(parent, path) as folder:
        found = os.fstat(folder)
        ours = made or _has_only(folder, frozenset()) or _marked(folder)
        if ours:
            _mark(folder)
        elif found.st_uid != owner.uid:
            raise StartError(
                f"{path} belongs to another user ({found.st_uid}) and holds what querytap did not put there",
                f"name another folder, or give it: chown -R {owner.uid}:{owner.gid} {path}",
            )
        if (found.st_uid, found.st_gid) != (owner.uid, owner.gid):
            _give(folder, found, owner)
        if ours or not keep_mode:
            os.fchmod(folder, mode)


def _give(folder: int, found: os.stat_result, owner: Identity) -> None:
    """Give a folder and what its owner has in it to another; links and what others have there stay as they are."""
    for name in os.listdir(folder):
        there = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if there.st_uid != found.st_uid or there.st_dev != found.st_dev or name == MARKER:
            continue
        if not (stat.S_ISDIR(there.st_mode) or stat.S_ISREG(there.st_mode)):
            continue
        entry = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        try:
            opened = os.fstat(entry)  # what was opened, whatever had the name before
            if opened.st_uid != found.st_uid:
                continue
            if stat.S_ISDIR(opened.st_mode):
                _give(entry, opened, owner)
            elif stat.S_ISREG(opened.st_mode) and opened.st_nlink == 1:  # another name could be anywhere
                os.fchown(entry, owner.uid, owner.gid)
        finally:
            os.close(entry)
    os.fchown(folder, owner.uid, owner.gid)  # last: a folder that is the owner's is done


def _make(parent: int, name: str) -> bool:
    try:
        os.mkdir(name, 0o700, dir_fd=parent)
    except FileExistsError:
        return False
    return True


@contextmanager
def _below(parent: int, path: Path) -> Iterator[int]:
    """The folder of *path*'s name in *parent*, open; a link in its place is an error."""
    try:
        folder = os.open(path.name, _FOLDER | os.O_NOFOLLOW, dir_fd=parent)
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.ENOTDIR}:
            raise StartError(f"{path} is a link or a file, and has to be a folder", f"remove {path}") from error
        raise OSError(error.errno, error.strerror, str(path)) from error
    try:
        yield folder
    finally:
        os.close(folder)


def _has_only(folder: int, names: frozenset[str]) -> bool:
    return names | _NOBODYS >= set(os.listdir(folder))


def _marked(folder: int) -> bool:
    try:
        found = os.stat(MARKER, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_nlink == 1 and found.st_uid in {0, os.geteuid()}


def _mark(folder: int) -> None:
    if _marked(folder):
        return
    _remove(folder, MARKER)
    fd = os.open(MARKER, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644, dir_fd=folder)
    try:
        os.write(fd, _MARKER_TEXT)
    finally:
        os.close(fd)


def _remove(folder: int, name: str) -> None:
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return


def _take(fd: int, path: Path, pid: int) -> None:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(pid, 32).decode("ascii", "replace").strip()
        who = f" (process {holder})" if holder.isdecimal() else ""
        raise StartError(f"another querytap{who} uses {path}", "stop it, or set paths.state and paths.run") from None


@contextmanager
def _told() -> Iterator[None]:
    """Turns an OSError into a StartError."""
    try:
        yield
    except OSError as error:
        raise StartError(
            f"cannot make {error.filename or 'the folders'}: {error.strerror}",
            "run as root (sudo querytap run), or set paths.state and paths.run to folders of your own",
        ) from error
