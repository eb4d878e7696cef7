"""Asks each source for its readings at its pace, in a thread of its own: one that does not answer delays no other."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable

from collector.monitor.board import Board
from collector.monitor.families import Readings

Seconds = Callable[[], float]
Read = Callable[[], Readings]


class Polling:
    """The sources that are polled.

    Promise: a source is asked again only when it has answered. What it takes longer than its pace is left out, and not
    made good. An error that is none of its readings is a fault of ours: the thread ends, and check() raises it.
    """

    def __init__(self, board: Board) -> None:
        self._board = board
        self._errors: list[BaseException] = []
        self._told, self._telling = socket.socketpair()
        self._over = threading.Event()

    @property
    def fd(self) -> int:
        """Becomes readable when check() is to be called."""
        return self._told.fileno()

    def add(self, source: str, pace_s: Seconds, read: Read) -> None:
        """Poll it from now on. The thread does not keep the process from ending, as it may wait for long."""
        threading.Thread(target=self._run, args=(source, pace_s, read), name=source, daemon=True).start()

    def check(self) -> None:
        """Raise the error that ended a source's thread, if one did."""
        if self._errors:
            raise self._errors[0]

    def stop(self) -> None:
        """Ask nothing more. What is under way is not waited for."""
        self._over.set()

    def close(self) -> None:
        """Stop, and let go of the descriptors."""
        self.stop()
        self._told.close()
        self._telling.close()

    def _run(self, source: str, pace_s: Seconds, read: Read) -> None:
        try:
            while not self._over.is_set():
                began = time.monotonic()
                self._board.post(source, read())
                self._over.wait(max(began + pace_s() - time.monotonic(), 0))
        except BaseException as error:  # noqa: BLE001  # the main thread raises it
            self._errors.append(error)
            if not self._over.is_set():
                self._telling.send(b"\0")
