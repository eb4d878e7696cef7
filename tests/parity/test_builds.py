"""The interpreted and the compiled build make the same of the same bytes, each in its own process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.parity.twins import Twin, compiled_folder
from tests.property.test_masking import ANY, LEADS
from tests.property.test_pipeline import hostile_packets, packets
from tests.support import builds
from tests.support.one_way import Sent, captured, talks
from tests.support.play import parts
from tests.support.strategies import Turn, conversations, damaged_scripts, script

START_NS = 1_700_000_000_000_000_000
SLOW = settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.large_base_example,
        HealthCheck.function_scoped_fixture,
    ],
)
SMALL = {"max_statement_bytes": 20_000, "max_flows": 3, "max_flow_buffer_bytes": 20_000, "max_buffer_bytes": 60_000}


class Asked(Protocol):
    """A build that can be asked."""

    def ask(self, name: str, *arguments: object) -> object:
        """What it makes of the arguments."""


class Both:
    """A process for each build."""

    def __init__(self, compiled: Asked, interpreted: Asked) -> None:
        self._twins = (compiled, interpreted)

    def same(self, name: str, *arguments: object) -> object:
        """What both make of it. Fails where they differ."""
        compiled, interpreted = (twin.ask(name, *arguments) for twin in self._twins)
        assert compiled == interpreted
        return interpreted


@pytest.fixture(scope="module")
def both() -> Iterator[Both]:
    folder, reason = compiled_folder()
    if folder is None:
        pytest.skip(reason)
    compiled = Twin("compiled", folder)
    interpreted = Twin("interpreted", builds.ROOT)
    yield Both(compiled, interpreted)
    compiled.close()
    interpreted.close()


@SLOW
@given(turns=conversations(), answers=st.booleans())
def test_conversations_lead_to_the_same_exchanges(both: Both, turns: list[Turn], answers: bool) -> None:
    both.same("conversation", parts(script(turns)), True, answers, 1 << 20, 1 << 22)


@SLOW
@given(sent=talks(faults=True), answers=st.booleans())
def test_one_direction_leads_to_the_same_exchanges(both: Both, sent: Sent, answers: bool) -> None:
    both.same("conversation", captured(sent), True, answers, 1 << 20, 1 << 22)


@SLOW
@given(
    steps=damaged_scripts(), from_start=st.booleans(), answers=st.booleans(), room=st.sampled_from([10, 1000, 1 << 22])
)
def test_damaged_conversations_lead_to_the_same_exchanges(
    both: Both, steps: list[tuple[str, bytes | int]], from_start: bool, answers: bool, room: int
) -> None:
    both.same("conversation", parts(steps), from_start, answers, min(room, 1 << 20), room)


@SLOW
@given(turns=conversations())
def test_packets_lead_to_the_same_blocks(both: Both, turns: list[Turn]) -> None:
    timed = [(packet, START_NS + place * 1000, len(packet)) for place, packet in enumerate(packets(turns))]
    found = both.same("pipeline", timed, {"ports": [3306]}, 50)
    assert isinstance(found, list)
    assert any(body for _, body in found[0])


@SLOW
@given(hostile=hostile_packets(), small=st.booleans(), responses=st.sampled_from(["first", "none", "timing", "all"]))
def test_hostile_packets_lead_to_the_same_blocks_and_counters(
    both: Both, hostile: list[tuple[bytes, int]], small: bool, responses: str
) -> None:
    timed = [(packet, START_NS + place * 10**8, length) for place, (packet, length) in enumerate(hostile)]
    options = {"ports": [3306, 40_001], "responses": responses} | (SMALL if small else {})
    both.same("pipeline", timed, options, 20)


@SLOW
@given(
    turns=conversations(), ends=st.lists(st.integers(0, 60), max_size=2), responses=st.sampled_from(["first", "all"])
)
def test_pipelines_that_take_over_make_the_same_of_what_was_left(
    both: Both, turns: list[Turn], ends: list[int], responses: str
) -> None:
    timed = [(packet, START_NS + place * 1000, len(packet)) for place, packet in enumerate(packets(turns))]
    found = both.same("taken_over", timed, [min(end, len(timed)) for end in ends], responses, 1 << 16)
    assert isinstance(found, list)


@settings(SLOW, max_examples=200)
@given(
    data=st.one_of(
        st.binary(max_size=40), st.lists(st.sampled_from(b"\0\x01\x7f\x80\xfb\xfc\xfd\xfe\xff"), max_size=30)
    ),
    count=st.integers(0, 20),
)
def test_leaf_functions_make_the_same_of_any_bytes(both: Both, data: bytes | list[int], count: int) -> None:
    both.same("leaves", bytes(data), count)


class Stub:
    """A build that answers the same whatever it is asked."""

    def __init__(self, answer: object) -> None:
        self._answer = answer

    def ask(self, name: str, *arguments: object) -> object:
        return (self._answer, name, *arguments)


def test_a_difference_fails_the_comparison() -> None:
    assert Both(Stub(1), Stub(1)).same("leaves", b"") == (1, "leaves", b"")
    with pytest.raises(AssertionError):
        Both(Stub(1), Stub(2)).same("leaves", b"")


@settings(SLOW, max_examples=200)
@given(text=ANY, password=st.sampled_from(LEADS))
def test_sql_text_is_read_alike(both: Both, text: bytes, password: bytes) -> None:
    both.same("sql", text)
    both.same("sql", text + password + b" 'a\\' " + text)


@SLOW
@given(turns=conversations())
def test_packets_lead_to_the_same_masked_blocks(both: Both, turns: list[Turn]) -> None:
    timed = [(packet, START_NS + place * 1000, len(packet)) for place, packet in enumerate(packets(turns))]
    both.same("pipeline", timed, {"ports": [3306], "literals": "mask"}, 50)
