"""A generated ring is read by the product's own ring reader, and nothing of it is lost."""

from __future__ import annotations

import ctypes
import struct

import pytest

from bench import frames
from bench.micro import ring_image
from bench.traffic import SERVER_PORT, Traffic, Workload, generate, timed
from workers.pipeline import Pipeline
from workers.ring import Ring
from workers.settings import Settings

STATEMENTS, CONNECTIONS = 400, 8
TIMEOUT_NS = 20_000_000


@pytest.fixture(scope="module")
def traffic() -> Traffic:
    return generate(Workload(STATEMENTS, CONNECTIONS))


@pytest.mark.parametrize(
    ("responses", "answers"), [("none", 0), ("first", STATEMENTS + CONNECTIONS), ("all", STATEMENTS + CONNECTIONS)]
)
def test_every_packet_of_the_image_is_used_and_every_statement_found(
    traffic: Traffic, responses: str, answers: int
) -> None:
    image = ring_image.build(timed(traffic, 8_000, 10**18), SERVER_PORT, responses, TIMEOUT_NS)
    ring_memory = bytearray(image.data)
    for at in range(0, len(ring_memory), ring_image.BLOCK_BYTES):
        ring_memory[at + ring_image.STATUS_AT] = ring_image.TO_USER
    pinned = ctypes.c_char.from_buffer(ring_memory)
    ring = Ring(ctypes.addressof(pinned), ring_image.BLOCK_BYTES, len(image.ends_ns))
    pipeline = Pipeline(0, 0, Settings(ports=(SERVER_PORT,), responses=responses))  # type: ignore[arg-type]  # a parameter
    while ring.drain(pipeline, 1):
        pass
    pipeline.take_block(image.ends_ns[-1], final=True)
    counters = pipeline.counters()
    control = CONNECTIONS * (4 + 2 + 1)  # SYN and FIN both ways, greeting and login, QUIT
    assert image.packets == STATEMENTS + control + answers
    assert counters["packets_used"] == image.packets
    assert counters["statements_packed"] == STATEMENTS + 2 * CONNECTIONS  # and a login and a QUIT each


def test_a_block_is_closed_when_its_time_is_over(traffic: Traffic) -> None:
    image = ring_image.build(timed(traffic, 8_000, 10**18), SERVER_PORT, "none", TIMEOUT_NS)
    first, last = struct.unpack_from("=II", image.data, 32), struct.unpack_from("=II", image.data, 40)
    assert (last[0] - first[0]) * 1_000_000_000 + last[1] - first[1] <= TIMEOUT_NS
    assert len(image.ends_ns) == len(image.data) // ring_image.BLOCK_BYTES >= STATEMENTS / 8_000 * 1e9 // TIMEOUT_NS


def test_the_filter_passes_requests_and_control_and_only_the_answers_that_are_asked_for(traffic: Traffic) -> None:
    syn, syn_ack, ack, greeting, login, ok = (frame.data for frame in traffic.opening[:6])
    passed = [ring_image.passes(frame, SERVER_PORT, "none") for frame in (syn, syn_ack, ack, greeting, login, ok)]
    assert passed == [True, True, False, True, True, False]
    assert ring_image.passes(ok, SERVER_PORT, "first")
    assert ring_image.passes(traffic.exchanges[0].answer, SERVER_PORT, "first")
    assert not ring_image.passes(traffic.exchanges[0].answer, SERVER_PORT, "none")
    assert len(ack) == frames.HEADER_BYTES
