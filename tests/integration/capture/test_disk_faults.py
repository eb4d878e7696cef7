"""What the disk of the state folder does to a capture at load: full, read-only, closed; and that it passes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support import processes
from tests.support.disks import Disk
from tests.support.loaded import Loaded, ledger_of
from tests.support.objectstores import Moto

pytestmark = [pytest.mark.integration, pytest.mark.either_build]

DROPPED = 200
"""Packets that are waited for: more than a small ring drops of a load that it has room for."""


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as made:
        yield made


@pytest.fixture
def loaded(stack: ExitStack) -> Loaded:
    return Loaded(stack)


def told(loaded: Loaded) -> str:
    """What `querytap status` says."""
    command = processes.querytap("status", "--set", f'paths.run="{loaded.folder}/run"')
    return processes.run(command).stdout.decode()


def wait_for_trouble(loaded: Loaded, text: str) -> None:
    loaded.units.wait_until(lambda: text in loaded.units.status()["store"]["trouble"])


def wait_until_stored(loaded: Loaded) -> None:
    """Until one more object is, and nothing is in the way of the next."""
    before = loaded.units.status()["batches"]["stored"]

    def goes_on() -> bool:
        status = loaded.units.status()
        return status["batches"]["stored"] > before and not status["store"]["trouble"]

    loaded.units.wait_until(goes_on)


def sums(loaded: Loaded, kind: str) -> dict[str, int]:
    """Of all workers."""
    ledger = ledger_of(loaded.units)
    figures = {name: [one[kind][name] for one in ledger.values()] for name in next(iter(ledger.values()))[kind]}
    return {name: sum(values) for name, values in figures.items() if name != "taken"}


def dropped(loaded: Loaded) -> int:
    """Packets, of all workers."""
    return sum(one["packets"]["dropped"] for one in loaded.units.status()["ledger"].values())


def stored_statements(loaded: Loaded) -> int:
    return sum(head.statements for head, _ in loaded.units.blocks())


def test_on_a_full_disk_the_rings_fill_what_they_drop_is_counted_and_it_goes_on_by_itself(
    stack: ExitStack, loaded: Loaded, report: Callable[[str], None]
) -> None:
    units = loaded.units
    units.configure("capture.ring_mib=1")
    disk = stack.enter_context(Disk(units.archive.parent, 8))
    units.start()
    with loaded.sending():
        wait_until_stored(loaded)
        disk.fill()
        wait_for_trouble(loaded, "No space left on device; free space")
        units.wait_until(lambda: units.status()["store"]["full"] and dropped(loaded) > DROPPED)
        said = told(loaded)
        assert "on that disk; nothing more is taken from the rings" in said
        assert "the kernel dropped packets" in said
        disk.empty()
        wait_until_stored(loaded)
    statements, packets = sums(loaded, "statements"), sums(loaded, "packets")
    sent = len(loaded.sent) + loaded.logins()
    missing = sent - statements["decoded"]
    report(f"disk full at load: {sent} statements sent, {missing} missing, {packets['dropped']} packets dropped")
    assert (statements["lost"], statements["shipped"]) == (0, stored_statements(loaded))
    assert 0 < missing <= packets["dropped"]
    assert units.aggregator.starts == 1


def test_an_archive_that_has_filled_its_disk_gives_up_its_oldest_and_loses_nothing_new(
    stack: ExitStack, loaded: Loaded, report: Callable[[str], None]
) -> None:
    units = loaded.units
    units.configure("store.min_free_percent=0")
    disk = stack.enter_context(Disk(units.archive.parent, 8))
    disk.fill(but_kib=350)
    units.start()
    with loaded.sending():
        units.wait_until(lambda: units.status()["batches"]["evicted"] >= 2)
    statements = sums(loaded, "statements")
    sent = len(loaded.sent) + loaded.logins()
    report(f"archive that fills its disk: {sent} statements sent, {statements['evicted']} evicted")
    assert (statements["decoded"], statements["lost"]) == (sent, 0)
    assert statements["shipped"] == stored_statements(loaded) == sent - statements["evicted"]
    first_ns, last_ns = units.status()["batches"]["evicted_ns"]
    assert last_ns > first_ns < min(head.first_ns for head, _ in units.blocks() if head.statements)


def test_a_spool_that_is_closed_or_read_only_for_a_while_costs_nothing(
    stack: ExitStack, loaded: Loaded, tmp_path: Path
) -> None:
    units = loaded.units
    loaded.settle_remotely(stack.enter_context(Moto(tmp_path)))
    disk = stack.enter_context(Disk(units.archive.parent, 8))
    own = units.archive.parent / "aggregator"
    units.start()
    with loaded.sending():
        wait_until_stored(loaded)
        own.chmod(0)
        wait_for_trouble(loaded, "Permission denied; let process.user write there")
        own.chmod(0o700)
        wait_until_stored(loaded)
        disk.remount("ro")
        wait_for_trouble(loaded, "mount it writable (mount -o remount,rw)")
        assert "Read-only file system" in told(loaded)
        disk.remount("rw")
        wait_until_stored(loaded)
    statements, packets = sums(loaded, "statements"), sums(loaded, "packets")
    sent = len(loaded.sent) + loaded.logins()
    assert (statements["decoded"], statements["lost"], packets["dropped"]) == (sent, 0, 0)
    assert statements["shipped"] == stored_statements(loaded) == sent
    assert units.aggregator.starts == 1
