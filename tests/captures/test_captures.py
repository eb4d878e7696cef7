"""Captures that others made decode to what their references say. The folder is named by QUERYTAP_CAPTURES."""

from __future__ import annotations

import os
import typing
from collections.abc import Sequence
from pathlib import Path

import pytest

from collector.reading.replay import Replay
from tests.captures import comparing, references, sources
from tests.captures.deviations import DEVIATIONS
from workers.records import Statement
from workers.settings import Settings

FOLDER = Path(os.environ.get("QUERYTAP_CAPTURES", ""))
CAPTURES = references.captures(FOLDER) if "QUERYTAP_CAPTURES" in os.environ else []
RESPONSES: tuple[str, ...] = typing.get_args(typing.get_type_hints(Settings)["responses"])
"""From the one that knows least of the answers to the one that knows most."""

pytestmark = pytest.mark.skipif(
    "QUERYTAP_CAPTURES" not in os.environ,
    reason="NOT CHECKED against captures of others: QUERYTAP_CAPTURES names no folder (tests/captures/README.md)",
)


def decoded(capture: references.Capture, responses: str) -> tuple[list[Statement], dict[str, int]]:
    """All statements of the file, which must be readable to its end, and the counters."""
    replay = Replay(Settings(ports=capture.ports, responses=typing.cast("typing.Any", responses)))
    with capture.path.open("rb") as file:
        statements = list(replay.statements(file, capture.path.name))
    assert replay.problem is None
    return statements, replay.counters


def unknown(capture: references.Capture, found: Sequence[comparing.Disagreement]) -> list[comparing.Disagreement]:
    """The disagreements that no row of DEVIATIONS has."""
    allowed = known(capture)
    return [one for one in found if f"{one.place}: {one.what}" not in allowed]


def known(capture: references.Capture) -> set[str]:
    return {what for row in DEVIATIONS if row.file == capture.path.name for what in row.what}


def test_the_folder_has_captures() -> None:
    assert CAPTURES, f"{FOLDER} has an index.tsv without rows"
    assert [capture.path.name for capture in CAPTURES if not capture.path.is_file()] == []


@pytest.mark.parametrize("responses", RESPONSES)
@pytest.mark.parametrize("capture", CAPTURES, ids=lambda capture: capture.path.name)
def test_a_capture_decodes_to_the_statements_of_its_reference(capture: references.Capture, responses: str) -> None:
    statements, counters = decoded(capture, responses)
    connections = references.connections(capture.path)
    assert unknown(capture, list(comparing.disagreements(connections, statements, counters, responses))) == []


@pytest.mark.parametrize("responses", RESPONSES[1:])
@pytest.mark.parametrize("capture", CAPTURES, ids=lambda capture: capture.path.name)
def test_a_capture_decodes_to_what_the_tests_of_its_origin_expect(capture: references.Capture, responses: str) -> None:
    source = references.source(capture.path)
    statements, _ = decoded(capture, responses)
    assert unknown(capture, list(sources.disagreements(source or {}, statements))) == []


@pytest.mark.parametrize("capture", [one for one in CAPTURES if known(one)], ids=lambda capture: capture.path.name)
def test_a_known_deviation_is_still_there(capture: references.Capture) -> None:
    statements, counters = decoded(capture, RESPONSES[-1])
    found = [
        *comparing.disagreements(references.connections(capture.path), statements, counters, RESPONSES[-1]),
        *sources.disagreements(references.source(capture.path) or {}, statements),
    ]
    assert known(capture) - {f"{one.place}: {one.what}" for one in found} == set()
