from __future__ import annotations

import errno
import io
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from collector.aggregator.batches import Batch, ClosedBatch, Limits
from collector.aggregator.chain import Chain, open_chain
from collector.aggregator.ledger import Ledger
from collector.aggregator.resuming import Objects
from collector.aggregator.shipping import MOST_WAITING, RETRY_NS, Origin, Shipper
from collector.aggregator.store import Evicted, LocalFolder, Store, TransportError
from collector.archive.hashes import object_hash
from collector.archive.layout import Header
from collector.archive.names import read_name
from collector.reading.objects import read_header
from tests.unit.collector.aggregator.making import (
    PUBLIC_KEY,
    READER_PUBLIC_RAW,
    SECOND,
    SIGNING_KEY,
    START_NS,
    head,
    head_bytes,
    header,
)

INSTANCE = header().instance


class MoodyStore:
    """Keeps objects in memory, and refuses while told to."""

    place = "memory"

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.refusal: TransportError | None = None
        self.to_evict: list[Evicted] = []

    def newest(self, instance: str) -> Path | None:  # noqa: ARG002
        return None

    def put(self, name: str, data: bytes) -> None:
        if self.refusal is not None:
            raise self.refusal
        assert name not in self.objects
        self.objects[name] = data

    def complete(self, name: str) -> bool:
        return name in self.objects

    def remove(self, name: str) -> None:
        raise NotImplementedError

    def make_room(self, incoming: int) -> Iterator[Evicted]:  # noqa: ARG002
        while self.to_evict:
            yield self.to_evict[-1]
            self.to_evict.pop()

    def size_bytes(self) -> int:
        return sum(map(len, self.objects.values()))

    def headers(self) -> list[Header]:
        return [read_header(io.BytesIO(self.objects[name])) for name in sorted(self.objects)]


def chain(tmp_path: Path, store: Store) -> Chain:
    return open_chain(tmp_path / "chain.json", INSTANCE, store)


def shipper(tmp_path: Path, store: Store, ledger: Ledger) -> Shipper:
    origin = Origin(
        instance=INSTANCE,
        public_key=PUBLIC_KEY,
        host="db1",
        boot="b",
        run="this run",
        under="",
        software="querytap test",
    )
    return Shipper(
        origin=origin,
        key=SIGNING_KEY,
        recipients=[READER_PUBLIC_RAW],
        store=store,
        chain=chain(tmp_path, store),
        ledger=ledger,
        clock=lambda: {"synchronised": None},
        objects=Objects(),
        uploads=lambda: {"uploads": {"uploaded": 7}},
    )


def batch(ledger: Ledger, sequence: int, statements: int = 5) -> ClosedBatch:
    fields = {
        "sequence": sequence,
        "statements": statements,
        "first_ns": START_NS + sequence * SECOND,
        "last_ns": START_NS + sequence * SECOND,
        "before": {"statements_packed": sequence * statements, "statements_decoded": sequence * statements},
        "after": {"statements_packed": (sequence + 1) * statements, "statements_decoded": (sequence + 1) * statements},
    }
    gathered = Batch(Limits(1 << 20, SECOND), 1, 0)
    assert ledger.take_block(head(**fields))
    gathered.add(head(**fields), head_bytes(**fields), b"", 0)
    return gathered.close(0, START_NS)


def test_objects_are_linked_by_the_hash_of_the_one_before(tmp_path: Path) -> None:
    store, ledger = MoodyStore(), Ledger(1)
    ships = shipper(tmp_path, store, ledger)
    for sequence in range(3):
        ships.ship(batch(ledger, sequence), final=sequence == 2, now_ns=0, realtime_ns=START_NS)
    first, second, third = store.headers()
    names = sorted(store.objects)
    assert [header.sequence for header in (first, second, third)] == [1, 2, 3]
    assert first.previous == bytes(32)
    assert third.previous == object_hash(store.objects[names[1]])
    assert second.previous == object_hash(store.objects[names[0]])
    assert [header.ledger["final"] for header in (first, second, third)] == [False, False, True]


def test_the_name_of_an_object_tells_what_its_header_says(tmp_path: Path) -> None:
    store, ledger = MoodyStore(), Ledger(1)
    shipper(tmp_path, store, ledger).ship(batch(ledger, 0), final=False, now_ns=0, realtime_ns=START_NS)
    ((path, data),) = store.objects.items()
    name = read_name(path)
    (header_read,) = store.headers()
    assert name is not None
    assert (name.instance, name.sequence) == (header_read.instance, header_read.sequence)
    assert (name.first_ns, name.last_ns) == (header_read.first_ns, header_read.last_ns)
    assert name.hash_start == object_hash(data).hex()[:16]


