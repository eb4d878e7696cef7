"""Decodes a capture file as a worker decodes its ring: the same pipeline, the same records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, Final

from workers.fragments import Fragments
from workers.pcapfile import CaptureFileError, Tally, frames
from workers.pipeline import Pipeline
from workers.records import Statement, statements
from workers.settings import Settings

_TICK_NS: Final = 100_000_000


class Replay:
    """One pass over a capture file; fragments of datagrams are put together on the way.

    ``counters``, ``datagrams`` and ``passed_over`` are complete once statements() has ended; ``problem`` is then what
    ended the file early, or None.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._pipeline = Pipeline(0, 0, settings)
        self._fragments = Fragments()
        self.passed_over = Tally()
        self.problem: CaptureFileError | None = None

    @property
    def counters(self) -> dict[str, int]:
        """What was counted so far, by the names of workers.counters."""
        return self._pipeline.counters()

    @property
    def datagrams(self) -> dict[str, int]:
        """What became of datagrams that came in fragments and did not all come, or not all alike."""
        return {
            "datagrams_given_up": self._fragments.given_up,
            "datagrams_disagreeing": self._fragments.disagreeing,
        }

    def statements(self, file: BinaryIO, name: str) -> Iterator[Statement]:
        """The statements in *file* in the order in which they were finished.

        Time is the file's own. Raises CaptureFileError where the file is no capture; one that is damaged further on
        gives what came before.
        """
        packets = frames(file, name, self.passed_over)
        latest = 0
        ticked = 0
        try:
            for packet in packets:
                # A fragment that completes nothing goes to the pipeline as it is, to be counted.
                data, at, time_ns, length = self._fragments.add(packet) or packet
                latest = max(latest, time_ns)
                if latest - ticked >= _TICK_NS:
                    self._pipeline.tick(latest)
                    ticked = latest
                self._pipeline.packet(data, at, len(data), time_ns, length)
                yield from self._full_blocks(latest)
        except CaptureFileError as error:
            self.problem = error
        self._fragments.finish()
        self._pipeline.finish(latest)
        yield from self._full_blocks(latest)
        yield from statements(self._pipeline.take_block(latest, final=True)[1])

    def _full_blocks(self, now_ns: int) -> Iterator[Statement]:
        while self._pipeline.full:
            yield from statements(self._pipeline.take_block(now_ns)[1])
