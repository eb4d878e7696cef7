"""Whether an aggregator goes on where one before it was stopped short, under the same supervisor."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from collector.aggregator.ledger import Ledger
from collector.aggregator.store import Store, TransportError
from collector.archive.names import read_name
from collector.boot import boot_id

_log = logging.getLogger("aggregator")


@dataclass(slots=True)
class Objects:
    """How many objects became what, in a run."""

    stored: int = 0
    discarded: int = 0
    evicted: int = 0
    uploaded: int = 0
    """Of the stored: those that left the spool for the remote store."""
    discarded_ns: list[int] = field(default_factory=list)
    """From the first statement in those that were given up to the last; empty when none was."""
    evicted_ns: list[int] = field(default_factory=list)
    """The same of those that were removed for want of room."""

    def note_discarded(self, name: str) -> None:
        """The object is given up, or missing after all."""
        self.discarded += 1
        self.discarded_ns = _widened(self.discarded_ns, name)

    def note_evicted(self, name: str) -> None:
        """The object goes for want of room."""
        self.evicted += 1
        self.evicted_ns = _widened(self.evicted_ns, name)


@dataclass(frozen=True, slots=True)
class Resumed:
    """What goes on."""

    run: str
    objects: Objects


def supervisor() -> str:
    """A name of our parent process that no other process of this host ever has; empty where it can't be told."""
    parent = os.getppid()
    try:
        boot = boot_id()
        stat = Path(f"/proc/{parent}/stat").read_text("utf-8", "replace")
    except OSError:
        return ""
    started = stat.rpartition(")")[2].split()[19]  # starttime of proc(5): field 22, the third being the first here
    return f"{boot}:{parent}:{started}"


def keep(
    *,
    under: str,
    run: str,
    name: str,
    statements: Mapping[int, int],
    ledger: Ledger,
    objects: Objects,
    evicting: str,
    final: bool,
) -> dict[str, Any]:
    """What has to be on disk when the object *name* is about to be written; *evicting* goes for it, and counts."""
    return {
        "under": under,
        "run": run,
        "name": name,
        "statements": {str(worker): count for worker, count in statements.items()},
        "ledger": ledger.dump(statements),
        "objects": asdict(objects),
        "evicting": evicting,
        "final": final,
    }


def resume(kept: Mapping[str, Any], under: str, ledger: Ledger, store: Store, *, ended: bool = False) -> Resumed | None:
    """Bring *ledger* to where *kept* left it, when that was a run under the same supervisor that did not end.

    *ended*: one that did is gone on with too, as capture may go on with its rings. Raises TransportError.
    """
    _finish_evicting(kept, store)
    if not under or kept.get("under") != under or (kept.get("final") is not False and not ended):
        return None
    try:
        statements = {int(worker): int(count) for worker, count in kept["statements"].items()}
        name, run = str(kept["name"]), str(kept["run"])
        objects = Objects(**kept["objects"])
        ledger.restore(kept["ledger"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        _log.warning("the ledger begins anew, what was kept of it is not readable: %s", error)
        return None
    if not store.complete(name):
        ledger.batch_missing(statements)
        objects.note_discarded(name)
    else:
        objects.stored += 1
    return Resumed(run, objects)


def _finish_evicting(kept: Mapping[str, Any], store: Store) -> None:
    """Remove what counts as evicted already, and was still there when the aggregator ended."""
    evicting = kept.get("evicting")
    if not isinstance(evicting, str) or not evicting:
        return
    try:
        store.remove(evicting)
    except TransportError as error:
        _log.warning("counted as evicted, but %s", error)


def _widened(span_ns: list[int], name: str) -> list[int]:
    parts = read_name(name)
    ends = [*span_ns, *((parts.first_ns, parts.last_ns) if parts else ())]
    return [min(ends), max(ends)] if ends else []