def test_each_header_has_the_boot_and_the_state_of_the_clock(tmp_path: Path) -> None:
    store, ledger = MoodyStore(), Ledger(1)
    shipper(tmp_path, store, ledger).ship(batch(ledger, 0), final=False, now_ns=0, realtime_ns=START_NS)
    (header_read,) = store.headers()
    assert (header_read.boot, header_read.clock) == ("b", {"synchronised": None})


def test_the_chain_goes_on_over_a_restart(tmp_path: Path) -> None:
    store = MoodyStore()
    for sequence in range(2):
        ledger = Ledger(1)
        shipper(tmp_path, store, ledger).ship(batch(ledger, sequence), final=True, now_ns=0, realtime_ns=START_NS)
    first, second = store.headers()
    assert second.sequence == 2
    assert second.previous == object_hash(store.objects[min(store.objects)])
    assert first.run == second.run


def test_the_ledger_in_an_object_counts_its_own_statements_as_shipped(tmp_path: Path) -> None:
    store, ledger = MoodyStore(), Ledger(1)
    shipper(tmp_path, store, ledger).ship(batch(ledger, 0), final=False, now_ns=0, realtime_ns=START_NS)
    (header_read,) = store.headers()
    assert header_read.ledger["workers"]["0"]["statements"]["shipped"] == 5
    assert header_read.counts["workers"] == {"0": 5}
    assert ledger.view()[0].shipped == 5


def test_what_a_store_refuses_waits_and_goes_in_order(tmp_path: Path) -> None:
    store, ledger = MoodyStore(), Ledger(1)
    ships = shipper(tmp_path, store, ledger)
    store.refusal = TransportError("disk full", retry=True)
    for sequence in range(MOST_WAITING):
        assert not ships.full
        ships.ship(batch(ledger, sequence), final=False, now_ns=0, realtime_ns=START_NS)
    assert (ships.full, ships.objects.stored, ships.trouble) == (True, 0, "disk full")
    assert ships.retry_at_ns() == RETRY_NS
    assert ledger.view()[0].held == 5 * MOST_WAITING
    store.refusal = None
    ships.push(RETRY_NS)
    assert [header.sequence for header in store.headers()] == list(range(1, MOST_WAITING + 1))
    assert (ships.waiting, ships.trouble, ships.retry_at_ns()) == (0, "", None)
    assert [header.ledger["workers"]["0"]["statements"]["held"] for header in store.headers()] == [0] * MOST_WAITING


def test_what_is_given_up_is_lost_in_the_ledger_and_missing_in_the_chain(tmp_path: Path) -> None:
    store, ledger = MoodyStore(), Ledger(1)
    ships = shipper(tmp_path, store, ledger)
    store.refusal = TransportError("disk full", retry=True)
    ships.ship(batch(ledger, 0), final=False, now_ns=0, realtime_ns=START_NS)
    ships.give_up()
    store.refusal = None
    ships.ship(batch(ledger, 1), final=False, now_ns=0, realtime_ns=START_NS)
    assert ships.objects.discarded == 1
    assert ledger.view()[0].lost == 5
    (header_read,) = store.headers()
    assert header_read.sequence == 2
    assert ledger.balanced()


def test_an_object_that_can_never_be_stored_does_not_stop_the_next(tmp_path: Path) -> None:
    store, ledger = MoodyStore(), Ledger(1)
    ships = shipper(tmp_path, store, ledger)
    store.refusal = TransportError("read-only", retry=False)
    ships.ship(batch(ledger, 0), final=False, now_ns=0, realtime_ns=START_NS)
    assert (ships.waiting, ships.objects.discarded) == (0, 1)


def test_statements_of_an_evicted_object_move_from_shipped_to_evicted(tmp_path: Path) -> None:
    store, ledger = MoodyStore(), Ledger(1)
    ships = shipper(tmp_path, store, ledger)
    ships.ship(batch(ledger, 0), final=False, now_ns=0, realtime_ns=START_NS)
    store.to_evict = [Evicted("x", 1, store.headers()[0])]
    ships.ship(batch(ledger, 1), final=False, now_ns=0, realtime_ns=START_NS)
    view = ledger.view()[0]
    assert (ships.objects.evicted, view.evicted, view.shipped, view.decoded) == (1, 5, 5, 10)


