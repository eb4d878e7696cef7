"""The spool and the uploads against a real S3 server, while what is in between goes wrong."""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from collector.aggregator.resuming import Objects
from collector.aggregator.spool import Spool
from collector.aggregator.upload import Uploader
from collector.archive.names import ObjectName, write_name
from collector.config import from_mapping
from tests.support.objectstores import ACCESS_KEY, BUCKET, SECRET_KEY, Moto, Way
from tests.unit.collector.aggregator.making import filler, hash_start

pytestmark = [pytest.mark.integration, pytest.mark.either_build]

INSTANCE = "0123456789abcdef" * 2
SECOND = 1_000_000_000
WAIT_S = 60


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def moto(tmp_path: Path) -> Iterator[Moto]:
    with Moto(tmp_path) as made:
        yield made


def data(sequence: int) -> bytes:
    return filler(10_000, sequence)


def name(sequence: int) -> str:
    at_ns = 1_700_000_000 * SECOND + sequence * SECOND
    return write_name(ObjectName(INSTANCE, at_ns, at_ns, sequence, hash_start(data(sequence))))


def stored(*sequences: int) -> list[str]:
    return [f"folder/{name(sequence)}" for sequence in sequences]


class Sender:
    """A spool and its uploader, driven as the aggregator's main loop drives them."""

    def __init__(self, folder: Path, endpoint: str = "", *, secret: str = SECRET_KEY, **store: object) -> None:
        self.credentials = folder / "credentials"
        self.write_credentials(ACCESS_KEY, secret)
        settings = {"url": f"s3://{BUCKET}/folder", "endpoint": endpoint, "timeout_s": 20}
        config = from_mapping({"store": {"credentials_file": str(self.credentials), **settings, **store}})
        self.spool = Spool(folder / "spool", 1 << 30, 0)
        self.up = Uploader(self.spool, config, Objects())

    def write_credentials(self, access_key: str, secret: str) -> None:
        self.credentials.write_text(f"aws_access_key_id = {access_key}\naws_secret_access_key = {secret}\n")

    def put(self, *sequences: int) -> None:
        for sequence in sequences:
            self.spool.put(name(sequence), data(sequence))

    def until(self, reached: Callable[[], bool]) -> None:
        """Go round until then."""
        deadline = time.monotonic() + WAIT_S
        while not reached():
            assert time.monotonic() < deadline, self.figures
            now_ns = time.monotonic_ns()
            self.up.turn(now_ns)
            due_ns = self.up.due_ns()
            wait_s = 1.0 if due_ns is None else min(1.0, max(0.0, (due_ns - now_ns) / SECOND))
            select.select([self.up.fd], [], [], wait_s)

    def drain(self) -> None:
        self.until(lambda: not len(self.spool.backlog))

    @property
    def figures(self) -> dict[str, Any]:
        found: dict[str, Any] = self.up.figures()
        return found


def test_a_bucket_that_keeps_its_objects_says_what_it_demands(tmp_path: Path, moto: Moto) -> None:
    moto.make_locked("kept")
    sender = Sender(tmp_path, moto.endpoint, url="s3://kept")
    sender.put(1)
    sender.until(lambda: "locked" in sender.figures["errors"])
    assert "set store.object_lock = 'bucket'" in sender.up.trouble
    assert len(sender.spool.backlog) == 1


def test_every_object_is_in_the_store_once_as_it_was_sealed(tmp_path: Path, moto: Moto) -> None:
    sender = Sender(tmp_path, moto.endpoint)
    sender.put(*range(20))
    sender.drain()
    assert moto.names() == stored(*range(20))
    for sequence in range(20):
        assert moto.request("GET", f"/{BUCKET}/folder/{name(sequence)}") == data(sequence)
    assert (sender.figures["uploaded"], sender.figures["uploaded_bytes"]) == (20, 200_000)


def test_a_restart_goes_on_with_the_backlog_and_sends_nothing_that_is_there(tmp_path: Path, moto: Moto) -> None:
    with Way(moto.port) as way:
        before = Sender(tmp_path, way.endpoint)
        before.put(*range(10))
        before.until(lambda: before.figures["uploaded"] >= 4)
        way.trouble = "503"
        before.until(lambda: bool(before.up.trouble))
    left = len(before.spool.backlog)
    after = Sender(tmp_path, moto.endpoint)
    assert left <= len(after.spool.backlog) <= left + 1  # the one sealed last stays, though the store has it
    after.drain()
    assert moto.names() == stored(*range(10))
    assert after.figures["uploaded"] - after.figures["were_there"] <= left


