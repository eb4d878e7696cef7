"""What capture holds for one worker whatever becomes of its process, and how a process is forked into that place."""

from __future__ import annotations

import contextlib
import gc
import logging
import mmap
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, NoReturn

from collector import log, privileges
from collector.capture.gathering import Gathering
from collector.capture.handover import Progress
from collector.capture.mapping import Area
from collector.capture.restarts import Restarts
from collector.capture.sandbox import Sandbox
from collector.capture.sockets import PacketSocket
from collector.capture.statistics import KernelTotals, packets
from collector.log import Relay
from collector.places import BLOCKS_SOCKET
from collector.privileges import Identity
from workers import counters, page, process
from workers.page import Ports
from workers.process import Setup
from workers.settings import Settings

_CHUNK_BYTES: Final = 1 << 16  # what a pipe holds
_LONGEST_DELAY_S: Final = 2.0  # well within what a ring holds
_SETTLING_TRIES: Final = 1000
_PAGE_BYTES: Final = mmap.PAGESIZE
_COUNTER_WORDS: Final = slice(page.FIRST_COUNTER_WORD, page.FIRST_COUNTER_WORD + len(counters.NAMES))

_INTERFACE_COUNT: Final = page.INTERFACE_WORDS.stop - page.INTERFACE_WORDS.start
_MOST_INDEXES: Final = 256  # no host has more that are captured on, and a worker could make them up

_log = logging.getLogger(__name__)


