"""Holds the last readings of each source, for those who serve them. Safe between threads."""

from __future__ import annotations

from collections.abc import Iterator

from collector.monitor.families import Reading, Readings


class Board:
    """What was read last. A source replaces its readings as a whole: nobody sees half of them."""

    def __init__(self) -> None:
        self._readings: dict[str, Readings] = {}

    def post(self, source: str, readings: Readings) -> None:
        """Put these in the place of what *source* had."""
        self._readings[source] = readings  # one step of the interpreter, as is the copy below

    def all(self) -> Iterator[Reading]:
        """Those of all sources as they are now, in the order in which the sources first had some."""
        for readings in self._readings.copy().values():
            yield from readings
