"""Reads objects on all processors: a function over many of them, its results in order, a bounded number ahead."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from types import TracebackType
from typing import Final, Generic, Protocol, Self, TypeVar

from collector.reading.archive import ArchiveError


class Work(Protocol):
    """An object, or several together."""

    @property
    def path(self) -> str:
        """What it is known by; no other has it."""

    @property
    def size(self) -> int:
        """Bytes."""


T = TypeVar("T")
W = TypeVar("W", bound=Work)

_AHEAD: Final = 2
"""Objects a process that are read before they are asked for."""
_WORTH_BYTES: Final = 4 << 20
"""Below, the work is done before processes have started."""


class Pool(Generic[W, T]):
    """Calls *function*, which must be one that can be sent to another process, for objects.

    Promises: with *jobs* of 1 there is no other process; else no more than _AHEAD results a process are kept that
    nobody has taken; leaving it ends the processes, whatever they do. Raises ArchiveError where one of them dies.
    """

    def __init__(self, function: Callable[[W], T], entries: Iterable[W], jobs: int) -> None:
        self._function = function
        self._queue = deque(entries)
        self._asked: dict[str, Future[T]] = {}
        self._ever_asked: set[str] = set()
        self._most = _AHEAD * jobs
        self._executor: ProcessPoolExecutor | None = None
        if jobs > 1 and len(self._queue) > 1 and sum(entry.size for entry in self._queue) >= _WORTH_BYTES:
            context = multiprocessing.get_context("forkserver")  # a fork of ours would copy threads in any state
            context.set_forkserver_preload([__name__])
            self._executor = ProcessPoolExecutor(min(jobs, len(self._queue)), context, _begin)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._executor is not None:
            processes = list((self._executor._processes or {}).values())  # noqa: SLF001 - there is no public way
            self._executor.shutdown(wait=False, cancel_futures=True)
            if kind is not None or self._asked:
                for process in processes:
                    process.terminate()
            for process in processes:
                process.join()

    def take(self, entry: W) -> T:
        """The result for an object; once each."""
        if self._executor is None:
            return self._function(entry)
        self._ask(entry)
        while self._queue and len(self._asked) <= self._most:
            self._ask(self._queue.popleft())
        try:
            return self._asked.pop(entry.path).result()
        except BrokenProcessPool as error:
            raise ArchiveError(
                f"{entry.path}: a process that read it or one beside it was killed, for want of memory as a rule;"
                " --jobs 1 takes least"
            ) from error

    def results(self) -> Iterator[tuple[W, T]]:
        """For all objects, in order."""
        for entry in list(self._queue):
            yield entry, self.take(entry)

    def _ask(self, entry: W) -> None:
        if self._executor is None or entry.path in self._ever_asked:
            return
        self._ever_asked.add(entry.path)
        self._asked[entry.path] = self._executor.submit(self._function, entry)


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0))


def _begin() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all; the first process ends the others
