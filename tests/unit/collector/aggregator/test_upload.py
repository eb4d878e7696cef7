from __future__ import annotations

import select
import threading
from pathlib import Path
from typing import Any

import obstore
import pytest
from obstore.exceptions import GenericError, PermissionDeniedError
from obstore.store import MemoryStore

from collector.aggregator import upload
from collector.aggregator.resuming import Objects
from collector.aggregator.spool import Spool
from collector.aggregator.upload import Uploader
from collector.config import Config, StartError, from_mapping
from tests.unit.collector.aggregator.test_spool import CONTENT, filled, name

SECOND = 1_000_000_000
NOW = 1000 * SECOND
ANSWER = "Server returned non-2xx status code: {}: <Code>Why</Code>"


class Failing:
    """A store that fails as obstore does when the store's server does."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def put(self, *_: object, **__: object) -> None:
        raise self._error


class Held(MemoryStore):
    """A store that answers when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.answer = threading.Event()

    def put(self, *given: Any, **named: Any) -> Any:  # noqa: ANN401 - whatever obstore takes
        self.answer.wait()
        return super().put(*given, **named)


@pytest.fixture
def stores(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Those that are opened, one after the other; the last one again and again."""
    found: list[Any] = [MemoryStore()]
    monkeypatch.setattr(upload, "open_remote", lambda *_: found.pop(0) if len(found) > 1 else found[0])
    return found


def configured(**store: object) -> Config:
    return from_mapping({"store": {"url": "s3://bucket", **store}})


def uploader(spool: Spool, objects: Objects | None = None, **store: object) -> Uploader:
    return Uploader(spool, configured(**store), objects or Objects())


def turn_until_back(up: Uploader, now_ns: int = NOW) -> None:
    """Send what may go, wait until something is back, and take note of it."""
    up.turn(now_ns)
    assert select.select([up.fd], [], [], 30)[0]
    up.turn(now_ns)


def drain(up: Uploader, spool: Spool) -> None:
    up.turn(NOW)
    while len(spool.backlog):
        assert select.select([up.fd], [], [], 30)[0]
        up.turn(NOW)


def listed(store: MemoryStore) -> list[str]:
    return sorted(str(meta["path"]) for batch in obstore.list(store) for meta in batch)


def figures(up: Uploader) -> dict[str, Any]:
    found: dict[str, Any] = up.figures()
    return found


def test_every_object_gets_to_the_store_and_leaves_the_spool(tmp_path: Path, stores: list[Any]) -> None:
    spool, objects = filled(tmp_path, 5), Objects()
    up = uploader(spool, objects)
    drain(up, spool)
    assert listed(stores[0]) == [name(sequence) for sequence in range(1, 6)]
    assert not spool.has(name(1))
    assert not up.going
    assert (objects.uploaded, figures(up)["uploaded_bytes"], figures(up)["spooled"]) == (5, 500, 0)


def test_an_object_that_the_store_has_already_is_done_and_not_sent_twice(tmp_path: Path, stores: list[Any]) -> None:
    stores[0].put(name(1), CONTENT)
    spool = filled(tmp_path, 1)
    up = uploader(spool)
    drain(up, spool)
    assert (figures(up)["uploaded"], figures(up)["were_there"], figures(up)["uploaded_bytes"]) == (1, 1, 0)


def test_nothing_waits_for_a_store_that_does_not_answer(tmp_path: Path, stores: list[Any]) -> None:
    stores[0] = held = Held()
    spool = filled(tmp_path, 5)
    up = uploader(spool, uploads=2)
    for _ in range(3):
        up.turn(NOW)  # returns
    assert spool.backlog.away == 2
    assert up.due_ns() is None
    spool.put(name(6), CONTENT)
    assert [evicted.name for evicted in spool.make_room(1 << 40)] == [name(each) for each in (2, 3, 4, 6)]
    held.answer.set()
    drain(up, spool)
    assert listed(held) == [name(1), name(5)]


@pytest.mark.parametrize(
    ("error", "kind", "says"),
    [
        (GenericError(ANSWER.format(503)), "busy", "answers 503"),
        (GenericError(ANSWER.format(501)), "unsupported", "If-None-Match"),
        (FileNotFoundError(ANSWER.format(404)), "missing", "make the bucket"),
        (PermissionDeniedError(ANSWER.format(403)), "denied", "store.credentials_file"),
        (GenericError("HTTP error: error sending request"), "unreachable", "no answer"),
    ],
)
def test_what_the_store_refuses_stays_is_counted_and_goes_later(
    tmp_path: Path, stores: list[Any], error: Exception, kind: str, says: str
) -> None:
    stores[0] = Failing(error)
    stores.append(store := MemoryStore())
    spool = filled(tmp_path, 1)
    up = uploader(spool)
    turn_until_back(up)
    assert spool.has(name(1))
    assert not up.going
    assert says in up.trouble
    assert up.state()["trouble"] == up.trouble
    assert says not in str(up.figures()), "what a store says stays on the host"
    assert figures(up)["errors"] == {kind: 1}
    due_ns = up.due_ns()
    assert due_ns is not None
    assert NOW + SECOND // 2 <= due_ns <= NOW + SECOND
    up.turn(due_ns - 1)
    assert spool.backlog.away == 0
    if kind != "denied":  # for then the store is opened anew at once, with the credentials of now
        up.adapt(configured())
    turn_until_back(up, due_ns)
    assert listed(store) == [name(1)]
    assert not up.trouble


def test_credentials_that_cannot_be_read_any_more_leave_things_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    file = tmp_path / "credentials"
    file.write_text("aws_access_key_id = a\naws_secret_access_key = b\n")
    up = uploader(filled(tmp_path, 1), credentials_file=str(file), endpoint="http://127.0.0.1:1")
    file.unlink()
    with pytest.raises(StartError, match="cannot be read"):
        up.adapt(configured(credentials_file=str(file)))
    turn_until_back(up)
    assert "Connection refused" in up.trouble


def test_an_object_that_is_gone_from_the_spool_is_told(
    tmp_path: Path, stores: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    spool = filled(tmp_path, 2)
    spool.path(name(1)).unlink()
    up = uploader(spool)
    drain(up, spool)
    assert listed(stores[0]) == [name(2)]
    assert figures(up)["errors"] == {"spool": 1}
    assert f"gone from the spool before the store had it: {name(1)}" in caplog.text


def test_an_object_that_cannot_be_read_does_not_hold_up_others(tmp_path: Path, stores: list[Any]) -> None:
    spool = filled(tmp_path, 2)
    spool.path(name(2)).unlink()
    spool.path(name(2)).mkdir()
    up = uploader(spool, uploads=1)
    turn_until_back(up)
    due_ns = up.due_ns()
    assert due_ns is not None
    turn_until_back(up, due_ns)
    assert listed(stores[0]) == [name(1)]
    assert len(spool.backlog) == 1


def test_a_fault_of_ours_ends_the_process(tmp_path: Path, stores: list[Any]) -> None:
    stores[0] = Failing(TypeError("no such argument"))
    up = uploader(filled(tmp_path, 1))
    with pytest.raises(TypeError, match="no such argument"):
        turn_until_back(up)


def test_what_stays_in_the_spool_at_an_end_is_told(
    tmp_path: Path, stores: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    spool = filled(tmp_path, 2)
    up = uploader(spool)
    up.end()
    assert "2 objects (200 bytes) stay in the spool" in caplog.text
    drain(up, spool)
    caplog.clear()
    up.end()
    assert not caplog.text
    assert listed(stores[0]) == [name(1), name(2)]


def test_the_rate_is_kept(tmp_path: Path, stores: list[Any]) -> None:
    del stores[1:]
    spool = filled(tmp_path, 2)
    up = uploader(spool, upload_rate_kib=1)
    turn_until_back(up)
    assert up.due_ns() == NOW + 100 * SECOND // 1024


def test_a_damaged_object_is_set_aside_and_the_rest_goes_on(
    tmp_path: Path, stores: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    spool = filled(tmp_path, 3)
    spool.path(name(2)).write_bytes(CONTENT[:-1] + b"!")
    up = uploader(spool)
    drain(up, spool)
    assert listed(stores[0]) == [name(1), name(3)]
    assert figures(up)["errors"] == {"damaged": 1}
    assert "is damaged: its content is not what its name says" in caplog.text
    assert [lost.name for lost in up.take_damaged()] == [name(2)]
    assert up.take_damaged() == []
