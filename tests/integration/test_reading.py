"""What reads an archive, over one that was recorded beside a real server: by its own accounts, and by others' tools."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.support import processes, recording
from tests.support.collector import Collector
from tests.support.folders import reachable_folder
from tests.support.namespaces import Namespace
from tests.support.recording import Load, Senders, Share
from tests.support.servers import MariaDB

pytestmark = [pytest.mark.integration, pytest.mark.either_build]

LOAD = Load(text=Share(8, 2000, 1500), prepared=Share(8, 2000, 1500), odd=Share(4, 1500, 500), seed=5)


@dataclass(frozen=True)
class Archive:
    """A recorded archive, its key, and its statements as JSON."""

    folder: Path
    key: Path
    records: list[dict[str, Any]]

    def read(self, *words: str) -> str:
        """What a command that takes a key prints."""
        command, *rest = words
        done = processes.run(processes.querytap(command, str(self.folder), "--key", str(self.key), *rest))
        return done.stdout.decode()

    def found(self, *words: str) -> list[dict[str, Any]]:
        """What `querytap read` finds."""
        lines = self.read("read", "--format", "json", "--raw", *words).split("\n")  # a text may hold other line ends
        return [json.loads(line) for line in lines if line]


@pytest.fixture(scope="module")
def archive() -> Iterator[Archive]:
    with reachable_folder() as folder, Namespace() as namespace, MariaDB(namespace) as server:
        server.execute(*recording.TABLES)
        with Collector(namespace, folder, server.port, workers=2) as collector:
            senders = Senders(namespace, folder, recording.commands(server.port, folder, LOAD))
            senders.wait()
            assert collector.stop() == 0, collector.complaint()
        yield Archive(collector.archive, collector.key, list(collector.records()))


def test_statements_of_both_workers_come_in_order_of_time(archive: Archive) -> None:
    """Of the monotonic one, which each block knows from two clocks read after one another: on a busy host not quite."""
    times = [dt.datetime.fromisoformat(record["time"][:26]) for record in archive.records]
    assert len(times) > 5000
    assert all(after - before > -dt.timedelta(seconds=1) for before, after in pairwise(times))
    assert archive.found("--jobs", "1") == archive.records


def test_the_digest_sums_up_what_the_records_say(archive: Archive) -> None:
    for by in ("user", "database", "command", "shape"):
        record = json.loads(archive.read("digest", "--format", "json", "--by", by, "--top", "100000"))
        total = record["total"]
        assert total["count"] == len(archive.records)
        assert total["time_ns"] == sum(one.get("duration_ns", one.get("latency_ns", 0)) for one in archive.records)
        assert total["errors"] == sum(one["status"] == "error" for one in archive.records)
        assert sum(group["count"] for group in record["groups"]) == len(archive.records)
        if by != "shape":
            counts = {group[by]: group["count"] for group in record["groups"]}
            assert counts == Counter(one.get(by, "") for one in archive.records)


def test_a_shape_of_the_digest_finds_its_statements(archive: Archive) -> None:
    groups = json.loads(archive.read("digest", "--format", "json", "--top", "50"))["groups"]
    first = next(group for group in groups if group["id"] and "command" not in group)
    words = ("--command", "query", "--command", "stmt_execute")
    assert len(archive.found("--shape", first["id"], *words)) == first["count"]


@pytest.mark.parametrize(
    "words",
    [
        ["--min-latency", "1ms"],
        ["--status", "error"],
        ["--error-code", "1064"],
        ["--text", "FROM orders"],
        ["--regex", "(?i)^insert"],
    ],
)
def test_a_filter_gives_what_a_look_at_all_records_does(archive: Archive, words: list[str]) -> None:
    def wanted(one: dict[str, Any]) -> bool:
        found: dict[str, bool] = {
            "--min-latency": one.get("latency_ns", -1) >= 1_000_000,
            "--status": one["status"] == "error",
            "--error-code": one.get("error_code") == 1064,
            "--text": "from orders" in one.get("sql", "").lower(),
            "--regex": one.get("sql", "").lower().startswith("insert"),
        }
        return found[words[0]]

    found = archive.found(*words)
    assert found == [one for one in archive.records if wanted(one)]
    assert found


def test_csv_holds_the_same_statements(archive: Archive) -> None:
    csv.field_size_limit(64 << 20)
    rows = list(csv.DictReader(io.StringIO(archive.read("read", "--format", "csv"), newline="")))
    assert len(rows) == len(archive.records)
    known = [("time", "sql"), ("connection_id", "status")]
    for names in known:
        assert [[row[name] for name in names] for row in rows] == [
            [str(one.get(name, "")) for name in names] for one in archive.records
        ]


def test_the_archive_is_whole_until_something_is_taken_from_it(archive: Archive, tmp_path: Path) -> None:
    assert "every statement: no problems" in archive.read("verify")
    copy = tmp_path / "archive"
    shutil.copytree(archive.folder, copy)
    objects = sorted(copy.rglob("*.querytap"))
    objects[len(objects) // 2].unlink()
    done = subprocess.run(
        processes.querytap("verify", str(copy)), capture_output=True, text=True, check=False,
        env=processes.environment(),
    )  # fmt: skip
    assert done.returncode == 1
    assert re.search(r"object \d+ is missing", done.stderr)
    assert "the objects here hold" in done.stderr


def test_hosts_tells_that_it_has_ended(archive: Archive) -> None:
    (line,) = processes.run(processes.querytap("hosts", str(archive.folder), "--format", "json")).stdout.splitlines()
    assert json.loads(line)["state"] == "stopped"


def test_another_reader_can_be_let_in_and_the_first_one_out(archive: Archive, tmp_path: Path) -> None:
    copy = tmp_path / "archive"
    shutil.copytree(archive.folder, copy)
    processes.run(processes.querytap("keygen", "--folder", str(tmp_path / "new")))
    old_public, new = archive.key.with_suffix(".pub"), tmp_path / "new" / "reader.key"
    change = ["--add", str(new.with_suffix(".pub")), "--remove", str(old_public)]
    processes.run(processes.querytap("key", "reseal", str(copy), "--key", str(archive.key), *change))
    again = Archive(copy, new, [])
    assert again.found() == archive.records
    assert "every statement: no problems" in again.read("verify")
    assert {path.relative_to(copy) for path in copy.rglob("*.querytap")} == {
        path.relative_to(archive.folder) for path in archive.folder.rglob("*.querytap")
    }


@pytest.mark.skipif(
    shutil.which("pt-query-digest") is None, reason="pt-query-digest (percona-toolkit) is not installed"
)
def test_pt_query_digest_counts_what_the_slow_log_holds(archive: Archive, tmp_path: Path) -> None:
    log = tmp_path / "slow.log"
    words = ("--regex", "orders")  # those of sysbench: of texts made to look like logs it has a view of its own
    log.write_text(archive.read("read", "--format", "slowlog", *words), encoding="utf-8", newline="")
    report = processes.run(["pt-query-digest", "--report-format", "header", "--no-version-check", str(log)])
    found = re.search(r"Overall: (\S+) total", report.stdout.decode())
    assert found is not None, report.stdout
    assert found[1] == f"{len(archive.found(*words)) / 1000:.2f}k"
