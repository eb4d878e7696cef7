"""Takes blocks from the workers over ZeroMQ; the one module of the aggregator that knows it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import zmq
from zmq.utils.monitor import recv_monitor_message

from collector.places import BLOCKS_SOCKET, worker_folder
from workers.message import receipt, split

HIGH_WATER_MARK: Final = 4
MOST_AT_ONCE: Final = 16  # from one worker, before the others and the timers have their turn

_RECONNECT_MS: Final = 50
_RECONNECT_MAX_MS: Final = 1000
_EVENTS: Final = zmq.EVENT_CONNECTED | zmq.EVENT_CONNECT_RETRIED | zmq.EVENT_DISCONNECTED
_GIVEN_UP_NS: Final = 200_000_000  # a connection that is lost is tried again at once, or never


def endpoint(run_folder: Path, worker: int) -> str:
    """Where worker number *worker* binds."""
    return f"ipc://{worker_folder(run_folder, worker) / BLOCKS_SOCKET}"


class Intake:
    """DEALER sockets connected to each worker, and a poll over them and other file descriptors.

    Promise: whatever a worker sends, `receive` does not raise; a message that is not a block comes back as None. A
    frame over *max_message_bytes* ends the connection, and what is in its queue goes with it; it is then made anew.
    """

    def __init__(self, endpoints: Sequence[str], max_message_bytes: int) -> None:
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context(io_threads=1)
        self._poller = zmq.Poller()
        self._links = [_Link(self._context, place, max_message_bytes) for place in endpoints]
        for link in self._links:
            self._poller.register(link.socket, zmq.POLLIN)
            self._poller.register(link.events, zmq.POLLIN)
        self._paused = False

    def watch(self, descriptor: int) -> None:
        """Let `poll` wake up for *descriptor* too."""
        self._poller.register(descriptor, zmq.POLLIN)

    def forget(self, descriptor: int) -> None:
        """No longer wake up for *descriptor*."""
        self._poller.unregister(descriptor)

    def pause(self, *, paused: bool) -> None:
        """While paused, blocks stay where they are: queues fill, and the workers stop draining."""
        if paused == self._paused:
            return
        self._paused = paused
        for link in self._links:
            if paused:
                self._poller.unregister(link.socket)
            else:
                self._poller.register(link.socket, zmq.POLLIN)

    def poll(self, timeout_ms: int) -> tuple[list[int], list[int]]:
        """Wait at most *timeout_ms*; the workers and the watched descriptors that have something."""
        ready = {entry for entry, events in self._poller.poll(timeout_ms) if events}
        now_ns = time.monotonic_ns()
        for link in self._links:
            link.mind(now_ns)
        workers = [number for number, link in enumerate(self._links) if link.socket in ready]
        return workers, [entry for entry in ready if isinstance(entry, int)]

    def receive(self, worker: int) -> Iterator[tuple[bytes, bytes] | None]:
        """The messages of *worker* that are here, at most MOST_AT_ONCE; None for a malformed one. Does not block."""
        for _ in range(MOST_AT_ONCE):
            try:
                yield _message(self._links[worker].socket)
            except zmq.Again:
                return

    def acknowledge(self, worker: int, incarnation: int) -> None:
        """Tell *worker* that its final block is here, for which it waits. Does not block."""
        with contextlib.suppress(zmq.Again):  # it has sent many final blocks, which none does that keeps to the rules
            self._links[worker].socket.send(receipt(incarnation), zmq.NOBLOCK)

    def close(self) -> None:
        """Give up what is still in the queues."""
        for link in self._links:
            link.close()
        self._context.term()


class _Link:
    """The socket to one worker. ZeroMQ connects it again when the worker goes, but not when it breaks a rule."""

    def __init__(self, context: zmq.Context[zmq.Socket[bytes]], place: str, max_message_bytes: int) -> None:
        self._place = place
        self._lost_ns: int | None = None
        self.socket = context.socket(zmq.DEALER)
        self.socket.set_hwm(HIGH_WATER_MARK)
        self.socket.setsockopt(zmq.LINGER, 0)
        self.socket.setsockopt(zmq.MAXMSGSIZE, max_message_bytes)
        self.socket.setsockopt(zmq.RECONNECT_IVL, _RECONNECT_MS)
        self.socket.setsockopt(zmq.RECONNECT_IVL_MAX, _RECONNECT_MAX_MS)
        self.events = self.socket.get_monitor_socket(_EVENTS)
        self.socket.connect(place)

    def mind(self, now_ns: int) -> None:
        """Connect anew where ZeroMQ has given up."""
        while self.events.poll(0):
            event = recv_monitor_message(self.events, zmq.NOBLOCK)["event"]
            self._lost_ns = now_ns if event == zmq.EVENT_DISCONNECTED else None
        if self._lost_ns is not None and now_ns - self._lost_ns >= _GIVEN_UP_NS:
            self._lost_ns = None
            self.socket.disconnect(self._place)  # what ended is still a place that a DEALER does not connect to again
            self.socket.connect(self._place)

    def close(self) -> None:
        """Give up what is still in the queue."""
        self.socket.disable_monitor()
        self.events.close(linger=0)
        self.socket.close(linger=0)


def _message(socket: zmq.Socket[bytes]) -> tuple[bytes, bytes] | None:
    frame = socket.recv(zmq.NOBLOCK)
    more = False
    while socket.getsockopt(zmq.RCVMORE):
        socket.recv(zmq.NOBLOCK)
        more = True
    try:
        return None if more else split(frame)
    except ValueError:
        return None
