"""How long tests wait for what takes no time on an ordinary machine: longer where the machine says that it is slow."""

from __future__ import annotations

import os
from typing import Final

SLOWNESS: Final = float(os.environ.get("QUERYTAP_TEST_SLOWNESS", "1"))
"""How often an ordinary machine could do in the same time what this one does; emulated ones say so."""

UNLIMITED_PERCENT: Final = 6400
"""The CPU cap of a querytap that is to record everything, however slow machine and build are."""
PROCESS: Final = (f"process.start_timeout_s={60 * SLOWNESS:.0f}", f"process.stop_timeout_s={30 * SLOWNESS:.0f}")
"""Settings of a querytap that has as much of it as is ordinary."""


def seconds(ordinary: float) -> float:
    """What is *ordinary* seconds elsewhere, on this machine."""
    return ordinary * SLOWNESS


def few(ordinary: int) -> int:
    """How many of what are *ordinary* many elsewhere this machine does in the same time."""
    return max(round(ordinary / SLOWNESS), 1)
