from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from collector.aggregator.ledger import Ledger
from collector.aggregator.resuming import Objects, keep, resume, supervisor
from collector.aggregator.store import Evicted
from collector.archive.names import ObjectName, write_name
from tests.unit.collector.aggregator.making import head

NAME = write_name(ObjectName("0123456789abcdef" * 2, 5, 7, 1, "0" * 16))


class Shelf:
    """A store that knows only whether it has things."""

    place = "shelf"

    def __init__(self, *, there: bool) -> None:
        self._there = there
        self.removed: list[str] = []

    def complete(self, name: str) -> bool:  # noqa: ARG002
        return self._there

    def remove(self, name: str) -> None:
        self.removed.append(name)

    def put(self, name: str, data: bytes) -> None:
        raise NotImplementedError

    def make_room(self, incoming: int) -> Iterator[Evicted]:
        raise NotImplementedError

    def newest(self, instance: str) -> Path | None:
        raise NotImplementedError

    def size_bytes(self) -> int:
        raise NotImplementedError


def kept(*, final: bool = False, under: str = "parent") -> dict[str, Any]:
    ledger = Ledger(1)
    ledger.take_block(head(statements=5, after={"statements_packed": 5, "statements_decoded": 5}))
    values = keep(
        under=under,
        run="r",
        name=NAME,
        statements={0: 5},
        ledger=ledger,
        objects=Objects(stored=3, discarded=2, evicted=1, evicted_ns=[3, 4]),
        evicting="oldest",
        final=final,
    )
    made: dict[str, Any] = json.loads(json.dumps(values))
    return made


def test_a_run_goes_on_with_its_object_counted_as_stored() -> None:
    ledger = Ledger(1)
    resumed = resume(kept(), "parent", ledger, Shelf(there=True))
    assert resumed is not None
    assert (resumed.run, resumed.objects) == ("r", Objects(4, 2, 1, evicted_ns=[3, 4]))
    assert (ledger.view()[0].shipped, ledger.view()[0].lost) == (5, 0)


def test_an_object_that_never_got_to_the_store_is_counted_as_lost() -> None:
    ledger = Ledger(1)
    resumed = resume(kept(), "parent", ledger, Shelf(there=False))
    assert resumed is not None
    assert resumed.objects == Objects(3, 3, 1, discarded_ns=[5, 7], evicted_ns=[3, 4])
    assert (ledger.view()[0].shipped, ledger.view()[0].lost) == (0, 5)


@pytest.mark.parametrize("under", ["parent", "another"])
def test_what_counts_as_evicted_goes_at_the_latest_when_an_aggregator_starts(under: str) -> None:
    shelf = Shelf(there=True)
    resume(kept(under=under), "parent", Ledger(1), shelf)
    assert shelf.removed == ["oldest"]


@pytest.mark.parametrize(
    "values", [{}, kept(final=True), kept(under="another"), {**kept(), "ledger": {}}, {**kept(), "objects": {"x": 1}}]
)
def test_another_run_or_what_is_not_readable_begins_anew(values: dict[str, Any]) -> None:
    ledger = Ledger(1)
    assert resume(values, "parent", ledger, Shelf(there=True)) is None
    assert ledger.view()[0].decoded == 0


def test_without_a_name_for_the_supervisor_nothing_goes_on() -> None:
    assert resume(kept(under=""), "", Ledger(1), Shelf(there=True)) is None


def test_the_supervisor_has_one_name() -> None:
    assert supervisor() == supervisor() != ""
