"""What an attacker would try who got code to run in a process, and a way to get it into a worker that is at work.

The product has no way in for this. `run` is `querytap run`, except that it starts capture by way of this module, and
`capture` is capture, except that the loop its workers are forked with tries ATTEMPTS once before it goes on. `alone`
tries them in a process of this user behind one wall or none. Each prints a line an attempt: its name and its error.
"""

from __future__ import annotations

import ctypes
import errno
import json
import mmap
import os
import platform
import signal
import socket
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from collector import privileges
from collector.capture import calls, landlock, seccomp
from collector.capture import process as capturing
from collector.capture.sandbox import Sandbox
from collector.capture.slots import Slot
from collector.cli.main import main
from collector.privileges import Identity
from collector.supervisor import tree
from tests.support import processes
from workers import process as working
from workers.settings import Settings

TARGETS: Final = "QUERYTAP_INTRUSION"
"""Environment: what to connect to, as JSON: port, path and abstract name. Its prefix lets it reach every process."""
LINE: Final = "attempt: "

_SIBLING, _INTRUDER, _AT_WORK, _DONE = range(4)  # words of a page that capture and its workers share

# asm/unistd.h, where libc has no function for it
_X86: Final = platform.machine() == "x86_64"
_CLONE: Final = 56 if _X86 else 220
_IO_URING_SETUP: Final = 425
_PIDFD_OPEN: Final = 434
_NEW_USER: Final = 0x1000_0000  # CLONE_NEWUSER
_PTRACE_SEIZE: Final = 0x4206
_READ_WRITE_EXECUTE: Final = 7
_F_DUPFD: Final = 0
_SOL_PACKET, _PACKET_ADD_MEMBERSHIP, _PROMISCUOUS = 263, 1, 1
_ALL_PROTOCOLS: Final = 0x0300  # ETH_P_ALL, in network order

_libc: Final = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]

Targets = dict[str, Any]


def _do(function: str, *arguments: Any) -> int:  # noqa: ANN401  # as C takes it
    """Call libc; OSError with the number it leaves."""
    result: int | None = getattr(_libc, function)(*arguments)
    if result in {None, -1, 2**64 - 1}:
        raise OSError(ctypes.get_errno(), function)
    assert result is not None
    return result


def _end_child(pid: int) -> None:
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def _open(path: bytes, flags: int = os.O_RDONLY) -> None:
    os.close(_do("open", path, flags | os.O_CLOEXEC, 0o600))


def _socket(family: int, kind: int = socket.SOCK_STREAM) -> int:
    return _do("socket", family, kind | socket.SOCK_CLOEXEC, 0)


def _connect(family: int, address: bytes) -> None:
    fd = _socket(family)
    try:
        _do("connect", fd, struct.pack("=H", family) + address, 2 + len(address))
    finally:
        os.close(fd)


def _packet_socket(use: Callable[[int], object]) -> None:
    fd = _socket(socket.AF_PACKET, socket.SOCK_RAW)
    try:
        use(fd)
    finally:
        os.close(fd)


def _inject(fd: int) -> None:
    loopback = struct.pack("=HHiHBB8s", socket.AF_PACKET, 0x0008, socket.if_nametoindex("lo"), 0, 0, 6, b"")
    _do("sendto", fd, bytes(60), 60, 0, loopback, len(loopback))


def _listen_promiscuously(fd: int) -> None:
    request = struct.pack("=iHH8s", socket.if_nametoindex("lo"), _PROMISCUOUS, 0, b"")
    _do("setsockopt", fd, _SOL_PACKET, _PACKET_ADD_MEMBERSHIP, request, len(request))


def _take_packets(fd: int) -> None:
    everything = struct.pack("=HHiHBB8s", socket.AF_PACKET, _ALL_PROTOCOLS, 0, 0, 0, 0, b"")
    _do("bind", fd, everything, len(everything))


def _pass_a_descriptor() -> None:
    pair = (ctypes.c_int * 2)()
    _do("socketpair", socket.AF_UNIX, socket.SOCK_STREAM, 0, pair)
    with socket.socket(fileno=pair[0]) as one, socket.socket(fileno=pair[1]):
        socket.send_fds(one, [b"x"], [1])


