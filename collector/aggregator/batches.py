"""Decides when a batch closes, and holds what it has until then. Times are arguments; no I/O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from collector.aggregator.compress import Compressor
from collector.archive.heads import BlockHead
from collector.archive.layout import KIND_BLOCKS, KIND_METRICS, KIND_SUMMARY
from collector.archive.packing import pack

LEDGER_EVERY_NS: Final = 60_000_000_000
SUMMARY_FORMAT: Final = 1
METRICS_FORMAT: Final = 1
MAX_SAMPLES_BYTES: Final = 1 << 20
MAX_SUMMARY_BYTES: Final = 4 << 20
MOST_GROUPS: Final = 4096  # of about 1 MiB of content each; the header has a place for every frame


@dataclass(frozen=True, slots=True)
class Limits:
    """When a batch closes: its size, its age since the first block, and how long a quiet host stays silent."""

    max_bytes: int
    max_age_ns: int
    ledger_every_ns: int = LEDGER_EVERY_NS


@dataclass(frozen=True, slots=True)
class ClosedBatch:
    """A batch ready to be sealed."""

    groups: tuple[tuple[int, bytes], ...]
    """(kind, zstd frame), the summary first."""
    first_ns: int
    last_ns: int
    blocks: int
    statements: Mapping[int, int]
    """By worker."""
    content_bytes: int


class Batch:
    """Blocks gathered since the last one closed.

    Promises: a batch with statements is due when its size or age is reached; one without is due each minute.
    """

    def __init__(self, limits: Limits, level: int, now_ns: int) -> None:
        self._limits = limits
        self._compressor = Compressor(level)
        self._held = _Held(began_ns=now_ns)

    def adapt(self, limits: Limits, level: int) -> None:
        """Go by others, with what it holds too; what is compressed already stays as it is."""
        self._limits = limits
        self._compressor.set_level(level)

    @property
    def blocks(self) -> int:
        """How many blocks it holds."""
        return self._held.blocks

    def add(self, head: BlockHead, head_bytes: bytes, body: bytes, now_ns: int) -> None:
        """Take a block; *now_ns* is monotonic."""
        held = self._held
        if head.statements and not held.first_block_ns:
            held.first_block_ns = now_ns
        held.blocks += 1
        self._compressor.add(head_bytes, body)
        entry = pack(_entry(head))
        held.summary.append(entry)
        held.summary_bytes += len(entry)
        held.statements[head.worker] += head.statements
        if head.statements:
            held.first_ns = min(held.first_ns or head.first_ns, head.first_ns)
            held.last_ns = max(held.last_ns, head.last_ns)

    def add_sample(self, sample: bytes) -> None:
        """Take a sample of the monitor, packed; it goes with the batch whenever that closes.

        Of more than MAX_SAMPLES_BYTES the last ones are left out: a monitor that sends faster than it may.
        """
        held = self._held
        if held.samples_bytes + len(sample) <= MAX_SAMPLES_BYTES:
            held.samples.append(sample)
            held.samples_bytes += len(sample)

    def deadline_ns(self) -> int:
        """The monotonic time at which it is due by age."""
        quiet = self._held.began_ns + self._limits.ledger_every_ns
        return min(quiet, self._held.first_block_ns + self._limits.max_age_ns) if self._held.first_block_ns else quiet

    def due(self, now_ns: int) -> bool:
        """Whether it is to be closed now."""
        return (
            now_ns >= self.deadline_ns()
            or self._compressor.size >= self._limits.max_bytes
            or self._compressor.groups >= MOST_GROUPS
            or self._held.summary_bytes >= MAX_SUMMARY_BYTES
        )

    def close(self, now_ns: int, realtime_ns: int) -> ClosedBatch:
        """What it holds, compressed; an empty one has *realtime_ns* as its time span. Begins anew."""
        held, self._held = self._held, _Held(began_ns=now_ns)
        content_bytes = self._compressor.content_bytes
        summary = self._compressor.compress(b"".join(held.summary))
        groups = [(KIND_SUMMARY, summary), *((KIND_BLOCKS, frame) for frame in self._compressor.take())]
        if held.samples:
            metrics = b"".join((pack({"format": METRICS_FORMAT}), *held.samples))
            groups.append((KIND_METRICS, self._compressor.compress(metrics)))
        return ClosedBatch(
            tuple(groups),
            held.first_ns or realtime_ns,
            held.last_ns or realtime_ns,
            held.blocks,
            dict(held.statements),
            content_bytes,
        )


@dataclass(slots=True)
class _Held:
    began_ns: int
    first_block_ns: int = 0
    """When the first one with statements came; 0: none has."""
    blocks: int = 0
    first_ns: int = 0
    last_ns: int = 0
    summary: list[bytes] = field(default_factory=lambda: [pack({"format": SUMMARY_FORMAT})])
    summary_bytes: int = 0
    statements: Counter[int] = field(default_factory=Counter)
    samples: list[bytes] = field(default_factory=list)
    samples_bytes: int = 0


def _entry(head: BlockHead) -> dict[str, Any]:
    return {
        "worker": head.worker,
        "incarnation": head.incarnation,
        "sequence": head.sequence,
        "first_ns": head.first_ns,
        "last_ns": head.last_ns,
        "statements": head.statements,
        "summary": head.summary,
    }
