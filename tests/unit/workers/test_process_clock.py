"""A worker whose host's clock is set under its hands: ring, loop and pipeline as they are, the clocks from here."""

from __future__ import annotations

import mmap
from operator import itemgetter

import pytest

from collector.archive.heads import read_head
from tests.support import mysql_packets as mysql
from tests.support.packets import Captured, Connection, RingMemory
from tests.support.pipeline import STEP_NS, logged_in
from tests.unit.workers.test_process import SECOND, Sender, Times
from workers import records
from workers.pipeline import Pipeline
from workers.process import Loop
from workers.records import Statement
from workers.ring import Ring
from workers.settings import Settings


class Worker:
    """Takes packets as they come, a block of the ring each time."""

    def __init__(self) -> None:
        self.times = Times()
        self.times.realtime_ns += 10**18
        self._memory = RingMemory(1 << 16, 8)
        self._sender = Sender()
        ring = Ring(self._memory.address, self._memory.block_bytes, self._memory.block_count)
        page = memoryview(mmap.mmap(-1, mmap.PAGESIZE))
        self._loop = Loop(ring, Pipeline(0, 0, Settings(ports=(3306,))), self._sender, page, self.times.read)

    def take(self, *packets: bytes) -> None:
        captured = []
        for packet in packets:
            self.times.pass_(STEP_NS)
            captured.append(Captured(packet, self.times.realtime_ns))
        self._memory.put(captured)
        self.turn()

    def turn(self) -> None:
        while self._loop.step(self.times.realtime_ns):
            pass

    def statements(self) -> list[tuple[int, Statement]]:
        """All there are, each with its time by the monotonic clock."""
        assert self._loop.finish(self.times.realtime_ns, SECOND)
        found = []
        for head, body in self._sender.sent:
            clock_ns = read_head(head, len(body)).clock_ns
            found += [(one.time_ns - clock_ns, one) for one in records.statements(body)]
        return found


@pytest.mark.parametrize("step_ns", [-3600 * SECOND, -2 * SECOND, 2 * SECOND, 3600 * SECOND])
def test_statements_stay_in_the_order_in_which_they_ran_and_no_duration_is_measured_by_two_clocks(step_ns: int) -> None:
    worker, first, second = Worker(), Connection(), Connection(client_port=40001)
    worker.take(*logged_in(first), *logged_in(second))
    worker.take(first.client(mysql.query(b"1")), first.server(mysql.result()))
    worker.take(second.client(mysql.query(b"2")))
    worker.times.realtime_ns += step_ns
    worker.take(first.client(mysql.query(b"3")), first.server(mysql.result()))
    worker.take(second.server(mysql.result()))
    worker.times.pass_(2 * SECOND)
    worker.turn()
    worker.take(first.client(mysql.query(b"4")), first.server(mysql.result()))
    statements = worker.statements()
    queries = [one for _, one in sorted(statements, key=itemgetter(0)) if one.command == "query"]
    assert [one.sql for one in queries if one.sql != b"3"] == [b"1", b"2", b"4"]
    assert {one.sql: one.latency_ns for one in queries} == {b"1": STEP_NS, b"2": None, b"3": None, b"4": STEP_NS}
    assert [one.status for one in queries] == ["result"] * 4
    by_text = {one.sql: monotonic_ns for monotonic_ns, one in statements}
    assert by_text[b"4"] - by_text[b"2"] == 2 * SECOND + 4 * STEP_NS
