"""A real Ceph cluster as the store: its create-only writes, its answers when it is in trouble, and a load beside it."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from collector.cli.main import main
from tests.integration.test_upload import Sender, data, name
from tests.support import debian, processes, recording, records
from tests.support.ceph import Ceph
from tests.support.collector import Collector
from tests.support.folders import reachable_folder
from tests.support.namespaces import Namespace
from tests.support.objectstores import ACCESS_KEY, BUCKET, SECRET_KEY, Way, environment
from tests.support.recording import Load, Senders, Share
from tests.support.servers import MariaDB

pytestmark = pytest.mark.integration

OSDS = 3
LOAD = Load(text=Share(8, 6000, 600), prepared=Share(8, 6000, 600), odd=Share(4, 3000, 300), seed=5)


@pytest.fixture(scope="module")
def ceph(report: Callable[[str], None]) -> Iterator[Ceph]:
    began = time.monotonic()
    try:
        made = Ceph(OSDS)
    except debian.UnavailableError as error:
        report(f"NOT TESTED: Ceph as the store, for it cannot be had: {error}")
        pytest.skip(f"Ceph cannot be had: {error}")
    report(f"Ceph with {OSDS} storage daemons was there after {time.monotonic() - began:.0f} s")
    with made:
        yield made


@pytest.fixture(autouse=True)
def _environment(ceph: Ceph, monkeypatch: pytest.MonkeyPatch) -> None:
    for key, value in environment(ceph.endpoint).items():
        monkeypatch.setenv(key, value)


@pytest.fixture
def sender(ceph: Ceph, tmp_path: Path) -> Sender:
    return Sender(tmp_path, ceph.endpoint, url=f"s3://{BUCKET}/{tmp_path.name}", timeout_s=5)


def stored(ceph: Ceph, folder: Path) -> list[str]:
    return [found for found in ceph.names() if found.startswith(f"{folder.name}/")]


def expected(folder: Path, *sequences: int) -> list[str]:
    return [f"{folder.name}/{name(sequence)}" for sequence in sequences]


def test_of_two_that_send_the_same_object_one_is_told_that_it_is_there(ceph: Ceph, tmp_path: Path) -> None:
    senders = []
    for each in ("one", "other"):
        (tmp_path / each).mkdir()
        sender = Sender(tmp_path / each, ceph.endpoint, url=f"s3://{BUCKET}/{tmp_path.name}", uploads=4)
        sender.put(*range(20))
        senders.append(sender)
    threads = [threading.Thread(target=sender.drain) for sender in senders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert stored(ceph, tmp_path) == expected(tmp_path, *range(20))
    assert [sender.figures["errors"].keys() - {"busy"} for sender in senders] == [set(), set()]
    assert sum(sender.figures["were_there"] for sender in senders) == 20


def test_a_full_bucket_is_told_and_filled_further_once_there_is_room(
    ceph: Ceph, tmp_path: Path, sender: Sender
) -> None:
    sender.put(1)
    sender.drain()
    ceph.set_quota(1)
    try:
        sender.put(2, 3)
        sender.until(lambda: sender.figures["errors"].get("full", 0) >= 2)
        assert sender.up.trouble.startswith("the store answers 403 QuotaExceeded; make room there (querytap prune)")
        assert stored(ceph, tmp_path) == expected(tmp_path, 1)
    finally:
        ceph.set_quota(None)
    sender.drain()
    assert stored(ceph, tmp_path) == expected(tmp_path, 1, 2, 3)
    assert set(sender.figures["errors"]) == {"full"}
    assert not sender.up.trouble


def test_a_cluster_that_hangs_and_a_gateway_that_is_full_up_delay_and_lose_nothing(
    ceph: Ceph, tmp_path: Path, sender: Sender
) -> None:
    ceph.set_gateway("rgw_max_concurrent_requests", "1")
    ceph.stall()
    try:
        sender.put(*range(6))
        # The first request hangs in the gateway, which then has no room for another.
        sender.until(lambda: sender.figures["errors"].keys() >= {"unreachable", "busy"})
        assert len(sender.spool.backlog) == 6
    finally:
        ceph.go_on()
        ceph.set_gateway("rgw_max_concurrent_requests", "1024")
    sender.drain()
    assert stored(ceph, tmp_path) == expected(tmp_path, *range(6))


@pytest.mark.parametrize("trouble", ["cut", "lost"])
def test_of_a_connection_that_breaks_off_ceph_keeps_a_whole_object_or_none(
    ceph: Ceph, tmp_path: Path, trouble: str
) -> None:
    with Way(ceph.port) as way:
        sender = Sender(tmp_path, way.endpoint, url=f"s3://{BUCKET}/{tmp_path.name}", uploads=1)
        way.trouble = trouble
        sender.put(1)
        sender.until(lambda: sender.figures["errors"].get("unreachable", 0) >= 1)
        assert stored(ceph, tmp_path) == (expected(tmp_path, 1) if trouble == "lost" else [])
        way.trouble = ""
        sender.drain()
    assert stored(ceph, tmp_path) == expected(tmp_path, 1)
    assert sender.figures["were_there"] == (trouble == "lost")


def test_what_a_locked_bucket_has_nobody_can_remove_before_its_time(
    ceph: Ceph, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ceph.make_locked("kept")
    url = f"s3://kept/{tmp_path.name}"
    sender = Sender(tmp_path, ceph.endpoint, url=url, object_lock="bucket")
    sender.put(1, 2)
    sender.drain()
    assert sender.figures["errors"] == {}
    older, newer = (f"{tmp_path.name}/{name(sequence)}" for sequence in (1, 2))
    versions = dict(
        re.findall(r"<Version><Key>([^<]+)</Key><VersionId>([^<]+)", ceph.request("GET", "/kept?versions=").decode())
    )
    assert versions.keys() == {older, newer}
    with pytest.raises(AssertionError, match="AccessDenied"):
        ceph.request("DELETE", f"/kept/{older}?versionId={versions[older]}")
    settings = [
        "--set",
        f'store.endpoint="{ceph.endpoint}"',
        "--set",
        'store.object_lock="bucket"',
        "--set",
        f'store.url="{url}"',
    ]
    assert main(["prune", "--max-size", "0MiB", *settings]) == 0
    shown = capsys.readouterr()
    assert "2 objects, 0.0 MiB, removed" in shown.out
    assert "the bucket hides what was removed, and keeps it until its retention ends" in shown.err
    assert ceph.request("GET", f"/kept/{older}?versionId={versions[older]}") == data(1)


class Host(Namespace):
    """The network that Ceph is in: the host's own."""

    def __init__(self) -> None:
        pass

    def close(self) -> None:
        """Nothing was made."""

    def command(self, command: Sequence[str]) -> list[str]:
        """The command as it is."""
        return list(command)


