"""Where all of each answer is read, compressed answers tell what the same answers in the clear do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from collector.reading.replay import Replay
from tests.support.debian import UnavailableError
from tests.support.folders import reachable_folder
from tests.support.recorder import TrafficFile
from tests.support.servers import PASSWORD, USER
from tests.system import plan
from tests.system.clients import CLIENTS
from tests.system.servers import Server, running
from workers.records import Statement as Record
from workers.settings import Settings

pytestmark = pytest.mark.integration

FORMS = {"connector": ("zlib",), "mysql-client": ("zlib", "zstd")}
"""Clients that compress, and how."""
TOLD = ("sql", "status", "error_code", "rows", "bytes_out", "affected_rows", "warnings")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    try:
        with running("mysql") as found:
            yield found
    except UnavailableError as error:
        pytest.skip(str(error))


def record(client: str, server: Server, folder: Path) -> tuple[dict[str, set[int]], list[Record], dict[str, int]]:
    """Let the client send the same in the clear and in each of its forms; connections by form, records and counters."""
    features = ("text", *FORMS[client])
    capture, output = folder / "traffic.pcap", folder / "sent"
    plan.save(folder / "plan", folder / "infile")
    recorder = TrafficFile(server.namespace, capture, server.port)
    try:
        server.namespace.run(
            [
                *CLIENTS[client].command(folder), "--port", str(server.port), "--user", USER, "--password", PASSWORD,
                "--server", server.name, "--infile", str(folder / "infile"), "--plan", str(folder / "plan"),
                "--output", str(output), "--only", ",".join(features),
            ],
            300,
        )  # fmt: skip
    finally:
        recorder.stop()
    connections = {each["feature"]: _connections(each) for each in map(json.loads, output.read_text().splitlines())}
    replaying = Replay(Settings(ports=(server.port,), responses="all"))
    with capture.open("rb") as file:
        records = list(replaying.statements(file, capture.name))
    return connections, records, replaying.counters


def _connections(told: dict[str, Any]) -> set[int]:
    assert "sent" in told, told
    return {one["connection"] for one in told["sent"]}


@pytest.mark.parametrize("client", FORMS)
def test_rows_bytes_and_times_are_those_of_the_clear(client: str, server: Server) -> None:
    with reachable_folder() as folder:
        try:
            connections, records, counters = record(client, server, folder)
        except UnavailableError as error:
            pytest.skip(str(error))
    by_form = {
        form: [one for one in records if one.session.connection_id in ids and one.command == "query"]
        for form, ids in connections.items()
    }
    clear = by_form.pop("text")
    assert len(clear) > 10
    assert any((one.bytes_out or 0) > 300_000 for one in clear), "an answer of many frames"
    assert set(by_form) == set(FORMS[client])
    for form, compressed in by_form.items():
        assert {one.session.compressed for one in compressed} == {True}, form
        assert [_told(one) for one in compressed] == [_told(one) for one in clear], form
        assert [_timed(one) for one in compressed] == [_timed(one) for one in clear], form
        for one in compressed:
            assert 0 < (one.latency_ns or 0) <= (one.duration_ns or 0), (form, one.sql)
    assert counters["answer_gaps"] == counters["resyncs"] == 0


def _told(one: Record) -> tuple[object, ...]:
    """What is the same each time; a connection's own number is not."""
    found = tuple(getattr(one, name) for name in TOLD)
    return found[:4] if one.sql and b"CONNECTION_ID" in one.sql else found


def _timed(one: Record) -> tuple[bool, bool]:
    """Whether the first and the last byte's times are known."""
    return one.latency_ns is not None, one.duration_ns is not None
