"""Puts generated traffic on a veth pair at a paced rate: statements into "db" from its peer, answers out of "db".

One process does both, so that an answer never overtakes its statement: each batch of statements is followed at once
by the answers to it. Statements leave the peer, so capture in "db" sees them as received; answers are sent from a
socket in "db", so capture sees them as outgoing, as it sees those of a real server. What the kernel's taps cost is
thereby paid by this process, as a real server and its softirqs would pay it; it is no part of any figure.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import mmap
import os
import signal
import socket
import struct
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Final

from bench import veth
from bench.rotation import Rotation
from bench.traffic import Frame, Workload, generate

_TICK_S: Final = 0.001
_MESSAGE_BYTES: Final = 64  # struct mmsghdr on a 64-bit machine: msghdr of 56, length, padding
_IOVEC: Final = struct.Struct("QQ")
_MESSAGE: Final = struct.Struct("QIxxxxQQQQIxxxxIxxxx")
_MOST_WAITING: Final = 5  # batches' worth of statements that a late wake-up may catch up with at once


@dataclass(slots=True)
class Sent:
    """What one run of the sender did."""

    statements: int = 0
    packets: int = 0
    seconds: float = 0.0
    late_ticks: int = 0
    cpu_seconds: float = 0.0


class Messages:
    """The frames of one buffer as an array for sendmmsg(2), and the socket they leave through."""

    def __init__(self, out: socket.socket, buffer: bytearray, starts: list[int]) -> None:
        self._out = out
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._libc.sendmmsg.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_uint, ctypes.c_int]
        self._pinned = ctypes.c_char.from_buffer(buffer)  # for as long as addresses into it are in use
        base = ctypes.addressof(self._pinned)
        pieces = b"".join(_IOVEC.pack(base + start, end - start) for start, end in pairwise(starts))
        self._pieces = ctypes.create_string_buffer(pieces, len(pieces))
        piece = ctypes.addressof(self._pieces)
        pieces_at = range(piece, piece + len(pieces), _IOVEC.size)
        messages = b"".join(_MESSAGE.pack(0, 0, at, 1, 0, 0, 0, 0) for at in pieces_at)
        self._messages = ctypes.create_string_buffer(messages, len(messages))
        self._at = ctypes.addressof(self._messages)

    def send(self, first: int, count: int) -> None:
        """Send *count* frames from number *first*; waits while the interface has no room."""
        while count:
            done = self._libc.sendmmsg(self._out.fileno(), self._at + first * _MESSAGE_BYTES, count, 0)
            if done < 0:
                number = ctypes.get_errno()
                raise OSError(number, os.strerror(number), "sendmmsg")
            first += done
            count -= done


class Sender:
    """Sends a rotation between the ends of a veth pair; the 8 bytes of *progress* tell others how many statements."""

    def __init__(self, pair: veth.Pair, rotation: Rotation, progress: mmap.mmap) -> None:
        self._rotation = rotation
        self._progress = progress
        self._app = veth.packet_socket(pair.app, veth.PEER, bypass=True)
        self._db = veth.packet_socket(pair.db, veth.INTERFACE, bypass=False)
        self._requests = Messages(self._app, rotation.requests, rotation.requests_at)
        self._answers = Messages(self._db, rotation.answers, rotation.answers_at)
        self.sent = Sent()
        self.stopping = False

    def run(self, rate: float, seconds: float) -> None:
        """Open the connections, send *rate* statements a second for *seconds* or until stopping, close them."""
        self._slowly(self._rotation.opening())
        started = time.monotonic()
        cpu = time.process_time()
        skipped = 0
        while not self.stopping:
            now = time.monotonic() - started
            if now >= seconds:
                break
            due = int(now * rate) - self.sent.statements - skipped
            most = max(1, int(rate * _TICK_S * _MOST_WAITING))
            if due > most:
                self.sent.late_ticks += 1
                skipped += due - most
                due = most
            self._burst(due)
            time.sleep(max(0.0, started + now + _TICK_S - time.monotonic()))
        self.sent.seconds = time.monotonic() - started
        self.sent.cpu_seconds = time.process_time() - cpu
        self._slowly(self._rotation.closing())

    def _burst(self, due: int) -> None:
        while due:
            at = self.sent.statements % len(self._rotation)
            count = self._rotation.batch(at, due)
            self._rotation.stamp(at, count)
            self._requests.send(at, count)
            self._answers.send(at, count)
            self.sent.statements += count
            self.sent.packets += 2 * count
            due -= count
        self._progress[:8] = struct.pack("Q", self.sent.statements)

    def _slowly(self, frames: Iterable[Frame]) -> None:
        for frame in frames:
            (self._app if frame.to_server else self._db).send(frame.data)
            self.sent.packets += 1
            time.sleep(0.0002)


def whole_rounds(texts: int, connections: int) -> int:
    """*texts*, rounded up so that a turn of the rotation does not end inside a round of the connections."""
    return -(-texts // connections) * connections


def main() -> int:
    """Send generated traffic into the namespaces of two processes (see bench.veth); prints what was sent as JSON."""
    parser = argparse.ArgumentParser(prog="python -m bench.sender", description=main.__doc__)
    parser.add_argument("--db", type=int, required=True, help="process whose network namespace captures")
    parser.add_argument("--app", type=int, required=True, help="process whose network namespace is the clients'")
    parser.add_argument("--rate", type=float, required=True, help="statements a second")
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--connections", type=int, default=40)
    parser.add_argument("--texts", type=int, default=200_000, help="statements after which they begin anew")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--progress", type=Path, required=True, help="file whose first 8 bytes are the statements sent")
    arguments = parser.parse_args()
    workload = Workload(whole_rounds(arguments.texts, arguments.connections), arguments.connections, arguments.seed)
    rotation = Rotation(generate(workload))
    with arguments.progress.open("r+b") as file, mmap.mmap(file.fileno(), 8) as progress:
        sender = Sender(veth.Pair(arguments.db, arguments.app), rotation, progress)

        def stop(_signal: int, _frame: FrameType | None) -> None:
            sender.stopping = True

        signal.signal(signal.SIGTERM, stop)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.readline()
        sender.run(arguments.rate, arguments.seconds)
    sys.stdout.write(json.dumps(asdict(sender.sent)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
