"""Network namespaces by path or by a process in them: enters one for as long as sockets are made there.

A socket belongs to the namespace in which it was made, so that all the right to enter is needed for is to open it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from collector.config import StartError

OWN: Final = "own"
"""Stands for the namespace in which querytap runs."""

_OF_PROCESS: Final = re.compile(r"(?:/proc/)?(\d+)(?:/ns/net)?")
_CLONE_NEWNET: Final = 0x4000_0000  # linux/sched.h
_PRESENT: Final = Path("/proc/self/ns/net")

_libc: Final = ctypes.CDLL(None, use_errno=True)


class NamespaceError(StartError):
    """A network namespace is not there. It may come back."""


class Namespace:
    """One that is captured; made within itself (`entered`), while there is the right to look at it."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.inode = _PRESENT.stat().st_ino
        """By which the kernel tells it from others."""

    @property
    def called(self) -> str:
        """How it is named in a sentence."""
        return "this network namespace" if self.place == OWN else f"network namespace {self.place}"

    def gone(self) -> bool:
        """Whether what named it is not there any more."""
        if self.place == OWN:
            return False
        process = _OF_PROCESS.fullmatch(self.place)
        if process:
            return not _alive(int(process[1]))
        try:
            Path(self.place).stat()
        except FileNotFoundError:
            return True
        return False

    def replaced(self) -> bool:
        """Whether what named it names another one now."""
        if self.place == OWN or _OF_PROCESS.fullmatch(self.place):
            return False
        try:
            return Path(self.place).stat().st_ino != self.inode
        except FileNotFoundError:
            return False


@contextlib.contextmanager
def entered(place: str) -> Iterator[Namespace]:
    """Be in a namespace until the context ends. Raises StartError, or NamespaceError where it is not there."""
    if place == OWN:
        yield Namespace(place)
        return
    before = os.open(_PRESENT, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _enter(place)
        try:
            yield Namespace(place)
        finally:
            _set(before)
    finally:
        os.close(before)


def _enter(place: str) -> None:
    process = _OF_PROCESS.fullmatch(place)
    try:
        fd = os.open(f"/proc/{process[1]}/ns/net" if process else place, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise NamespaceError(
            f"there is no network namespace {place}", "look for it with: ip netns, or lsns --type net"
        ) from None
    except PermissionError:
        raise _not_allowed(place) from None
    try:
        _set(fd)
    except PermissionError:
        raise _not_allowed(place) from None
    except OSError as error:
        raise StartError(f"{place} is no network namespace: {error.strerror}", "see capture.namespaces") from error
    finally:
        os.close(fd)


def _set(fd: int) -> None:
    if _libc.setns(fd, _CLONE_NEWNET) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _not_allowed(place: str) -> StartError:
    return StartError(
        f"entering network namespace {place} (capture.namespaces) needs the capability CAP_SYS_ADMIN",
        "run as root (sudo querytap run), give the service that capability, or leave capture.namespaces out",
    )


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # somebody else's
    return True
