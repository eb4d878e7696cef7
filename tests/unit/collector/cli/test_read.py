from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from collector.archive.keyfile import READER_PRIVATE, identity, write_key
from collector.cli.main import main
from tests.unit.collector.aggregator.making import OTHER_RAW, SECOND, START_NS, header
from tests.unit.collector.reading.making import block, write_object

TRACED = b" /*traceparent='00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01'*/"
OTHER_SIGNING_KEY = Ed25519PrivateKey.from_private_bytes(bytes(32))


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    folder = tmp_path / "archive"
    blocks = block(b"SELECT 1", b"SELECT 2" + TRACED), block(b"DELETE FROM t", last_ns=START_NS)
    write_object(folder, *blocks, sequence=1)
    return folder


def read(*words: object) -> int:
    return main(["read", *map(str, words)])


def test_statements_are_printed_as_text(archive: Path, key: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert read(archive, "--key", key) == 0
    output = capsys.readouterr()
    assert [line.rsplit("affected ", 1)[1] for line in output.out.splitlines()] == [
        "SELECT 1", "DELETE FROM t", "SELECT 2" + TRACED.decode(),
    ]  # fmt: skip
    assert output.err == ""


def test_statements_are_printed_as_json(archive: Path, key: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert read(archive, "--key", key, "--format", "json", "--raw", "--limit", 1) == 0
    (line,) = capsys.readouterr().out.splitlines()
    record: dict[str, Any] = json.loads(line)
    assert (record["host"], record["sql"], record["sql_base64"]) == ("db1", "SELECT 1", "U0VMRUNUIDE=")


@pytest.mark.parametrize(
    ("words", "count"),
    [
        (["--text", "select"], 2),
        (["--regex", "^DELETE"], 1),
        (["--user", "app", "--database", "shop", "--client", "10.0.0.0/24", "--status", "ok"], 3),
        (["--user", "root"], 0),
        (["--command", "ping"], 0),
        (["--command", "ping", "--command", "query"], 3),
        (["--since", "2023-11-14T22:13:21Z"], 1),
        (["--until", "2023-11-14T22:13:20Z"], 2),
        (["--since", "1h"], 0),
        (["--limit", "2"], 2),
        (["--traceparent", "0AF7651916CD43DD8448EB211C80319C"], 1),
        (["--error-code", "1062"], 0),
        (["--min-latency", "1ms"], 0),
        (["--shape", "select 7"], 2),
        (["--shape", "e1c71d1661ae46e0"], 2),
        (["--host", "db1", "--host", "db2"], 3),
        (["--host", "db2"], 0),
        (["--traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"], 0),
    ],
)
def test_what_is_asked_for_is_printed(
    archive: Path, key: Path, capsys: pytest.CaptureFixture[str], words: list[str], count: int
) -> None:
    assert read(archive, "--key", key, *words) == 0
    assert len(capsys.readouterr().out.splitlines()) == count


def test_what_cannot_be_read_is_said_and_the_rest_is_printed(
    archive: Path, key: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (archive / "notes.txt").write_text("notes")
    later_ns = START_NS + 60 * SECOND
    write_object(archive, block(b"SELECT 3"), sequence=3, first_ns=later_ns, last_ns=later_ns)
    assert read(archive, "--key", key) == 1
    output = capsys.readouterr()
    assert len(output.out.splitlines()) == 4
    assert [line.partition(":")[0] for line in output.err.splitlines()] == ["querytap"] * 2
    assert "object 2 is missing" in output.err
    assert "notes.txt: not a querytap object" in output.err


def test_csv_has_a_line_of_names_and_slow_logs_an_entry_a_statement(
    archive: Path, key: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert read(archive, "--key", key, "--format", "csv", "--limit", 1) == 0
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (row["time"], row["host"], row["sql"]) == ("2023-11-14T22:13:20.000000000Z", "db1", "SELECT 1")
    assert read(archive, "--key", key, "--format", "slowlog") == 0
    assert capsys.readouterr().out.count("# User@Host: app[app] @  [10.0.0.1]") == 3


def test_processes_side_by_side_print_what_one_does(
    archive: Path, key: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("collector.reading.pool._WORTH_BYTES", 0)
    for number in range(2, 9):
        write_object(archive, block(b"SELECT %d" % number), sequence=number, first_ns=START_NS + number * SECOND)
    assert read(archive, "--key", key, "--jobs", 1) == 0
    alone = capsys.readouterr().out
    assert read(archive, "--key", key, "--jobs", 3) == 0
    assert capsys.readouterr().out == alone


def test_a_wrong_key_opens_nothing_and_says_so(archive: Path, key: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key.write_text(write_key(READER_PRIVATE, OTHER_RAW))
    assert read(archive, "--key", key) == 1
    output = capsys.readouterr()
    assert output.out == ""
    assert "not sealed for this key" in output.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "--key: is needed"),
        (["--key", "/nowhere"], "No such file"),
        (["--key", "KEY", "--since", "yesterday"], "'yesterday' is no time"),
        (["--key", "KEY", "--min-latency", "soon"], "'soon' is no duration: write 250ms"),
        (["--key", "KEY", "--client", "db"], "'db' is no address"),
        (["--key", "KEY", "--regex", "("], "no regular expression"),
        (["--key", "KEY", "--traceparent", "b7ad6b7169203331"], "'b7ad6b7169203331' is no traceparent and no trace id"),
    ],
)
def test_wrong_usage_is_said_without_a_traceback(
    archive: Path, key: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert read(archive, *[str(key) if word == "KEY" else word for word in words]) == 2
    assert message in capsys.readouterr().err


def test_a_command_that_is_none_is_refused_with_what_it_may_mean(
    archive: Path, key: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        read(archive, "--key", key, "--command", "stmt_exec")
    assert stopped.value.code == 2
    assert "'stmt_exec' is no command: did you mean stmt_execute?" in capsys.readouterr().err


def test_commands_of_both_protocols_and_numbers_are_commands(archive: Path, key: Path) -> None:
    for name in ("connect", "COM_QUERY", "x_find", "x_admin", "unknown_77"):
        assert read(archive, "--key", key, "--command", name) == 0


def test_a_file_that_is_no_key_is_said_by_name(archive: Path, key: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key.write_text("password")
    assert read(archive, "--key", key) == 2
    assert "reader.key:1: not a querytap key" in capsys.readouterr().err


def test_an_archive_that_is_not_there_is_said(tmp_path: Path, key: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert read(tmp_path / "nowhere", "--key", key) == 1
    assert "no such archive" in capsys.readouterr().err


def test_the_ledger_needs_no_key(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert read(archive, "--ledger") == 0
    assert "ledger of db1" in capsys.readouterr().out
    assert read(archive, "--ledger", "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["host"] == "db1"


def test_an_archive_without_objects_has_no_ledger(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert read(tmp_path, "--ledger") == 1
    assert "holds no object" in capsys.readouterr().err


def test_only_what_a_named_instance_signed_is_printed(
    archive: Path, key: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert read(archive, "--key", key, "--instance", "0" * 32, "--instance", header().instance.upper()) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3
    assert read(archive, "--key", key, "--instance", "0" * 32) == 0
    assert capsys.readouterr().out == ""
    with pytest.raises(SystemExit):
        read(archive, "--key", key, "--instance", "db1")


def test_a_second_instance_under_the_name_of_a_host_is_told(
    archive: Path, key: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.unit.collector.aggregator.making.SIGNING_KEY", OTHER_SIGNING_KEY)
    other = OTHER_SIGNING_KEY.public_key().public_bytes_raw()
    write_object(archive, block(b"SELECT 3"), public_key=other, instance=identity(other).hex())
    assert read(archive, "--key", key) == 0
    output = capsys.readouterr()
    assert len(output.out.splitlines()) == 4
    assert "more than one instance has signed as host db1" in output.err


def test_what_is_said_of_a_file_moves_no_cursor(archive: Path, key: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (archive / "\x1b[2Jnotes").write_text("notes")
    assert read(archive, "--key", key) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.isprintable()


def test_following_prints_what_comes_later_and_nothing_twice(
    archive: Path, key: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def meanwhile(_: float) -> None:
        number = len(list(archive.rglob("*.querytap"))) + 1
        if number > 3:
            raise KeyboardInterrupt
        later = {"first_ns": START_NS + number * SECOND, "sequence": number}
        write_object(archive, block(b"later %d" % number), **later)

    monkeypatch.setattr("time.sleep", meanwhile)
    assert read(archive, "--key", key, "--follow", "--text", "later") == 130
    assert [line.rsplit(" ", 2)[1:] for line in capsys.readouterr().out.splitlines()] == [
        ["later", "2"],
        ["later", "3"],
    ]
