"""What is recorded of answers is what a client was answered, as far as each setting of `capture.responses` looks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support import answered, processes
from tests.support.answered import Answered
from tests.support.collector import Collector
from tests.support.folders import reachable_folder
from tests.support.namespaces import Namespace
from tests.support.recorder import TrafficFile
from tests.support.servers import MariaDB
from workers.settings import RESPONSES, Responses

pytestmark = pytest.mark.integration

Record = dict[str, Any]

OF_THE_FIRST_PACKET = ("latency_ns", "sqlstate", "database", "statement_id", "parameters")
"""What every setting but "none" tells alike, beside the statements themselves."""
OF_SEVERAL_RESULTS = ("CALL", "; ")


@dataclass(frozen=True)
class Run:
    """What the client noted, what is in the archive, and what a capture file of the same gives by each setting."""

    notes: list[Answered]
    archive: list[Record]
    ledgers: list[dict[str, Any]]
    replayed: dict[Responses, list[Record]]


def record(folder: Path, responses: Responses) -> Run:
    """Let the client speak to a server of its own, beside a collector, and into a capture file."""
    capture, notes = folder / "traffic.pcap", folder / "notes"
    with Namespace() as namespace, MariaDB(namespace, ("--local-infile=1",)) as server:
        server.execute(*answered.TABLES)
        with Collector(namespace, folder, server.port, responses=responses) as collector:
            traffic = TrafficFile(namespace, capture, server.port)
            try:
                command = processes.module("tests.support.answered", "--port", str(server.port), "--output", str(notes))
                namespace.run(command)
                assert collector.stop() == 0, collector.complaint()
            finally:
                traffic.stop()
        return Run(
            notes=answered.load(notes),
            archive=collector.records(),
            ledgers=list(collector.status()["ledger"].values()),
            replayed={each: collector.replay(capture, server.port, each) for each in RESPONSES},
        )


@pytest.fixture(scope="module", params=["all", "timing"])
def run(request: pytest.FixtureRequest) -> Iterator[Run]:
    """A run with each of the settings that look at whole answers."""
    with reachable_folder() as folder:
        yield record(folder, request.param)


def in_order(found: list[Record], notes: list[Answered]) -> list[Record]:
    """The records of commands by connection, without what PyMySQL says by itself."""
    connections = list(dict.fromkeys(note.connection_id for note in notes))
    return [
        one
        for connection in connections
        for one in found
        if one.get("connection_id") == connection
        and one["command"] not in {"connect", "quit"}
        and not one.get("sql", "").startswith("SET NAMES")
    ]


def as_noted(one: Record) -> Answered:
    """A record as the client would have noted it."""
    return Answered(
        connection_id=one["connection_id"],
        command=one["command"],
        sql=one.get("sql", ""),
        status=one["status"],
        affected_rows=one.get("affected_rows", 0),
        last_insert_id=one.get("last_insert_id", 0),
        rows=one.get("rows"),
        warnings=one.get("warnings", 0),
        error_code=one.get("error_code"),
        error_message=one.get("error_message"),
    )


def is_plain(one: Record) -> bool:
    """Whether its answer has one result, which an error does not end."""
    return not any(mark in one.get("sql", "") for mark in OF_SEVERAL_RESULTS)


def test_with_all_the_records_tell_what_the_client_was_answered(run: Run) -> None:
    recorded = {"replayed": run.replayed["all"]}
    if any("rows" in one for one in run.archive):
        recorded["in the archive"] = run.archive
    for where, found in recorded.items():
        assert [as_noted(one) for one in in_order(found, run.notes)] == run.notes, where


def test_the_conversation_has_the_answers_that_are_hard_to_read(run: Run) -> None:
    notes = run.notes
    assert sum(note.rows == 10_000 for note in notes) >= 2
    assert {note.error_code for note in notes} >= {1146, 1064, 1062, 1065, 65_000, 30_001}
    assert any(note.rows == 1009 and note.affected_rows == 2 for note in notes), "a procedure among statements"
    assert any(note.status == "error" and note.rows == 3 for note in notes), "an error behind rows"
    assert any(note.affected_rows == answered.INFILE_ROWS for note in notes), "a file of the client"
    assert [note.rows for note in notes if note.command == "stmt_fetch"] == [400, 400, 400, 300]
    assert any(note.warnings for note in notes)
    big = [one for one in run.replayed["all"] if one.get("bytes_out", 0) > 16 << 20]
    assert [one["rows"] for one in big] == [1, 2] * 2


def test_the_settings_agree_on_what_they_all_look_at(run: Run) -> None:
    whole = in_order(run.replayed["all"], run.notes)
    for setting in ("first", "timing"):
        found = in_order(run.replayed[setting], run.notes)
        for one, other in zip(whole, found, strict=True):
            assert (one["command"], one.get("sql")) == (other["command"], other.get("sql"))
            assert [one.get(key) for key in OF_THE_FIRST_PACKET if key != "sqlstate" or is_plain(one)] == [
                other.get(key) for key in OF_THE_FIRST_PACKET if key != "sqlstate" or is_plain(one)
            ]
            if is_plain(one):
                keys = ("status", "error_code", "error_message", "affected_rows", "last_insert_id")
                assert [one.get(key) for key in keys] == [other.get(key) for key in keys]


def test_timing_tells_the_bytes_and_the_end_of_each_answer_as_the_whole_of_it_does(run: Run) -> None:
    whole = in_order(run.replayed["all"], run.notes)
    timed = in_order(run.replayed["timing"], run.notes)
    assert [(one.get("bytes_out"), one.get("duration_ns")) for one in timed] == [
        (one.get("bytes_out"), one.get("duration_ns")) for one in whole
    ]
    assert not any("bytes_out" in one or "duration_ns" in one for one in run.replayed["first"])
    assert all(one["duration_ns"] >= one["latency_ns"] for one in whole if one["command"] != "stmt_close")


def test_the_archive_has_what_the_capture_file_has(run: Run) -> None:
    setting: Responses = "all" if any("rows" in one for one in run.archive) else "timing"
    captured, written = (in_order(found, run.notes) for found in (run.archive, run.replayed[setting]))
    times = {"time", "latency_ns", "duration_ns", "host"}
    assert [{key: one[key] for key in one.keys() - times} for one in captured] == [
        {key: one[key] for key in one.keys() - times} for one in written
    ]
    assert all("duration_ns" in one for one in captured if one["command"] != "stmt_close")


def test_no_packet_is_dropped_or_left_over(run: Run) -> None:
    for worker in run.ledgers:
        assert worker["packets"]["dropped"] == 0
        assert worker["packets"]["taken"]["used"] > 0
        assert worker["packets"]["taken"].get("unmatched", 0) == 0
