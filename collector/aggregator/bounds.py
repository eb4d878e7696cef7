"""How much the aggregator may hold, from the settings; and the kernel's limit behind that."""

from __future__ import annotations

import resource
from dataclasses import dataclass
from typing import Final

from collector.aggregator.intake import HIGH_WATER_MARK
from collector.aggregator.shipping import MOST_WAITING
from collector.archive.layout import MAX_HEAD_BYTES, most_body_bytes
from collector.config import Config
from workers.message import OVERHEAD_BYTES

_MIB: Final = 1 << 20
_ITSELF_BYTES: Final = 512 * _MIB  # interpreter, libraries and their threads: some 60 MiB, and room
_COPIES: Final = 4  # of one message on its way through intake and compression
_IN_FLIGHT: Final = 2  # beside the queue: one that is being received, one that has been


@dataclass(frozen=True, slots=True)
class Bounds:
    """What workers can make the aggregator hold."""

    message_bytes: int
    """The largest message that a worker has reason to send."""
    batch_bytes: int
    """A batch is closed at this size, and may exceed it by one message."""
    uploads: int = 0
    """Objects on their way to a remote store."""

    def memory_bytes(self, workers: int) -> int:
        """The most it needs, with every queue full of the largest messages."""
        queues = workers * (HIGH_WATER_MARK + _IN_FLIGHT) * self.message_bytes
        batches = (MOST_WAITING + 2 + self.uploads) * (self.batch_bytes + self.message_bytes)
        return _ITSELF_BYTES + queues + batches + _COPIES * self.message_bytes

    def apply(self, workers: int, *, lower: bool = True) -> None:
        """Have the kernel refuse this process more memory than that; *lower*: even where it may have more already.

        A backstop: ZeroMQ bounds a frame and the number of messages, but not the frames of one message.
        """
        limit = self.memory_bytes(workers)
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        if not lower and soft != resource.RLIM_INFINITY:
            limit = max(limit, soft)
        limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))


def bounds_of(config: Config) -> Bounds:
    """The bounds that the settings give."""
    body = most_body_bytes(config.decode.max_statement_kib << 10)
    return Bounds(OVERHEAD_BYTES + MAX_HEAD_BYTES + body, config.batch.max_mib * _MIB, config.store.uploads)
