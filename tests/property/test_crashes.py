"""An aggregator that ends at each call that changes something on the disk, by kill -9 or with the power of the host."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from collector.aggregator.chain import open_chain
from collector.aggregator.ledger import Ledger
from collector.aggregator.resuming import Objects, resume
from collector.aggregator.shipping import Origin, Shipper
from collector.aggregator.spool import Spool
from collector.aggregator.store import LocalFolder
from collector.archive.names import read_name
from tests.support.fragile import Crash, FragileDisk
from tests.unit.collector.aggregator.making import PUBLIC_KEY, READER_PUBLIC_RAW, SIGNING_KEY, START_NS, header
from tests.unit.collector.aggregator.test_shipping import batch

INSTANCE = header().instance
BATCHES = 4
PARENT = "parent"


class Life:
    """The part of an aggregator that writes, from a start on; there is room for two or three objects."""

    def __init__(self, state: Path, kind: type[LocalFolder]) -> None:
        self.store = kind(state / "archive", 4000, 0)
        (state / "aggregator").mkdir(exist_ok=True)
        chain = open_chain(state / "aggregator" / "chain.json", INSTANCE, self.store)
        self.ledger = Ledger(1)
        resumed = resume(chain.beside, PARENT, self.ledger, self.store)
        self.shipper = Shipper(
            origin=Origin(
                instance=INSTANCE, public_key=PUBLIC_KEY, host="db1", boot="b", run="r", under=PARENT, software="test"
            ),
            key=SIGNING_KEY,
            recipients=[READER_PUBLIC_RAW],
            store=self.store,
            chain=chain,
            ledger=self.ledger,
            clock=lambda: {"synchronised": None},
            objects=resumed.objects if resumed else Objects(),
            uploads=None,
        )  # fmt: skip
        self.told: list[str] = []
        """What counts as shipped, in order."""

    def go_on(self, first: int) -> None:
        """Ship batches from that one on."""
        for sequence in range(first, BATCHES):
            self.shipper.ship(batch(self.ledger, sequence), final=False, now_ns=0, realtime_ns=START_NS)
            assert not self.shipper.trouble
            self.told.append(self.shipper.last_name)


def lived(
    state: Path, kind: type[LocalFolder], monkeypatch: pytest.MonkeyPatch, crash_at: int
) -> tuple[FragileDisk, list[str]]:
    """A life that ends at that call; the disk it leaves, and what counted as shipped."""
    state.mkdir(parents=True)
    told: list[str] = []
    with monkeypatch.context() as patch:
        disk = FragileDisk(patch, state, crash_at)
        with contextlib.suppress(Crash):
            life = Life(state, kind)
            told = life.told
            life.go_on(0)
    return disk, told


def sequence(name: str) -> int:
    parts = read_name(name)
    assert parts is not None
    return parts.sequence


def names(state: Path) -> list[str]:
    archive = state / "archive"
    found = [str(path.relative_to(archive)) for path in archive.glob("*/*/[!.]*")]
    return sorted(found, key=sequence)


@pytest.mark.parametrize("kind", [LocalFolder, Spool])
@pytest.mark.parametrize("power_is_cut", [False, True])
def test_at_whatever_call_it_ends_what_was_shipped_is_there_whole_and_the_next_life_counts_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type[LocalFolder], *, power_is_cut: bool
) -> None:
    calls = lived(tmp_path / "whole", kind, monkeypatch, 1_000_000)[0].calls
    assert calls >= 10 * BATCHES, "a file, its name, and the chain's, each synced"
    for crash_at in range(calls + 1):
        state = tmp_path / str(crash_at)
        disk, told = lived(state, kind, monkeypatch, crash_at)
        if power_is_cut:
            disk.power_cut()
        again = Life(state, kind)
        there = names(state)
        assert all(again.store.complete(name) for name in there), crash_at
        kept = [name for name in told if name in there]
        assert kept == told[len(told) - len(kept) :], "what was evicted was the oldest"
        gone = len(told) - len(kept)
        view = again.ledger.view()[0]
        assert view.shipped == 5 * len(there), crash_at
        assert view.evicted >= 5 * gone, crash_at
        assert view.faults == ()
        again.go_on(len(told) + 1)
        after = [sequence(name) for name in names(state)]
        assert after == sorted(set(after)), "no two objects of one number"
        assert not list(state.rglob("*.aside"))
        view = again.ledger.view()[0]
        assert view.shipped == 5 * len(after)
        assert view.decoded == view.shipped + view.evicted + view.lost
