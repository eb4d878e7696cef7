from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import zmq

from collector.aggregator.bounds import Bounds, bounds_of
from collector.aggregator.intake import endpoint
from collector.archive.layout import MAX_BODY_BYTES, MAX_STATEMENT_BYTES, most_body_bytes
from collector.config import ConfigError, from_mapping
from tests.support.play import START_NS, connection, exchange
from workers.blocks import BlockBuilder
from workers.message import join

MIB = 1 << 20
ROOT = Path(__file__).parents[4]
PROGRAM_BYTES = 64 * MIB  # pages of files, which the limit does not count
BOUNDS = Bounds(message_bytes=2 * MIB, batch_bytes=MIB)
RECEIVER = """
import sys
from collector.aggregator.bounds import Bounds
from collector.aggregator.intake import Intake
bounds = Bounds(*map(int, sys.argv[2:]))
bounds.apply(1)
intake = Intake([sys.argv[1]], bounds.message_bytes)
while True:
    workers, _ = intake.poll(1000)
    if workers and (b"head", b"body") in intake.receive(0):
        break
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def test_the_largest_statement_that_can_be_set_makes_a_block_that_is_taken() -> None:
    kib = MAX_STATEMENT_BYTES >> 10
    body_bytes = bounds_of(from_mapping({"decode": {"max_statement_kib": kib}})).message_bytes
    assert body_bytes > most_body_bytes(MAX_STATEMENT_BYTES) == MAX_BODY_BYTES
    with pytest.raises(ConfigError):
        from_mapping({"decode": {"max_statement_kib": kib + 1}})


def test_a_block_that_a_statement_of_the_most_bytes_crosses_is_within_its_bound() -> None:
    most = 8 * MIB
    builder = BlockBuilder(0, 0, {})
    session = connection()
    small = exchange(session, command=3, text=b"", text_length=0)
    while not builder.full:
        last = builder.rows
        builder.add(small, START_NS)
    builder.take({}, False)
    for _ in range(last):
        builder.add(small, START_NS)
    assert not builder.full
    # Prepared from a text of the most bytes, with values of as many, and as many sent ahead of it.
    large = exchange(
        session, command=0x17, text=bytes(most), text_length=most, prepared=True, parameters=bytes(2 * most)
    )
    builder.add(large, START_NS)
    head, body = builder.take({}, True)
    assert 3 * most < len(body) <= most_body_bytes(most)
    assert len(join(head, body)) <= bounds_of(from_mapping({"decode": {"max_statement_kib": most >> 10}})).message_bytes


def test_a_message_of_ever_more_frames_takes_no_more_memory_than_the_bound(tmp_path: Path) -> None:
    (tmp_path / "capture/worker-0").mkdir(parents=True)
    place = endpoint(tmp_path, 0)
    with zmq.Context() as context, context.socket(zmq.DEALER) as worker:
        worker.setsockopt(zmq.LINGER, 0)
        worker.setsockopt(zmq.SNDTIMEO, 5000)
        worker.bind(place)
        receiver = subprocess.Popen(
            [sys.executable, "-c", RECEIVER, place, str(BOUNDS.message_bytes), str(BOUNDS.batch_bytes)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            stdout=subprocess.PIPE,
        )
        frame = bytes(MIB)
        with contextlib.suppress(zmq.Again):  # once the receiver has had enough
            for _ in range(2 * BOUNDS.memory_bytes(1) // MIB):
                worker.send(frame, zmq.SNDMORE, copy=False)
            worker.send(b"")
        deadline = time.monotonic() + 30
        while receiver.poll() is None and time.monotonic() < deadline:
            worker.poll(50, zmq.POLLOUT)
            with contextlib.suppress(zmq.Again):
                worker.send(join(b"head", b"body"), zmq.NOBLOCK)
        receiver.kill()
        said, _ = receiver.communicate()
    assert int(said) << 10 < BOUNDS.memory_bytes(1) + PROGRAM_BYTES


def test_a_limit_may_be_raised_later_and_is_not_lowered_under_what_is_held() -> None:
    program = (
        "import resource\n"
        "from collector.aggregator.bounds import Bounds\n"
        "def told(batch_bytes, lower):\n"
        "    Bounds(1 << 20, batch_bytes).apply(1, lower=lower)\n"
        "    print(resource.getrlimit(resource.RLIMIT_DATA)[0])\n"
        "told(8 << 20, True); told(64 << 20, False); told(8 << 20, False)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        stdout=subprocess.PIPE, check=True,
    )  # fmt: skip
    limits = [Bounds(MIB, batch).memory_bytes(1) for batch in (8 * MIB, 64 * MIB, 64 * MIB)]
    assert [int(line) for line in done.stdout.split()] == limits
