"""Kills the aggregator at random instants at load, and holds what is in the archive against all that is counted."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.support import gaps
from tests.support.loaded import Loaded, ledger_of
from tests.support.objectstores import Moto, Way

LONGEST_S: Final = 2.5
"""That one lives, from when its process begins: some are killed before they have taken anything."""
TROUBLES: Final = ("", "", "lost", "503")
"""Of the way to a store, one for each life."""


def kill(loaded: Loaded, times: int, *, seed: int, moto: Moto | None = None, way: Way | None = None) -> None:
    """Start all, send, and kill the aggregator again and again; what is durable once must be there at the end."""
    chance = random.Random(seed)  # so that a run can be had again
    units, durable = loaded.units, set[str]()
    units.start()
    with loaded.sending():
        for _ in range(times):
            time.sleep(chance.uniform(0, LONGEST_S))
            units.aggregator.kill()
            durable |= _objects(loaded, moto)
            if way is not None:
                way.trouble = chance.choice(TROUBLES)
            units.aggregator.start(wait=False)
        if way is not None:
            way.trouble = ""
        units.aggregator.wait_for("READY", "1")
    assert durable <= _objects(loaded, moto)


def _objects(loaded: Loaded, moto: Moto | None) -> set[str]:
    """The names of all that are whole: in the local archive, or in spool and store."""
    folder = loaded.folder / "state" / ("aggregator/spool" if moto else "archive")
    found = {path.name for path in folder.rglob("[!.]*.querytap")}
    return found | {Path(name).name for name in (moto.names() if moto else ())}


def check(loaded: Loaded, report: Callable[[str], None], what: str) -> None:
    """No statement is there twice, none that nobody sent, and as many are not there as are counted as lost."""
    ledger = ledger_of(loaded.units)
    sums = {name: sum(one["statements"][name] for one in ledger.values()) for name in ("decoded", "shipped", "lost")}
    sent = len(loaded.sent) + loaded.logins()
    stored = sum(head.statements for head, _ in loaded.units.blocks())
    account = gaps.recorded(loaded.units)
    report(f"{what}: {sent} statements sent, {stored} in the archive, {sent - stored} missing, {sums['lost']} counted")
    assert [one["packets"]["dropped"] for one in ledger.values()] == [0] * len(ledger)
    assert sums == {"decoded": sent, "shipped": stored, "lost": sent - stored}
    assert sums["lost"] > 0, "no kill has hit anything"
    assert account.invented == []
    logged = gaps.logged(loaded.log)
    assert account.found.keys() == logged.keys()
    for name, line in account.found.items():
        numbers = [one.number for one in line if one.number >= 0]
        assert Counter(numbers).most_common(1)[0][1] == 1, name
        assert max(numbers) < logged[name]
        assert numbers == sorted(numbers), name