class Slot:
    """Ring, shared memory and pipe of one worker, and the process that has them now."""

    shared_fds: tuple[int, ...] = ()
    """Those that each process here is to hold besides its own."""
    pid = 0
    """0 while there is no process."""
    started = 0.0
    due: float | None = None
    """When the next process is to start, None when one runs or none is wanted."""
    soonest = 0.0
    """Before which the next process must not start, whatever the hurry."""
    look_at: float | None = None
    """When packets that have gathered in the kernel are to be looked at."""
    taken = 0
    """Packets that the process of this incarnation took from the ring; known when it has ended."""
    taken_before = 0
    """Packets that the processes before it took."""
    crashes = 0
    """Processes here that ended without having been told to."""

    def __init__(
        self,
        number: int,
        packet_socket: PacketSocket,
        folder: Path,
        first_incarnation: int,
        checkpoint: Area,
        *,
        page_fd: int = -1,
    ) -> None:
        """*checkpoint*: where a process leaves what it knows of connections to the one after it.

        *page_fd* is the page's memory, where an earlier capture process left it.
        """
        self.number = number
        self.checkpoint = checkpoint
        self.socket = packet_socket
        self.totals = KernelTotals()
        self.restarts = Restarts(_LONGEST_DELAY_S)
        self.incarnation = first_incarnation
        self._gathering = Gathering(packet_socket.room) if packet_socket.room else None
        self._seen = 0
        self.endpoint = folder / BLOCKS_SOCKET
        self._folder = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        self._page_fd = page_fd if page_fd >= 0 else _memory(f"querytap-page-{number}")
        self._page = mmap.mmap(self._page_fd, _PAGE_BYTES)
        self._words = memoryview(self._page).cast("Q")
        # Kept here too, as a worker can write to the page.
        self._ports = Ports((), ())
        self._ports_version = 0
        self._block_age_ns = 0
        self._answers = 0
        self._command = page.RUN
        self._interfaces_before: dict[int, tuple[int, int]] = {}
        # Not an eventfd: its end is one for both, so a worker could fill it and then make our writes wait.
        self._wake, self._waking = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._log = -1
        self._relay = Relay(f"worker {number}")
        self.progressed: Callable[[Progress], None] = _nobody_asks
        """Called with how far the ring has come, whenever that changes."""

    @property
    def wanted(self) -> bool:
        """Whether there is a process, or one is to come."""
        return self.pid != 0 or self.due is not None

    @property
    def counters(self) -> list[int]:
        """The worker's counters as it last stored them."""
        return self._words[_COUNTER_WORDS].tolist()

    @property
    def heartbeat_ns(self) -> int:
        """When the worker was last at work (CLOCK_MONOTONIC), 0 before its first step."""
        return self._words[page.HEARTBEAT_WORD]

    @property
    def interfaces(self) -> dict[int, tuple[int, int]]:
        """Packets that came in and went out by the index of their interface, as all processes here have told so far."""
        most = self.totals.passed  # the page was the worker's to write
        found = dict(self._interfaces_before)
        for index, counts in page.read_interfaces(self._words).items():
            before = found.get(index, (0, 0))
            found[index] = (min(before[0] + counts[0], most), min(before[1] + counts[1], most))
        return found

    @property
    def lasting(self) -> Mapping[str, int]:
        """The descriptors of what another capture process needs to go on with this ring, by what they are."""
        checkpoint = {"checkpoint": self.checkpoint.fd} if self.checkpoint.size else {}
        return {"socket": self.socket.fd, "page": self._page_fd, **checkpoint}

    @property
    def totals_taken(self) -> KernelTotals:
        """The kernel's figures but for what is in the ring still, after the end of a process."""
        return KernelTotals(
            self.totals.dropped + self.taken_before + self.taken, self.totals.dropped, self.totals.freezes
        )

    @property
    def progress(self) -> Progress:
        """How far the ring has come."""
        return Progress(
            incarnation=self.incarnation,
            passed=self.totals.passed,
            dropped=self.totals.dropped,
            freezes=self.totals.freezes,
            crashes=self.crashes,
            taken_before=self.taken_before,
            interfaces=self._interfaces_before,
        )

    def go_on(self, progress: Progress) -> None:
        """Be what an earlier capture process left, whose worker has ended."""
        self.incarnation = progress.incarnation
        self.totals = KernelTotals(progress.passed, progress.dropped, progress.freezes)
        self.taken_before = progress.taken_before
        self.crashes = progress.crashes
        self._interfaces_before = dict(progress.interfaces)

    def count(self) -> None:
        """Add what the kernel has counted since the last time."""
        self.totals.add(self.socket.take_counters())
        self.progressed(self.progress)

    def settle(self) -> None:
        """After the end of a process: find out how many packets it had taken."""
        for _ in range(_SETTLING_TRIES):
            self.count()
            waiting = self.socket.packets_waiting()
            passed = self.totals.passed
            self.count()
            if self.totals.passed == passed:  # none came between the two figures
                break
        most = self.totals.passed - self.totals.dropped - self.taken_before
        # Ring and page were the worker's to write: neither can make it more than there were.
        self.taken = max(most - waiting, packets(self.counters, most))

    def noticed(self, now: float) -> None:
        """The kernel has packets: wake the worker, or let more of them gather first."""
        if self._gathering is not None:
            at = now + self._gathering.pause_s
            self.look_at = at if self.look_at is None else min(at, self.look_at)
        else:
            self.kick()

    def look(self, now: float) -> None:
        """Take what has gathered, and wake the worker if there is something for it."""
        if self._gathering is not None:
            self.count()
            self._gathering.looked(now, self.totals.passed - self._seen)
            self._seen = self.totals.passed
        if self.socket.gather(now):
            self.kick()
        self.look_at = self.socket.due(now)

    def kick(self) -> None:
        """Wake the worker; one that has left earlier wake-ups unread is awake."""
        with contextlib.suppress(BlockingIOError):
            os.write(self._waking, b"\0")

    def drain(self) -> None:
        """Tell the worker, and whichever comes after it, to empty the ring and end."""
        self._words[page.COMMAND_WORD] = self._command = page.DRAIN
        self.kick()

    def leave(self) -> None:
        """Tell the worker to end with what it has taken from the ring."""
        self._words[page.COMMAND_WORD] = self._command = page.LEAVE
        self.kick()

    def serve(self, ports: Ports) -> None:
        """Let the worker, and whichever comes after it, know the servers' ports."""
        self._ports = ports
        self._ports_version += 1
        page.write_ports(self._words, ports, self._ports_version)
        self.kick()

    def hand_on_after(self, block_age_ns: int) -> None:
        """Have the worker, and whichever comes after it, hand a block on at this age."""
        self._words[page.BLOCK_AGE_WORD] = self._block_age_ns = block_age_ns
        self.kick()

    def leave_out_answers(self, whether: bool) -> None:
        """Let the worker, and whichever comes after it, know that answers are not captured as is configured."""
        self._words[page.ANSWERS_WORD] = self._answers = int(whether)
        self.kick()

    @property
    def knows_ports(self) -> bool:
        """Whether what is captured from now on is read by those ports."""
        return self.pid == 0 or self._words[page.PORTS_KNOWN_WORD] == self._ports_version

    def next_incarnation(self, *, afresh: bool = False) -> None:
        """Prepare for the process after one that has ended, which could write what it liked to the page.

        *afresh*: it is not to know of connections what those before it did.
        """
        if afresh:
            self.checkpoint.clear()
        self.incarnation += 1
        self.taken_before += self.taken
        self.taken = 0
        self._words[page.COMMAND_WORD] = self._command
        page.write_ports(self._words, self._ports, self._ports_version)
        self._words[page.BLOCK_AGE_WORD] = self._block_age_ns
        self._words[page.ANSWERS_WORD] = self._answers
        self._words[page.HEARTBEAT_WORD] = self._words[page.PORTS_KNOWN_WORD] = 0
        if len(self._interfaces_before) < _MOST_INDEXES:
            self._interfaces_before = self.interfaces
        self._words[page.INTERFACE_WORDS] = memoryview(bytes(8 * _INTERFACE_COUNT)).cast("Q")
        self._words[_COUNTER_WORDS] = memoryview(bytes(8 * len(counters.NAMES))).cast("Q")
        self.progressed(self.progress)

    def fork(self, user: Identity, sandbox: Sandbox, settings: Settings, now: float) -> None:
        """Start a worker on this ring. It has its log, the end of a pipe that wakes it, no other fd, and no rights."""
        setup = Setup(
            worker=self.number,
            incarnation=self.incarnation,
            address=self.socket.address,
            block_bytes=self.socket.block_bytes,
            block_count=self.socket.block_count,
            frame_bytes=self.socket.frame_bytes,
            page=self._page,
            checkpoint_address=self.checkpoint.address,
            checkpoint_bytes=self.checkpoint.size,
            wake=self._wake,
            endpoint=str(self.endpoint),
            settings=settings,
        )
        gc.freeze()  # a collection in the child would write to, and so copy, every page of what it inherits
        parent = os.getpid()
        self._close_log()
        self._log, log_end = os.pipe()
        os.set_blocking(self._log, False)
        self.socket.inheritable(True)
        self.checkpoint.inheritable(True)
        self.pid = os.fork()
        if self.pid == 0:
            _be_worker(setup, user, sandbox, self.shared_fds, folder=self._folder, log_end=log_end, parent=parent)
        os.close(log_end)
        self.socket.inheritable(False)
        self.checkpoint.inheritable(False)
        self.started = now
        self.due = None

    def lines(self, now: float, time: str, *, last: bool = False) -> list[str]:
        """What the worker has written, as lines for the log: one chunk, whatever there is. *last*: it has ended."""
        data = b""
        if self._log >= 0:
            with contextlib.suppress(BlockingIOError):
                data = os.read(self._log, _CHUNK_BYTES)
        found = self._relay.feed(data, now, time) if data else []
        if last:
            found += self._relay.feed(b"", now, time)
            self._close_log()
        return found

    def _close_log(self) -> None:
        if self._log >= 0:
            os.close(self._log)
            self._log = -1


