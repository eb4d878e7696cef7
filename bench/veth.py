"""Two network namespaces joined by a veth pair: "db", where capture runs, and "app", where its clients would be.

Neither end has an address and nothing is forwarded, so the kernel drops what arrives in silence: no RST answers the
generated packets. The namespaces have no names: they live as long as the two processes that hold them, and these end
with the pipe to the one who made them. Needs root, or a user namespace (`unshare --user --map-root-user --net`).
"""

from __future__ import annotations

import ctypes
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from bench import traffic

INTERFACE: Final = "db0"
PEER: Final = "app0"
_CLONE_NEWNET: Final = 0x40000000  # linux/sched.h


@dataclass(frozen=True, slots=True)
class Pair:
    """Process ids whose network namespaces are the two ends."""

    db: int
    app: int


def become_root() -> None:
    """Have this very command run anew as root of a namespace of its own, unless root runs it already."""
    if os.geteuid() != 0:
        command = ["unshare", "--user", "--map-root-user", "--net", "--", sys.executable, *sys.argv]
        os.execvp(command[0], command)  # noqa: S606  # namespaces and packet sockets need it


def inside(pid: int, command: list[str]) -> list[str]:
    """*command* as it is to be started in the network namespace of process *pid*."""
    return ["nsenter", f"--net=/proc/{pid}/ns/net", "--", *command]


def packet_socket(pid: int, interface: str, *, bypass: bool) -> socket.socket:
    """A socket that sends whole frames out of *interface* in the network namespace of *pid*, and receives nothing.

    With *bypass* frames skip the queueing layer and with it the taps of the sending side. The caller's own namespace
    is the same afterwards.
    """
    own = os.open("/proc/self/ns/net", os.O_RDONLY)
    other = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
    try:
        _enter(other)
        try:
            opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            opened.bind((interface, 0))
        finally:
            _enter(own)
    finally:
        os.close(own)
        os.close(other)
    if bypass:
        opened.setsockopt(263, 20, 1)  # SOL_PACKET, PACKET_QDISC_BYPASS (linux/if_packet.h)
    return opened


def _enter(namespace: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(namespace, _CLONE_NEWNET) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), "setns")


@contextmanager
def pair() -> Iterator[Pair]:
    """Both namespaces with their interfaces up; gone afterwards."""
    with _holder() as db, _holder() as app:
        made = Pair(db, app)
        join(made)
        yield made


def join(made: Pair) -> None:
    """Lay the veth pair between two namespaces that are there."""
    _ip(made.db, "link", "add", INTERFACE, "address", _colons(traffic.SERVER_MAC), "type", "veth",
        "peer", "name", PEER, "address", _colons(traffic.CLIENT_MAC), "netns", str(made.app))  # fmt: skip
    for pid, interface in ((made.db, INTERFACE), (made.app, PEER)):
        # Without IPv6 there are no router solicitations in between.
        subprocess.run(inside(pid, ["sysctl", "-qw", f"net.ipv6.conf.{interface}.disable_ipv6=1"]), check=False)
        _ip(pid, "link", "set", interface, "up")
        _ip(pid, "link", "set", "lo", "up")


@contextmanager
def _holder() -> Iterator[int]:
    """A process in a network namespace of its own; it ends when its standard input does."""
    command = ["unshare", "--net", "sh", "-c", "echo; exec cat"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        if process.stdout.readline() != b"\n":
            raise OSError("no network namespace could be made: root is needed, or `unshare --user --map-root-user`")
        try:
            yield process.pid
        finally:
            process.stdin.close()


def _ip(pid: int, *arguments: str) -> None:
    subprocess.run(inside(pid, ["ip", *arguments]), check=True)


def _colons(mac: bytes) -> str:
    return mac.hex(":")
