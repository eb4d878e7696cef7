"""Decides when the aggregator has waited long enough for what is still to come. Pure: times are arguments."""

from __future__ import annotations

from typing import Final

SILENCE_NS: Final = 3_000_000_000
"""Once capture has ended, blocks are in queues of this host: silence that long means that no more come."""


class Ending:
    """Begins when capture has said its last or is gone; over when all is here, or it is silent, or time is up."""

    def __init__(self, timeout_ns: int) -> None:
        self._timeout_ns = timeout_ns
        self._begun_ns: int | None = None
        self._heard_ns = 0
        self._hurried = False

    def bound(self, timeout_ns: int) -> None:
        """Let the end take so long at most."""
        self._timeout_ns = timeout_ns

    @property
    def begun(self) -> bool:
        """Whether the end has begun."""
        return self._begun_ns is not None or self._hurried

    def begin(self, now_ns: int) -> None:
        """Begin the end; once begun, this changes nothing."""
        if self._begun_ns is None:
            self._begun_ns = self._heard_ns = now_ns

    def heard(self, now_ns: int) -> None:
        """A worker sent something."""
        self._heard_ns = now_ns

    def hurry(self) -> None:
        """Wait for nothing any more."""
        self._hurried = True

    def over(self, now_ns: int, *, complete: bool) -> bool:
        """Whether to stop taking blocks; *complete*: all that was announced is here."""
        deadline_ns = self.deadline_ns()
        if self._hurried:
            return True
        return deadline_ns is not None and (complete or now_ns >= deadline_ns)

    def deadline_ns(self) -> int | None:
        """When `over` becomes true by itself; None before the end has begun."""
        if self._begun_ns is None:
            return None
        return min(self._heard_ns + SILENCE_NS, self._begun_ns + self._timeout_ns)

    def expired(self, now_ns: int) -> bool:
        """Whether the time to bring things to the store is over too."""
        return self._hurried or (self._begun_ns is not None and now_ns >= self._begun_ns + self._timeout_ns)
