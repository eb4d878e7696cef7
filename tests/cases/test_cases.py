"""Every case goes through the whole pipeline, packets in and records out: as it is and cut up, with each setting."""

from __future__ import annotations

import importlib
import io
import typing
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from collector.reading.replay import Replay
from tests.support.packets import RAW, Captured, pcap
from tests.support.talks import Case, cut, sent_to
from workers.records import Statement
from workers.settings import Settings

HERE = Path(__file__).parent
NAMES = sorted(path.parent.name for path in HERE.glob("*/case.py"))
RESPONSES: tuple[str, ...] = typing.get_args(typing.get_type_hints(Settings)["responses"])
CUTS = (1, 7, 100, 1000)
MOST_PIECES = 4000

OF_THE_SESSION = ("client", "server", "connection_id", "server_version", "user", "program", "tls", "compressed")
OF_THE_ANSWER = (
    "status", "error_code", "sqlstate", "error_message", "affected_rows", "last_insert_id", "warnings", "rows",
)  # fmt: skip
IN_ALL_MODES = ("connect", "change_user")
"""What these are answered is looked at with every setting."""


def case_named(name: str) -> Case:
    module: ModuleType = importlib.import_module(f"tests.cases.{name}.case")
    case: Case = module.CASE
    return case


def records(case: Case, packets: Sequence[Captured], responses: str) -> tuple[list[Statement], dict[str, int]]:
    """What comes of the packets, in the order in which it was said, and what was counted."""
    settings = Settings(ports=case.ports, responses=typing.cast("Any", responses), **case.settings)
    replay = Replay(settings)
    found = list(replay.statements(io.BytesIO(pcap(packets, nanoseconds=True, link=case.link)), "case"))
    counters = replay.counters
    assert counters["statements_decoded"] == counters["statements_packed"] == len(found)
    passed_over = replay.passed_over.not_ip + sum(replay.passed_over.other_links.values())
    assert sum(count for name, count in counters.items() if name.startswith("packets_")) + passed_over == len(packets)
    return in_order(found, case.expected), counters


def in_order(found: Sequence[Statement], expected: Sequence[Mapping[str, object]]) -> list[Statement]:
    """By time; what was sent in one segment has one time, and comes in the expected order as far as it is expected."""
    ordered: list[Statement] = []
    remaining = sorted(found, key=lambda one: one.time_ns)
    while remaining:
        wanted = expected[len(ordered)] if len(ordered) < len(expected) else {}
        same = [one for one in remaining if one.time_ns == remaining[0].time_ns]
        fitting = [one for one in same if (one.command, one.sql) == (wanted.get("command"), wanted.get("sql"))]
        ordered.append((fitting or same)[0])
        remaining.remove(ordered[-1])
    return ordered


def compared(found: Statement, expected: Mapping[str, object], responses: str) -> dict[str, object]:
    """The fields that are expected of a record, as it has them."""
    known = found.command in IN_ALL_MODES or responses != "none"
    return {
        name: getattr(found.session if name in OF_THE_SESSION else found, name)
        for name in expected
        if (known or name not in OF_THE_ANSWER) and (name != "rows" or responses == "all")
    }


def check(case: Case, packets: Sequence[Captured], responses: str) -> dict[str, int]:
    found, counters = records(case, packets, responses)
    assert [(one.command, one.sql) for one in found] == [(one["command"], one.get("sql")) for one in case.expected]
    for record, expected in zip(found, case.expected, strict=True):
        wanted = {"flags": (), **expected}
        mine = compared(record, wanted, responses)
        assert mine == {name: wanted[name] for name in mine}
    return counters


def settings_of(name: str) -> Iterator[str]:
    wanted = case_named(name).responses
    return (mode for mode in RESPONSES if mode in wanted or (mode == "timing" and "first" in wanted))


RUNS = [(name, responses) for name in NAMES for responses in settings_of(name)]


@pytest.mark.parametrize(("name", "responses"), RUNS)
def test_the_records_are_the_expected_ones(name: str, responses: str) -> None:
    case = case_named(name)
    counters = check(case, case.packets, responses)
    assert {counter: counters[counter] for counter in case.counters} == dict(case.counters)


@pytest.mark.parametrize(("name", "responses"), [(name, mode) for name, mode in RUNS if case_named(name).cuts])
def test_cutting_the_clients_segments_changes_nothing(name: str, responses: str) -> None:
    case = case_named(name)
    assert case.link == RAW, "these are cut behind their IP header"
    total = sum(len(one.data) for one in case.packets)
    for size in CUTS:
        if total // size <= MOST_PIECES:
            pieces = [
                Captured(piece, one.time_ns)
                for one in case.packets
                for piece in (cut(one.data, size) if sent_to(one.data, case.ports) else [one.data])
            ]
            check(case, pieces, responses)


@pytest.mark.parametrize("name", [name for name, mode in RUNS if mode == "all" and case_named(name).cuts])
def test_cutting_both_directions_changes_nothing_where_answers_are_read_whole(name: str) -> None:
    case = case_named(name)
    total = sum(len(one.data) for one in case.packets)
    for size in CUTS:
        if total // size <= MOST_PIECES:
            pieces = [Captured(piece, one.time_ns) for one in case.packets for piece in cut(one.data, size)]
            check(case, pieces, "all")


@pytest.mark.parametrize("name", NAMES)
def test_a_case_says_what_it_is(name: str) -> None:
    title, *rest = (HERE / name / "README.md").read_text(encoding="utf-8").splitlines()
    assert title.startswith("# ")
    assert 1 <= len([line for line in rest if line]) <= 12
