"""Which blocks are taken. A worker reads hostile bytes and may be broken: what it says is measured against what can be.

Pure. Times are not judged: a statement may have waited for its answer for days, and clocks are set.
"""

from __future__ import annotations

from typing import Final

from collector.aggregator.tallies import FILTERED
from collector.archive.heads import BlockHead
from workers import counters

_KNOWN: Final = frozenset(counters.NAMES) | {FILTERED}


def refusal(head: BlockHead, worker: int) -> str | None:
    """Why a block that came from *worker* is not taken, without its content; None when it is.

    Counters are those of this version: their names stand in every header of the run.
    """
    if head.worker != worker:
        return "a head that names another worker"
    if not _KNOWN.issuperset(head.before) or not _KNOWN.issuperset(head.after):
        return "a head with a counter that no worker has"
    return None
