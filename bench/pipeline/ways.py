"""How packets get to the workers in a run: capture.method, and the blocks of the ring."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product


@dataclass(frozen=True, slots=True)
class Way:
    """Settings of capture that are compared; the defaults are those of the product."""

    method: str = "ring"
    block_kib: int = 1024
    timeout_ms: int = 250

    @property
    def settings(self) -> tuple[str, ...]:
        """As `--set` takes them."""
        return (
            f'capture.method="{self.method}"',
            f"capture.block_kib={self.block_kib}",
            f"capture.block_timeout_ms={self.timeout_ms}",
        )

    @property
    def label(self) -> str:
        """For people; empty where it is what everybody has."""
        return "" if self == Way() else f"{self.method}, {self.block_kib} KiB, {self.timeout_ms} ms"


def ways(methods: Sequence[str], block_sizes: Sequence[int], timeouts: Sequence[int]) -> list[Way]:
    """Each method with each size and timeout; TPACKET_V2, which fills no blocks and has no timeout, but once."""
    found = []
    for method in methods:
        if method == "ring-v2":
            found.append(Way(method))
        else:
            found += [Way(method, size, timeout) for size, timeout in product(block_sizes, timeouts)]
    return found