def _memory(name: str) -> int:
    """A page of memory, all zero, which lasts for as long as somebody has it."""
    fd = os.memfd_create(name)
    os.ftruncate(fd, _PAGE_BYTES)
    return fd


def _nobody_asks(_: Progress) -> None:
    """What is called where progress is of no use to anybody."""


def _be_worker(
    setup: Setup, user: Identity, sandbox: Sandbox, shared: Sequence[int], *, folder: int, log_end: int, parent: int
) -> NoReturn:
    # Never returns into the caller's frames: their objects must not close fds whose numbers are in other use by then.
    code = 70  # EX_SOFTWARE
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        # It is the page that says when to end. A service manager sends these to all processes of a service.
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGABRT):
            signal.signal(number, signal.SIG_IGN)
        for standard in (1, 2):
            os.dup2(log_end, standard)
        close_all_but((setup.wake, folder, *shared))
        log.to_stderr(f"worker {setup.worker}")
        process.prepare()  # while files are within reach
        os.umask(0o177 if closed_to_others(folder) else 0o117)
        privileges.become(user)
        os.fchdir(folder)  # by its fd, as a folder above it may be out of reach; it is the user's own
        os.close(folder)
        privileges.end_with_parent(process.ORPHANED, parent)
        listening = process.listen(setup.endpoint)
        sandbox.before_threads()
        worker = process.Worker(setup, listening)
        sandbox.after_threads()
        code = worker.run()
    except BaseException as error:  # noqa: BLE001  # the process's last frame
        # Without the error's text: it could have been made from captured bytes.
        _log.critical("%s\n%s", type(error).__name__, "\n".join(_frames(error.__traceback__)))
    finally:
        with contextlib.suppress(OSError):  # nobody may be left to read it
            sys.stderr.flush()
        os._exit(code)


def _frames(found: TracebackType | None) -> Iterator[str]:
    """Where an error came from, outermost frame first; without the lines of the sources, which are out of reach."""
    for frame, line in traceback.walk_tb(found):
        yield f"  {frame.f_code.co_filename}:{line} in {frame.f_code.co_name}"


def close_all_but(kept: Sequence[int]) -> None:
    """Close every fd except stdio and some more."""
    first = 3
    for fd in sorted(kept):
        os.closerange(first, fd)
        first = fd + 1
    os.closerange(first, os.sysconf("SC_OPEN_MAX"))


def closed_to_others(folder: int) -> bool:
    """Whether a worker's folder is for its owner alone, because the aggregator is the same user."""
    return os.fstat(folder).st_mode & 0o070 == 0
