"""Each client on each server: what querytap tells is what the client sent and what the server's log says.

A cell of the matrix is one feature. A client tries all features one after the other, each on connections of its own,
and keeps a list. docs/compatibility.md holds the outcome.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support import tls_account
from tests.support.debian import UnavailableError
from tests.support.folders import reachable_folder
from tests.support.recorder import TrafficFile
from tests.support.servers import PASSWORD, USER
from tests.support.statements import Statement
from tests.support.tls_account import Account
from tests.system import comparing, matrix, plan
from tests.system.clients import CLIENTS
from tests.system.comparing import Traffic
from tests.system.features import FEATURES
from tests.system.matrix import Cell, Outcome
from tests.system.own import Sent
from tests.system.servers import SERVERS, Server, running

pytestmark = pytest.mark.integration

PAIRS = [(client, server) for server in SERVERS for client in CLIENTS]


@dataclass(frozen=True)
class Run:
    """What one client did on one server."""

    client: str
    server: str
    sent: dict[str, list[Sent]]
    not_sent: dict[str, str]
    """Why a feature was not tried."""
    broken: dict[str, str]
    """What went wrong in the client."""
    first: Traffic
    none: Traffic
    client_alone: Traffic
    log: list[Statement]
    hidden: list[Statement]
    """What the log has of connections under TLS."""
    account: Account
    """What the capture file has of them."""


@pytest.fixture(scope="module")
def outcomes() -> Iterator[dict[Cell, Outcome]]:
    """Takes what became of each cell, for the document."""
    found: dict[Cell, Outcome] = {}
    yield found
    if matrix.WRITES:
        matrix.write(found)


@pytest.fixture(scope="module")
def server() -> Iterator[Callable[[str], Server]]:
    """Gives the server of a name, started when it is first wanted."""
    with ExitStack() as stack:
        yield functools.cache(lambda name: stack.enter_context(running(name)))


@pytest.fixture(scope="module", params=PAIRS, ids=["-on-".join(pair) for pair in PAIRS])
def run(
    request: pytest.FixtureRequest, server: Callable[[str], Server], report: Callable[[str], None]
) -> Iterator[Run]:
    client, name = request.param
    with reachable_folder() as folder:
        try:
            yield record(client, CLIENTS[client].command(folder), server(name), folder)
        except UnavailableError as error:
            report(f"NOT TESTED: {CLIENTS[client].title} on {SERVERS[name]}: {error}")
            pytest.skip(str(error))


def record(client: str, command: list[str], server: Server, folder: Path) -> Run:
    """Let the client send, beside a recorder."""
    capture, output = folder / "traffic.pcap", folder / "sent"
    plan.save(folder / "plan", folder / "infile")
    before = server.log.stat().st_size
    recorder = TrafficFile(server.namespace, capture, server.port)
    try:
        server.namespace.run(
            [
                *command, "--port", str(server.port), "--user", USER, "--password", PASSWORD, "--server", server.name,
                "--infile", str(folder / "infile"), "--plan", str(folder / "plan"), "--output", str(output),
            ],
            300,
        )  # fmt: skip
    finally:
        recorder.stop()
    log = server.log.read_bytes()[before:]
    told = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    return Run(
        client=client,
        server=server.name,
        sent={each["feature"]: [Sent(**one) for one in each["sent"]] for each in told if "sent" in each},
        not_sent={each["feature"]: each["impossible"] for each in told if "impossible" in each},
        broken={each["feature"]: each["broken"] for each in told if "broken" in each},
        first=comparing.replay(capture, server.port, "first"),
        none=comparing.replay(capture, server.port, "none"),
        client_alone=comparing.replay(capture, server.port, "first", client_alone=True),
        log=comparing.logged(log, server.name),
        hidden=comparing.hidden(log),
        account=tls_account.read(capture, server.port),
    )


def test_the_client_could_do_what_it_tried(run: Run) -> None:
    assert not run.broken, "\n".join(f"{feature}: {why}" for feature, why in run.broken.items())


@pytest.mark.parametrize("feature", FEATURES)
def test_records_are_what_the_client_sent_and_the_server_logged(
    run: Run, feature: str, outcomes: dict[Cell, Outcome]
) -> None:
    cell = Cell(run.server, run.client, feature)
    if feature in run.not_sent:
        outcomes[cell] = Outcome("impossible", run.not_sent[feature])
    else:
        sent = run.sent.get(feature, [])
        compared, found = compare_hidden(run, sent) if feature == "tls" else compare(run, sent)
        assert not found, "\n".join(found)
        assert compared, "nothing was compared"
        outcomes[cell] = Outcome("compared", str(compared))
    if not matrix.WRITES:
        assert matrix.committed().get(cell) == outcomes[cell].state, f"{matrix.DOCUMENT.name} is not up to date"


def compare(run: Run, sent: Sequence[Sent]) -> tuple[int, list[str]]:
    """How many commands of a cell were compared, and what differs."""
    connections = {one.connection for one in sent}
    records = run.first.of_connections(connections)
    log = [entry for entry in run.log if entry.connection_id in connections]
    found = comparing.with_the_list(records, sent) + comparing.with_the_log(records, log, run.server)
    refused = [one for one in sent if one.command == "Connect"]
    if refused:
        found += comparing.failed_logins(run.first.records, refused)
    return len(comparing.told(records, run.server)) + len(refused), found


def compare_hidden(run: Run, sent: Sequence[Sent]) -> tuple[int, list[str]]:
    """How many commands the server took under TLS, and what is wrong with how querytap tells of it."""
    connections = {one.connection for one in sent}
    logged = [entry for entry in run.hidden if entry.connection_id in connections]
    found = [f"the server says it is in the clear: {one}" for one in sent if not one.text]
    found += [f"a record: {one}" for one in run.first.of_connections({entry.connection_id for entry in run.hidden})]
    logins = sum(entry.command == "Connect" for entry in run.hidden)
    if logins != run.account.connections:
        found.append(f"{run.account.connections} connections under TLS, and the server says {logins}")
    for traffic in (run.first, run.none):
        names = ("connections_encrypted", "encrypted_bytes", "encrypted_answer_bytes")
        counted = Account(*(traffic.counters[name] for name in names))
        if counted != run.account:
            found.append(f"counted {counted}, and the capture file says {run.account}")
    return len(logged), found


def test_no_record_and_no_entry_of_the_log_is_left_over(run: Run) -> None:
    found = comparing.with_the_log(run.first.records, run.log, run.server)
    assert not found, "\n".join(found)


def test_the_same_commands_are_told_without_answers(run: Run) -> None:
    found = comparing.without_answers(run.none.records, run.first.records)
    assert not found, "\n".join(found)


def test_executions_have_their_text_or_none_where_the_server_is_not_captured(run: Run) -> None:
    found = comparing.of_clients_alone(run.client_alone, run.first.records)
    assert not found, "\n".join(found)


@pytest.mark.skipif(matrix.WRITES, reason="it is written at the end")
def test_the_document_has_every_cell() -> None:
    assert set(matrix.committed()) == set(matrix.cells())


def test_nothing_was_lost_on_the_way(run: Run) -> None:
    for traffic in (run.first, run.none):
        counters = traffic.counters
        assert counters["packets_desync"] == 0
        assert counters["statements_decoded"] == len(traffic.records)