@pytest.mark.parametrize(
    ("trouble", "kind"), [("503", "busy"), ("slow", "unreachable"), ("cut", "unreachable"), ("refused", "unreachable")]
)
def test_trouble_on_the_way_delays_and_loses_nothing(tmp_path: Path, moto: Moto, trouble: str, kind: str) -> None:
    with Way(moto.port) as way:
        sender = Sender(tmp_path, way.endpoint, timeout_s=1 if trouble == "slow" else 20)
        way.trouble = trouble
        sender.put(*range(5))
        sender.until(lambda: sender.figures["errors"].get(kind, 0) >= 2)
        assert len(sender.spool.backlog) == 5
        way.trouble = ""
        sender.drain()
    assert moto.names() == stored(*range(5))
    assert set(sender.figures["errors"]) == {kind}
    assert not sender.up.trouble


def test_a_store_without_create_only_writes_is_told_and_asked_once_a_try(tmp_path: Path, moto: Moto) -> None:
    with Way(moto.port) as way:
        way.trouble = "501"
        sender = Sender(tmp_path, way.endpoint, uploads=1)
        sender.put(1)
        sender.until(lambda: sender.figures["errors"].get("unsupported", 0) >= 2)
        assert sender.up.trouble.startswith("the store answers 501 NotImplemented; it has no create-only writes")
        assert sender.up.trouble.endswith("name another in store.url")
        assert way.hurt == sender.figures["errors"]["unsupported"]  # obstore by itself would ask ten times more
    assert len(sender.spool.backlog) == 1


def test_an_object_whose_answer_was_lost_is_found_to_be_there(tmp_path: Path, moto: Moto) -> None:
    with Way(moto.port) as way:
        way.trouble = "lost"
        sender = Sender(tmp_path, way.endpoint, uploads=1)
        sender.put(1)
        sender.until(lambda: bool(sender.up.trouble))
        assert sender.spool.has(name(1))
        way.trouble = ""
        sender.drain()
    assert moto.names() == stored(1)
    assert (sender.figures["uploaded"], sender.figures["were_there"]) == (1, 1)


def test_two_that_send_the_same_objects_leave_each_once(tmp_path: Path, moto: Moto) -> None:
    senders = []
    for each in ("one", "other"):
        (tmp_path / each).mkdir()
        sender = Sender(tmp_path / each, moto.endpoint)
        for sequence in range(10):
            sender.spool.put(name(sequence), data(sequence))
        senders.append(sender)
    for sender in senders:
        sender.up.turn(time.monotonic_ns())
    for sender in senders:
        sender.drain()
    assert moto.names() == stored(*range(10))
    assert sum(sender.figures["were_there"] for sender in senders) == 10
    assert sum(sender.figures["uploaded_bytes"] for sender in senders) == 100_000


def test_a_bucket_that_is_missing_is_told_and_used_once_it_is_there(tmp_path: Path) -> None:
    with Moto(tmp_path, bucket=False) as moto:
        sender = Sender(tmp_path, moto.endpoint)
        sender.put(1)
        sender.until(lambda: bool(sender.up.trouble))
        assert sender.up.trouble.startswith("the store answers 404 NoSuchBucket; make the bucket")
        moto.request("PUT", f"/{BUCKET}")
        sender.drain()
        assert moto.names() == stored(1)


def test_wrong_credentials_are_told_and_right_ones_are_taken_from_the_file_as_it_is_then(
    tmp_path: Path, moto: Moto
) -> None:
    access_key, secret_key = moto.demand_credentials()
    sender = Sender(tmp_path, moto.endpoint, secret="not the secret")
    sender.put(1)
    sender.until(lambda: bool(sender.up.trouble))
    assert sender.up.trouble.startswith("the store answers 403 ")
    assert "not the secret" not in sender.up.trouble
    assert set(sender.figures["errors"]) == {"denied"}
    sender.write_credentials(access_key, secret_key)
    sender.drain()
    assert sender.figures["uploaded"] == 1


def test_a_store_that_was_down_all_the_while_gets_all_once_it_is_up(tmp_path: Path, moto: Moto) -> None:
    moto.stall()
    sender = Sender(tmp_path, moto.endpoint, timeout_s=2)
    for sequence in range(50):
        sender.put(sequence)
        sender.up.turn(time.monotonic_ns())
    assert len(sender.spool.backlog) == 50
    sender.until(lambda: bool(sender.up.trouble))
    moto.go_on()
    sender.drain()
    assert moto.names() == stored(*range(50))
    assert sender.figures["uploaded"] == 50


def test_obstore_brings_no_crowd_of_threads(tmp_path: Path, moto: Moto) -> None:
    sender = Sender(tmp_path, moto.endpoint, uploads=3)
    before = len(list(Path("/proc/self/task").iterdir()))
    sender.put(*range(30))
    sender.drain()
    assert len(list(Path("/proc/self/task").iterdir())) - before <= 3 + 1 + 2  # ours, the runtime, name look-ups
