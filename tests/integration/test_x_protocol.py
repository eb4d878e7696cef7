"""What querytap says of X Protocol traffic is what a real server says: MySQL 9.7 and MySQL's own client."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support import debian, mysql97, processes, x_workload
from tests.support.collector import Collector
from tests.support.folders import reachable_folder
from tests.support.mysql97 import MySQL97
from tests.support.namespaces import Namespace
from tests.support.recorder import TrafficFile
from workers.settings import RESPONSES, Responses

pytestmark = pytest.mark.integration

Record = dict[str, object]
_ENTRY = re.compile(rb"^\d{4}-\d\d-\d\dT[\d:.]+Z\t *(\d+) (\w+(?: \w+)*)\t?(.*)$", re.MULTILINE)
_OWN = (b"SHOW WARNINGS", b"SELECT @@", b"/* xplugin")
"""What the plugin asks the server for itself."""


@pytest.fixture(scope="module")
def server(report: Callable[[str], None]) -> Iterator[tuple[Namespace, MySQL97]]:
    try:
        mysql97.connector()
        with Namespace() as namespace, MySQL97(namespace) as running:
            yield namespace, running
    except debian.UnavailableError as error:
        report(f"NOT TESTED: the X Protocol against a real server, for MySQL 9.7 cannot be had: {error}")
        pytest.skip(str(error))


def replay(file: Path, port: int, responses: Responses = "first") -> tuple[list[Record], dict[str, int]]:
    """What `querytap replay` prints: records and counters."""
    options = ("--x-port", str(port), "--responses", responses, "--format", "json", "--counters")
    done = processes.run(processes.querytap("replay", str(file), *options))
    counters = dict(line.split() for line in done.stderr.decode().splitlines())
    return [json.loads(line) for line in done.stdout.splitlines()], {name: int(each) for name, each in counters.items()}


def work(namespace: Namespace, server: MySQL97, *options: str) -> list[list[object]]:
    """Run the workload; what the client was told."""
    done = namespace.run(
        processes.module(
            "tests.support.x_workload", "--port", str(server.x_port), "--user", mysql97.USER, "--password",
            mysql97.PASSWORD, *options, str(mysql97.connector()),
        )
    )  # fmt: skip
    told: list[list[object]] = json.loads(done.stdout.splitlines()[-1])
    return told


class Traffic:
    """One run of the workload: its records by `querytap replay`, what the client was told, what the server logged."""

    def __init__(self, namespace: Namespace, server: MySQL97, folder: Path, *options: str) -> None:
        before = len(server.general_log.read_bytes())
        self.file = file = folder / "x.pcap"
        recorder = TrafficFile(namespace, file, server.x_port)
        self.told = work(namespace, server, *options)
        recorder.stop()
        log = server.general_log.read_bytes()[before:]
        self.log = [(entry[2].decode(), entry[3]) for entry in _ENTRY.finditer(log) if not entry[3].startswith(_OWN)]
        self.records, self.counters = replay(file, server.x_port)

    def sql(self) -> list[Record]:
        """The records of SQL as text, without what the client sends by itself for its own calls."""
        return [each for each in self.records if each["command"] == "query"]


@pytest.fixture(scope="module", autouse=True)
def cached_password(server: tuple[Namespace, MySQL97], tmp_path_factory: pytest.TempPathFactory) -> None:
    """A login under TLS, without which the server takes none in clear: SHA256_MEMORY needs it to know the password."""
    namespace, running = server
    traffic = Traffic(namespace, running, tmp_path_factory.mktemp("tls"), "--tls")
    assert traffic.told
    assert traffic.records == []
    assert traffic.counters["packets_encrypted"] > 0
    _drop(namespace, running)


def _drop(namespace: Namespace, running: MySQL97) -> None:
    """Let the next workload find nothing of the one before."""
    loader = running.client("DROP DATABASE shop")
    namespace.run(loader)


@pytest.fixture(params=["", "deflate_stream", "lz4_message", "zstd_stream"], ids=["clear", "deflate", "lz4", "zstd"])
def traffic(request: pytest.FixtureRequest, server: tuple[Namespace, MySQL97], tmp_path: Path) -> Iterator[Traffic]:
    options = ("--compression", request.param) if request.param else ()
    yield Traffic(*server, tmp_path, *options)
    _drop(*server)


def test_records_are_what_the_server_logged_and_the_client_was_told(traffic: Traffic) -> None:
    texts = [str(each["sql"]) for each in traffic.sql()]
    assert [text for text in texts if "?" not in text] == [
        argument.decode() for command, argument in traffic.log if command == "Query" and argument.decode() in texts
    ]
    assert set(x_workload.STATEMENTS) | set(x_workload.TABLES) | {x_workload.FAILING} <= set(texts)
    by_text = {each["sql"]: each for each in traffic.sql()}
    for text, told, _, warnings, rows in traffic.told[:-1]:
        record = by_text[text]
        assert record["status"] == ("ok" if rows is None else "result"), text
        if rows is None:
            assert (record["affected_rows"], record["warnings"]) == (told, warnings), text
    failed = by_text[x_workload.FAILING]
    assert (failed["status"], failed["error_code"], failed["sqlstate"]) == ("error", 1146, "42S02")
    assert f"{failed['error_code']}: {failed['error_message']}" == traffic.told[-1][1]


@pytest.mark.parametrize("responses", ["timing", "all"])
def test_answers_that_are_read_to_their_end_are_what_the_client_was_told(
    traffic: Traffic, server: tuple[Namespace, MySQL97], responses: Responses
) -> None:
    records, counters = replay(traffic.file, server[1].x_port, responses)
    assert [(each["command"], each.get("sql")) for each in records] == [
        (each["command"], each.get("sql")) for each in traffic.records
    ]
    check_answers(records, traffic.told)
    assert counters["packets_unmatched"] == counters["packets_compressed"] == 0


def check_answers(records: list[Record], told: list[list[object]], rows_known: bool = True) -> None:
    """Each record has all that the client was told, and how long it took."""
    by_text = {each["sql"]: each for each in records if each["command"] == "query"}
    for text, affected, insert_id, warnings, rows in told[:-1]:
        record = by_text[text]
        assert record["status"] == ("ok" if rows is None else "result"), text
        if rows_known:
            assert record.get("rows") == rows, text
            assert record.get("affected_rows", 0) == affected, text
            assert record.get("last_insert_id", -1) == insert_id, text
            assert record.get("warnings", 0) == warnings, text
        assert 0 < int(str(record["latency_ns"])) <= int(str(record["duration_ns"])), text
        assert int(str(record["bytes_out"])) > 0, text
    failed = by_text[told[-1][0]]
    assert f"{failed['error_code']}: {failed['error_message']}" == told[-1][1]
    assert not any(each["status"] == "unknown" for each in records)


@pytest.mark.parametrize("responses", RESPONSES)
def test_recorded_live_answers_are_what_the_client_was_told(
    server: tuple[Namespace, MySQL97], responses: Responses
) -> None:
    namespace, running = server
    with (
        reachable_folder() as folder,
        Collector(namespace, folder, running.port, responses=responses, x_ports=(running.x_port,)) as collector,
    ):
        told = work(namespace, running)
        assert collector.stop() == 0, collector.complaint()
        records = collector.records()
        (ledger,) = collector.status()["ledger"].values()
    _drop(namespace, running)
    if responses in {"timing", "all"}:
        check_answers(records, told, rows_known=responses == "all")
    sql = [each for each in records if each["command"] == "query"]
    assert [each["sql"] for each in sql if "?" not in str(each["sql"])][-len(told) :] == [text for text, *_ in told]
    status = ["ok" if rows is None else "result" for *_, rows in told[:-1]] + ["error"]
    by_text = {each["sql"]: each["status"] for each in sql}
    assert [by_text[text] for text, *_ in told] == (["unknown"] * len(told) if responses == "none" else status)
    assert not ledger.get("statements_lost")


def test_documents_are_records_by_their_kind_and_collection(traffic: Traffic) -> None:
    found = [(each["command"], each.get("sql"), each.get("parameters")) for each in traffic.records]
    found = [each for each in found if str(each[0]).startswith("x_")]
    assert found == [
        ("x_admin", "create_collection", ['{"schema": "shop", "name": "users"}']),
        ("x_insert", "insert shop.users", None),
        ("x_find", "find shop.users", [0]),
        ("x_prepare", "find shop.users", None),
        ("x_execute", "find shop.users", [1]),
        ("x_execute", "find shop.users", [1]),
        ("x_update", "update shop.users", [1]),
        ("x_delete", "delete shop.users", None),
        ("x_insert", "insert shop.goods", None),
        ("x_find", "find shop.goods", None),
        ("x_update", "update shop.goods", None),
        ("x_delete", "delete shop.goods", None),
        ("x_deallocate", None, None),
        ("x_session_close", None, None),
    ]
    assert not any(each["status"] == "unknown" for each in traffic.records)


def test_arguments_are_the_values_that_the_server_put_into_the_text(traffic: Traffic) -> None:
    (insert,) = (each for each in traffic.sql() if "VALUES (?, ?)" in str(each["sql"]))
    assert insert["parameters"] == ["naïve", -7]
    assert ("Query", "INSERT INTO goods (name, price) VALUES ('naïve', -7)".encode()) in traffic.log


def test_the_login_says_who_and_with_what_and_nothing_of_the_password(traffic: Traffic) -> None:
    first = traffic.records[0]
    assert (first["command"], first["user"], first["status"]) == ("connect", mysql97.USER, "ok")
    assert first["program"] == "x_workload"
    assert int(str(first["connection_id"])) > 0
    assert traffic.counters["packets_desync"] == 0
    assert traffic.counters["statements_decoded"] == len(traffic.records)


def test_what_no_client_sends_by_itself_is_followed_too(server: tuple[Namespace, MySQL97], tmp_path: Path) -> None:
    namespace, running = server
    file = tmp_path / "raw.pcap"
    recorder = TrafficFile(namespace, file, running.x_port)
    done = namespace.run(
        processes.module(
            "tests.support.x_client", "--port", str(running.x_port), "--socket", str(running.x_socket), "--user",
            mysql97.USER, "--password", mysql97.PASSWORD,
        )
    )  # fmt: skip
    recorder.stop()
    told: list[tuple[list[int], int]] = json.loads(done.stdout)
    _, *records = replay(file, running.x_port)[0]
    assert [(each["status"], each.get("error_code", 0)) for each in records] == [
        ("error" if number else "result" if 12 in kinds or 13 in kinds else "ok", number) for kinds, number in told
    ]
    assert {each["command"] for each in records} >= {"x_create_view", "x_cursor_fetch", "x_expect_open", "x_execute"}
    for responses in ("timing", "all"):
        _, *read = replay(file, running.x_port, responses)[0]
        assert [each["command"] for each in read] == [each["command"] for each in records]
        assert [each.get("rows") for each in read] == [
            kinds.count(13) if 12 in kinds or 13 in kinds else None for kinds, _ in told
        ]
    by_text = {each.get("sql"): each for each in records}
    assert by_text["INSERT INTO t VALUES (1), (2)"]["affected_rows"] == 2
    assert [each["statement_id"] for each in records if str(each["command"]).startswith("x_cursor")] == [1] * 4
    assert by_text["SELECT * FROM t"]["database"] == "raw", "what the server kept when the session was reset"
    assert by_text["SELECT * FROM t"]["status"] == "result"
    assert by_text["DELETE FROM t"]["affected_rows"] == 2
    assert by_text["SELECT ?, ?, ?"]["parameters"] == [1.5, {"base64": "AP8="}, 1]