def test_a_crash_before_the_object_is_written_leaves_a_gap_not_a_second_object_of_one_number(tmp_path: Path) -> None:
    folder = LocalFolder(tmp_path / "archive", 1 << 30, 0)
    store, ledger = MoodyStore(), Ledger(1)
    ships = shipper(tmp_path, store, ledger)
    store.refusal = TransportError("crash", retry=True)
    ships.ship(batch(ledger, 0), final=False, now_ns=0, realtime_ns=START_NS)
    assert chain(tmp_path, folder).link.sequence == 1


def kept_evictions(tmp_path: Path, store: Store) -> tuple[int, str]:
    beside = chain(tmp_path, store).beside
    return beside["objects"]["evicted"], beside["evicting"]


def test_an_eviction_counts_durably_before_the_object_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, ledger = LocalFolder(tmp_path / "archive", 1, 0), Ledger(1)
    ships = shipper(tmp_path, store, ledger)
    ships.ship(batch(ledger, 0), final=False, now_ns=0, realtime_ns=START_NS)
    first = ships.last_name

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(LocalFolder, "_remove", crash)
    with pytest.raises(KeyboardInterrupt):
        ships.ship(batch(ledger, 1), final=False, now_ns=0, realtime_ns=START_NS)
    assert store.has(first)
    assert kept_evictions(tmp_path, store) == (1, first)


def test_an_object_that_cannot_be_removed_counts_as_evicted_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, ledger = LocalFolder(tmp_path / "archive", 1, 0), Ledger(1)
    ships = shipper(tmp_path, store, ledger)
    ships.ship(batch(ledger, 0), final=False, now_ns=0, realtime_ns=START_NS)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", refuse(errno.EACCES))
        ships.ship(batch(ledger, 1), final=False, now_ns=0, realtime_ns=START_NS)
        ships.push(RETRY_NS)
    assert "cannot be removed" in ships.trouble
    ships.push(2 * RETRY_NS)
    view = ledger.view()[0]
    assert (ships.objects.evicted, view.evicted, view.shipped, ships.trouble) == (1, 5, 5, "")
    assert ships.objects.evicted_ns == [START_NS, START_NS]


def test_an_eviction_that_cannot_be_kept_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, ledger = LocalFolder(tmp_path / "archive", 1, 0), Ledger(1)
    ships = shipper(tmp_path, store, ledger)
    ships.ship(batch(ledger, 0), final=False, now_ns=0, realtime_ns=START_NS)
    first = ships.last_name
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", refuse(errno.EROFS))
        ships.ship(batch(ledger, 1), final=False, now_ns=0, realtime_ns=START_NS)
    assert "remount,rw" in ships.trouble
    assert (ships.objects.evicted, ships.objects.evicted_ns, ledger.view()[0].evicted) == (0, [], 0)
    assert store.has(first)
    ships.push(RETRY_NS)
    assert (ships.objects.evicted, store.has(first)) == (1, False)


def test_a_disk_without_room_for_the_count_lets_the_object_go_and_counts_it_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, ledger = LocalFolder(tmp_path / "archive", 1, 0), Ledger(1)
    ships = shipper(tmp_path, store, ledger)
    ships.ship(batch(ledger, 0), final=False, now_ns=0, realtime_ns=START_NS)
    first, real = ships.last_name, Path.replace

    def replace(path: Path, to: Path) -> Path:
        if store.has(first):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(path, to)

    monkeypatch.setattr(Path, "replace", replace)
    ships.ship(batch(ledger, 1), final=False, now_ns=0, realtime_ns=START_NS)
    assert (ships.objects.stored, store.has(first)) == (2, False)
    assert kept_evictions(tmp_path, store) == (1, first)


def test_what_is_found_damaged_after_all_is_lost(tmp_path: Path) -> None:
    store, ledger = MoodyStore(), Ledger(1)
    ships = shipper(tmp_path, store, ledger)
    ships.ship(batch(ledger, 0), final=False, now_ns=0, realtime_ns=START_NS)
    ships.note_missing(Evicted(ships.last_name, 1, store.headers()[0]))
    view = ledger.view()[0]
    assert (ships.objects.stored, ships.objects.discarded, view.shipped, view.lost) == (0, 1, 0, 5)
    assert ships.objects.discarded_ns == [START_NS, START_NS]
    ships.note_missing(Evicted(ships.last_name, 1, header(run="another")))
    ships.note_missing(Evicted(ships.last_name, 1, None))
    assert (ships.objects.stored, ships.objects.discarded, ledger.view()[0].lost) == (0, 3, 5)


def refuse(number: int) -> Callable[..., None]:
    def call(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    return call
