"""The aggregator killed a hundred times at load, with a local archive and with a store that is not always well."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.integration.capture.test_disk_faults import stored_statements, sums, wait_for_trouble, wait_until_stored
from tests.support import aggregator_kills
from tests.support.disks import Disk
from tests.support.loaded import Loaded
from tests.support.objectstores import Moto

pytestmark = pytest.mark.integration

KILLS = 100


def test_of_a_hundred_kills_each_loses_what_is_counted(report: Callable[[str], None]) -> None:
    with ExitStack() as stack:
        loaded = Loaded(stack)
        aggregator_kills.kill(loaded, KILLS, seed=2)
        aggregator_kills.check(loaded, report, f"aggregator killed {KILLS} times")


def test_of_a_hundred_kills_beside_a_store_each_loses_what_is_counted(
    tmp_path: Path, report: Callable[[str], None]
) -> None:
    with ExitStack() as stack:
        moto = stack.enter_context(Moto(tmp_path))
        loaded = Loaded(stack)
        way = loaded.settle_remotely(moto)
        aggregator_kills.kill(loaded, KILLS, seed=3, moto=moto, way=way)
        aggregator_kills.check(loaded, report, f"aggregator killed {KILLS} times beside a store")


def test_an_aggregator_that_starts_on_a_read_only_disk_waits_until_it_can_write() -> None:
    with ExitStack() as stack:
        loaded = Loaded(stack)
        disk = stack.enter_context(Disk(loaded.units.archive.parent, 8))
        loaded.units.start()
        with loaded.sending():
            wait_until_stored(loaded)
            disk.remount("ro")
            loaded.units.aggregator.kill()
            loaded.units.aggregator.start()
            wait_for_trouble(loaded, "Read-only file system")
            disk.remount("rw")
            wait_until_stored(loaded)
        statements = sums(loaded, "statements")
        sent = len(loaded.sent) + loaded.logins()
        assert statements["decoded"] == sent
        assert statements["shipped"] == stored_statements(loaded) == sent - statements["lost"]