def _write_and_run() -> None:
    pages = _do("mmap", None, mmap.PAGESIZE, _READ_WRITE_EXECUTE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    _do("munmap", ctypes.c_void_p(pages), mmap.PAGESIZE)


def _make_executable() -> None:
    pages = _do("mmap", None, mmap.PAGESIZE, 3, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    _do("mprotect", ctypes.c_void_p(pages), mmap.PAGESIZE, _READ_WRITE_EXECUTE)


def _read_memory(pid: int) -> None:
    """At an address that holds the same in all forks of a process."""
    here = ctypes.create_string_buffer(8)
    local = struct.pack("@PN", ctypes.addressof(here), 8)
    remote = struct.pack("@PN", id(errno), 8)
    _do("process_vm_readv", pid, local, 1, remote, 1, 0)


def _run_a_program() -> None:
    """The last one: who succeeds is another program then, which says so itself."""
    words = [b"echo", f"{LINE}run a program: 0".encode(), None]
    _do("execve", b"/bin/echo", (ctypes.c_char_p * 3)(*words), (ctypes.c_char_p * 1)(None))


def _fork(flags: int = 0) -> None:
    _end_child(_do("syscall", ctypes.c_long(_CLONE), ctypes.c_long(flags | signal.SIGCHLD), None, None, None, None))


def attempts(sibling: int, targets: Targets) -> Iterator[tuple[str, Callable[[], object]]]:
    """By name, what is tried. The process *sibling* is a fork of the same parent; it does not outlive the list."""
    unix, inet, packet = socket.AF_UNIX, socket.AF_INET, socket.AF_PACKET
    port = struct.pack("!H", targets["port"]) + socket.inet_aton("127.0.0.1") + bytes(8)
    yield "read a file", lambda: _open(b"/etc/passwd")
    yield "read the passwords", lambda: _open(b"/etc/shadow")
    yield "write a file", lambda: _open(b"intruder", os.O_WRONLY | os.O_CREAT)
    yield "list processes", lambda: _open(b"/proc", os.O_DIRECTORY)
    yield "go elsewhere", lambda: _do("chdir", b".")
    yield "open a network socket", lambda: _socket(inet)
    yield "connect to the server", lambda: _connect(inet, port)
    yield "connect to the server's socket", lambda: _connect(unix, targets["path"].encode() + b"\0")
    yield "connect to an abstract socket", lambda: _connect(unix, b"\0" + targets["abstract"].encode())
    yield "talk to the kernel's netlink", lambda: _socket(socket.AF_NETLINK, socket.SOCK_RAW)
    yield "open a packet socket", lambda: _socket(packet, socket.SOCK_RAW)
    yield "inject a frame", lambda: _packet_socket(_inject)
    yield "listen promiscuously", lambda: _packet_socket(_listen_promiscuously)
    yield "take others' packets", lambda: _packet_socket(_take_packets)
    yield "pass a descriptor", _pass_a_descriptor
    yield "duplicate a descriptor", lambda: os.close(_do("dup", 2))
    yield "duplicate a descriptor by fcntl", lambda: os.close(_do("fcntl", 2, _F_DUPFD, 0))
    yield "write memory and run it", _write_and_run
    yield "make memory executable", _make_executable
    yield "set up an io_uring", lambda: _do("syscall", ctypes.c_long(_IO_URING_SETUP), ctypes.c_long(1), bytes(120))
    yield "start a process", _fork
    yield "make a user namespace", lambda: _fork(_NEW_USER)
    yield "become root", lambda: _do("setuid", 0)
    yield "open a sibling", lambda: _do("syscall", ctypes.c_long(_PIDFD_OPEN), ctypes.c_long(sibling), ctypes.c_long(0))
    yield "read a sibling's memory", lambda: _read_memory(sibling)
    yield "trace a sibling", lambda: _do("ptrace", _PTRACE_SEIZE, sibling, None, None)
    yield "signal capture", lambda: _do("kill", os.getppid(), 0)
    yield "kill a sibling", lambda: _do("kill", sibling, signal.SIGKILL)
    yield "run a program", _run_a_program


def _try_all(sibling: int, targets: Targets) -> None:
    for name, attempt in attempts(sibling, targets):
        number = 0
        try:
            attempt()
        except OSError as error:
            number = error.errno or -1
        os.write(2, f"{LINE}{name}: {number}\n".encode())


def run(arguments: Sequence[str]) -> int:
    """`querytap run` with these arguments, whose capture is capture() below."""

    def command(arguments: Sequence[str]) -> list[str]:
        if list(arguments[:2]) == ["-m", "collector.capture"]:
            # With the words it stands for, by which querytap knows its own processes.
            return processes.module(__spec__.name, "capture", *arguments)
        return usual(arguments)

    usual, tree.command = tree.command, command
    with _abstract(json.loads(os.environ[TARGETS])):
        return main(["run", *arguments])


def capture(arguments: Sequence[str]) -> int:
    """Capture, with an intruder in the first of its two workers."""

    targets = json.loads(os.environ[TARGETS])
    shared = memoryview(mmap.mmap(-1, mmap.PAGESIZE)).cast("Q")
    fork, beat = Slot.fork, working.Loop.beat

    def forking(self: Slot, user: Identity, sandbox: Sandbox, settings: Settings, now: float) -> None:
        fork(self, user, sandbox, settings, now)
        shared[_SIBLING if self.number else _INTRUDER] = self.pid

    def beating(self: working.Loop, monotonic_ns: int) -> None:
        beat(self, monotonic_ns)
        if shared[_SIBLING] == os.getpid():
            shared[_AT_WORK] = 1  # from now on it has the intruder's user, and no rights of its own
        if shared[_INTRUDER] == os.getpid() and shared[_AT_WORK] and not shared[_DONE]:
            shared[_DONE] = 1
            _try_all(shared[_SIBLING], targets)

    Slot.fork, working.Loop.beat = forking, beating  # type: ignore[method-assign]
    return capturing.main(list(arguments[2:]))


def alone(wall: str) -> int:
    """Try all as the present user, behind *wall*: "seccomp", "landlock" or "none"."""
    targets = json.loads(os.environ[TARGETS])
    os.chdir(Path(targets["path"]).parent)
    reading, writing = os.pipe()
    sibling = os.fork()
    if sibling == 0:
        os.close(writing)
        os.read(reading, 1)  # until we end: behind Landlock not even our death can send it a signal
        os._exit(0)
    listening = _abstract(targets)
    if wall != "none":
        privileges.keep_only(*range(40))  # all that there is: it is about the wall
    if wall == "landlock":
        landlock.restrict(landlock.version())
    elif wall == "seccomp":
        name, flags = seccomp.machine(), seccomp.flags()
        assert name is not None
        assert flags is not None
        seccomp.install(seccomp.build(name, calls.WORKER, os.getpid()), flags)
    with listening:
        _try_all(sibling, targets)
    return 0


def _abstract(targets: Targets) -> socket.socket:
    listening = socket.socket(socket.AF_UNIX)
    listening.bind("\0" + targets["abstract"])
    listening.listen()
    return listening


if __name__ == "__main__":
    mode, *others = sys.argv[1:]
    if mode == "alone":
        sys.exit(alone(*others))
    sys.exit({"run": run, "capture": capture}[mode](others))