@pytest.mark.skipif(os.geteuid() != 0, reason="capture in the host's own network, which Ceph is in, needs root")
def test_a_load_is_in_ceph_as_the_server_logged_it_though_a_storage_daemon_is_killed(
    ceph: Ceph, report: Callable[[str], None]
) -> None:
    host = Host()
    with reachable_folder() as folder, MariaDB(host) as server:
        credentials = folder / "credentials"
        credentials.write_text(f"aws_access_key_id = {ACCESS_KEY}\naws_secret_access_key = {SECRET_KEY}\n")
        credentials.chmod(0o644)
        store = [
            f'store.url="s3://{BUCKET}/load"', f'store.endpoint="{ceph.endpoint}"',
            f'store.credentials_file="{credentials}"', "store.timeout_s=20", "process.stop_timeout_s=120",
        ]  # fmt: skip
        server.execute(*recording.TABLES)
        with Collector(host, folder, server.port, workers=2, settings=store) as collector:
            senders = Senders(host, folder, recording.commands(server.port, folder, LOAD))
            while collector.status()["store"]["uploads"]["uploaded"] < 3:
                assert senders.running(), collector.complaint()
                time.sleep(0.1)
            ceph.kill(OSDS - 1)
            senders.wait()
            assert collector.stop() == 0, collector.complaint()
        server.stop()
        own = senders.sent()
        figures = collector.status()["store"]["uploads"]
        assert (figures["spooled"], figures["errors"].keys() - {"unreachable", "busy"}) == (0, set())
        reading = [word for setting in store for word in ("--set", setting)]
        keyed = ("--key", str(collector.key))
        read = processes.run(processes.querytap("read", *reading, *keyed, "--format", "json", "--raw"), 300)
        archive = records.statements(records.parse(read.stdout))
        found = recording.disagreements(archive, recording.logged(server, own), own)
        assert not found, "\n".join(found)
        verified = processes.run(processes.querytap("verify", *reading, *keyed), 300).stdout.decode()
        assert verified.endswith("no problems\n")
        report(f"Ceph: {recording.summary(senders, own)}; {figures['uploaded']} objects, errors {figures['errors']}")
