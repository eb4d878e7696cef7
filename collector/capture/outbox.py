"""Sends statistics records to the aggregator without ever waiting for it in the midst of the work."""

from __future__ import annotations

import logging
from collections import deque
from typing import Final

from collector.channel import Order, Statistics, Told, Traffic, unpack_order
from collector.outlet import Outlet

_MOST_KEPT: Final = 4096

_log = logging.getLogger(__name__)


class Outbox:
    """What goes through *outlet*.

    A record that finds no room is dropped if the next one of its worker says the same and more; the last one of an
    incarnation is kept and sent first when there is room.
    """

    def __init__(self, outlet: Outlet) -> None:
        self._outlet = outlet
        self._kept: deque[Told] = deque(maxlen=_MOST_KEPT)

    @property
    def fd(self) -> int:
        """Becomes readable when an aggregator has come to whom nothing was sent yet, or has sent an order."""
        return self._outlet.fd

    @property
    def waiting(self) -> int:
        """How many records are kept until there is room."""
        return len(self._kept)

    def order(self) -> Order | None:
        """The last order that has come, None where none has; what is none is said in the log."""
        found = None
        while (record := self._outlet.take()) is not None:
            try:
                found = unpack_order(record)
            except ValueError as error:
                _log.warning("the aggregator sent something else than an order: %s", error)
        return found

    def send(self, record: Told) -> None:
        """Send, keep or drop a record; never blocks."""
        self.flush()
        if (self._kept or not self._sent(record)) and _is_last(record):
            if len(self._kept) == _MOST_KEPT:
                _log.error("the aggregator takes no statistics: those of the end of a worker are lost")
            self._kept.append(record)

    def flush(self) -> None:
        """Send what was kept, as far as there is room."""
        while self._kept and self._sent(self._kept[0]):
            self._kept.popleft()

    def close(self) -> None:
        """Close our end; what is kept is lost."""
        self._outlet.close()

    def _sent(self, record: Told) -> bool:
        return self._outlet.send(record.pack())


def _is_last(record: Told) -> bool:
    if isinstance(record, Statistics):
        return record.final or record.ended
    return isinstance(record, Traffic) and record.final
