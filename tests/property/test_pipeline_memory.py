"""What strangers send takes bounded memory, measured: tracemalloc sees what the compiled modules take as well."""

from __future__ import annotations

import gc
import random
import tracemalloc
from collections.abc import Callable, Iterator

import pytest

from tests.support import mysql_packets as mysql
from tests.support.packets import ACK, FIN, RST, SYN, Connection, ipv4, tcp
from workers.pipeline import COMPILED, Pipeline
from workers.settings import Settings

KIB = 1 << 10
FLOWS = 500
LIMITS = Settings(
    ports=(3306,),
    responses="none",
    max_statement_bytes=16 * KIB,
    max_flows=FLOWS,
    max_flow_buffer_bytes=16 * KIB,
    max_buffer_bytes=256 * KIB,
)
PER_FLOW = 3500 if COMPILED else 9000
"""Bytes a connection takes with nothing kept: its flow, its streams, its conversation."""
BLOCK = 2560 * KIB
"""Of a block that is not full yet, with the sessions in it."""
BOUND = LIMITS.max_buffer_bytes + FLOWS * PER_FLOW + BLOCK


def address(number: int) -> str:
    return f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


def scans() -> Iterator[bytes]:
    """SYNs from everywhere, of which nothing more is heard."""
    for number in range(20_000):
        yield ipv4(tcp(flags=SYN, sequence=number * 77_777), source=address(number))


def answered_scans() -> Iterator[bytes]:
    for number in range(8000):
        yield from Connection(client=address(number)).open()


def strangers() -> Iterator[bytes]:
    """One command from each of many, joined late."""
    for number in range(8000):
        yield Connection(client=address(number)).client(mysql.query(b"SELECT 1"))


def holes() -> Iterator[bytes]:
    """Segments that wait for one which never comes."""
    for number in range(3000):
        connection = Connection(client=address(number % 700), client_first=number)
        connection.open()
        yield connection.client(mysql.query(b"SELECT 1"))
        for _ in range(6):
            connection.client_next += 3
            yield connection.client(b"z" * 700)


def tiny_pieces() -> Iterator[bytes]:
    """Single bytes with holes between, so that each costs more than it brings."""
    for number in range(300):
        connection = Connection(client=address(number))
        yield connection.client(mysql.query(b"SELECT 1"))
        for _ in range(60):
            connection.client_next += 2
            yield connection.client(b"z")


def unfinished() -> Iterator[bytes]:
    """Statements whose end never comes."""
    for number in range(4000):
        connection = Connection(client=address(number % 600), client_first=number)
        yield from connection.open()
        yield connection.client(mysql.query(b"x" * 100_000)[:1400])
        yield connection.client(b"x" * 1400)


def far_and_near() -> Iterator[bytes]:
    """Streams that are led far ahead and come back, again and again."""
    for number in range(400):
        connection = Connection(client=address(number))
        yield connection.client(mysql.query(b"SELECT 1"))
        here = connection.client_next
        for step in range(1, 8):
            connection.client_next = here + step * 90_000_000
            yield connection.client(b"z" * 900)
            connection.client_next = here
            yield connection.client(b"y" * 3)
            here += 3


def ends() -> Iterator[bytes]:
    """Ends and resets, in place and out of it, and what comes behind."""
    chance = random.Random(3)
    for number in range(4000):
        connection = Connection(client=address(number % 900))
        yield connection.client(mysql.query(b"SELECT 1"))
        connection.client_next += chance.choice([0, 1, 500, 1 << 30])
        yield connection.client(flags=chance.choice([RST, FIN | ACK, SYN]))
        yield connection.client(mysql.query(b"SELECT 2"))


def lengths_that_lie() -> Iterator[bytes]:
    for number in range(6000):
        yield Connection(client=address(number)).client(b"\xff\xff\xff\x00\x03SELECT '" + b"x" * 200)


HOSTILE = [scans, answered_scans, strangers, holes, tiny_pieces, unfinished, far_and_near, ends, lengths_that_lie]


@pytest.mark.parametrize("traffic", HOSTILE)
@pytest.mark.parametrize("time_passes", [True, False])
def test_memory_stays_within_the_limits(traffic: Callable[[], Iterator[bytes]], time_passes: bool) -> None:
    packets = list(traffic())
    pipeline = Pipeline(0, 0, LIMITS)
    now_ns = 10**18
    gc.collect()
    tracemalloc.start()
    for number, packet in enumerate(packets):
        pipeline.packet(packet, 0, len(packet), now_ns, len(packet))
        if time_passes and number % 50 == 0:
            now_ns += 400_000_000
            pipeline.tick(now_ns)
        if pipeline.full:
            pipeline.take_block(now_ns)
    highest = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert highest < BOUND
    assert pipeline.kept_bytes() <= LIMITS.max_buffer_bytes * 1.5 + 64 * KIB, "prepared statements have half as much"
    pipeline.finish(now_ns)
    assert pipeline.kept_bytes() == 0
    counters = pipeline.counters()
    assert sum(count for name, count in counters.items() if name.startswith("packets_")) == len(packets)


def test_a_half_open_connection_costs_little() -> None:
    packets = [ipv4(tcp(flags=SYN), source=address(number)) for number in range(10_000)]
    pipeline = Pipeline(0, 0, Settings(ports=(3306,)))
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for packet in packets:
        pipeline.packet(packet, 0, len(packet), 10**18, len(packet))
    taken = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert taken / len(packets) < (400 if COMPILED else 2500)
