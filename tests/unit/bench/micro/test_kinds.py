from __future__ import annotations

import ctypes

import pytest

from bench.micro import kinds, ring_image
from bench.traffic import SERVER_PORT
from workers.pipeline import Pipeline
from workers.ring import Ring
from workers.settings import RESPONSES, Settings

COMMANDS = 40


@pytest.mark.parametrize("responses", [one for one in RESPONSES if one in {"none", "first"}])
@pytest.mark.parametrize("kind", kinds.KINDS, ids=lambda kind: kind.name)
def test_every_command_of_a_kind_is_found(kind: kinds.Kind, responses: str) -> None:
    image = ring_image.build(kinds.generate(kind, COMMANDS), SERVER_PORT, responses, 10**9)
    memory = bytearray(image.data)
    for at in range(0, len(memory), ring_image.BLOCK_BYTES):
        memory[at + ring_image.STATUS_AT] = ring_image.TO_USER
    pinned = ctypes.c_char.from_buffer(memory)
    ring = Ring(ctypes.addressof(pinned), ring_image.BLOCK_BYTES, len(image.ends_ns))
    pipeline = Pipeline(0, 0, Settings(ports=(SERVER_PORT,), responses=responses))  # type: ignore[arg-type]  # a parameter
    while ring.drain(pipeline, 1):
        pass
    pipeline.take_block(image.ends_ns[-1], final=True)
    counters = pipeline.counters()
    logins = 10 * (2 if kind.before else 1)
    assert counters["statements_packed"] == COMMANDS + logins
    assert counters["parameters_unread"] == counters["resyncs"] == 0
