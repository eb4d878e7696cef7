from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import zmq

from collector.aggregator.intake import Intake, endpoint
from workers.message import join
from workers.process import HIGH_WATER_MARK

ROOT = Path(__file__).parents[4]
WAIT_MS = 10_000
MESSAGE_BYTES = 1 << 20


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[list[zmq.Socket[bytes]]]:
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    sockets = []
    for number in range(2):
        (tmp_path / f"capture/worker-{number}").mkdir(parents=True)
        socket = context.socket(zmq.DEALER)
        socket.setsockopt(zmq.LINGER, 0)
        socket.bind(endpoint(tmp_path, number))
        sockets.append(socket)
    yield sockets
    context.destroy(linger=0)


@pytest.fixture
def intake(tmp_path: Path, workers: list[zmq.Socket[bytes]]) -> Iterator[Intake]:
    assert workers
    made = Intake([endpoint(tmp_path, number) for number in range(2)], MESSAGE_BYTES)
    yield made
    made.close()


def receive(intake: Intake, worker: int) -> list[tuple[bytes, bytes] | None]:
    assert poll(intake) == ([worker], [])
    return list(intake.receive(worker))


def poll(intake: Intake) -> tuple[list[int], list[int]]:
    """The first that is ready; that a connection came about wakes it up too."""
    deadline = time.monotonic() + WAIT_MS / 1000
    while time.monotonic() < deadline:
        found = intake.poll(WAIT_MS)
        if any(found):
            return found
    return [], []


def test_blocks_come_from_the_worker_that_sent_them(intake: Intake, workers: list[zmq.Socket[bytes]]) -> None:
    workers[1].send(join(b"head", b"body"))
    assert receive(intake, 1) == [(b"head", b"body")]


@pytest.mark.parametrize("parts", [[b"alone"], [b""], [join(b"a", b"b"), b"c"], [b""] * 50])
def test_a_message_of_another_shape_is_none_and_the_next_is_whole(
    intake: Intake, workers: list[zmq.Socket[bytes]], parts: list[bytes]
) -> None:
    workers[0].send_multipart(parts)
    assert receive(intake, 0) == [None]
    workers[0].send(join(b"head", b"body"))
    assert receive(intake, 0) == [(b"head", b"body")]


def test_other_descriptors_wake_the_poll_until_they_are_forgotten(intake: Intake) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"x")
    intake.watch(reading)
    assert poll(intake) == ([], [reading])
    intake.forget(reading)
    assert intake.poll(0) == ([], [])
    os.close(reading)
    os.close(writing)


def test_while_paused_blocks_stay_where_they_are(intake: Intake, workers: list[zmq.Socket[bytes]]) -> None:
    workers[0].send(join(b"head", b"body"))
    assert poll(intake)[0] == [0]
    intake.pause(paused=True)
    assert intake.poll(0) == ([], [])
    intake.pause(paused=False)
    assert receive(intake, 0) == [(b"head", b"body")]


def test_a_frame_over_the_bound_is_not_taken_and_what_comes_later_is(
    intake: Intake, workers: list[zmq.Socket[bytes]]
) -> None:
    workers[0].send(bytes(MESSAGE_BYTES + 1))
    deadline = time.monotonic() + WAIT_MS / 1000
    found: list[tuple[bytes, bytes] | None] = []
    while not found and time.monotonic() < deadline:
        with contextlib.suppress(zmq.Again):
            workers[0].send(join(b"head", b"body"), zmq.NOBLOCK)
        if intake.poll(50)[0]:
            found += intake.receive(0)
    assert set(found) == {(b"head", b"body")}


ENDING_WORKER = """
import contextlib, sys
from workers import message, process

sender = process._ZmqSender("blocks.sock", process.listen("blocks.sock"), message.receipt(3))
with contextlib.closing(sender):
    for number in range(int(sys.argv[1])):
        while not sender.send((b"%d" % number, bytes(20_000))):
            sender.wait(50)
    print("sent", flush=True)
    while not sender.taken(50):
        pass
"""


def test_a_worker_that_ends_while_its_blocks_wait_here_loses_none_of_them(tmp_path: Path) -> None:
    count = HIGH_WATER_MARK + 2  # more than the queue here holds: ZeroMQ forgets the rest when the sender goes
    folder = tmp_path / "capture/worker-0"
    folder.mkdir(parents=True)
    worker = subprocess.Popen(
        [sys.executable, "-c", ENDING_WORKER, str(count)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*filter(None, sys.path), str(ROOT)])},
        stdout=subprocess.PIPE,
    )
    with contextlib.closing(Intake([endpoint(tmp_path, 0)], MESSAGE_BYTES)) as intake:
        assert worker.stdout is not None
        assert worker.stdout.readline() == b"sent\n"
        with pytest.raises(subprocess.TimeoutExpired):
            worker.wait(0.5)
        heads: list[bytes] = []
        while len(heads) < count:
            assert poll(intake)[0] == [0]
            heads += [message[0] for message in intake.receive(0) if message is not None]
        assert heads == [b"%d" % number for number in range(count)]
        intake.acknowledge(0, 3)
        worker.communicate(timeout=WAIT_MS / 1000)
    assert worker.returncode == 0
