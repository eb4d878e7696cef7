from __future__ import annotations

import time

from collector.aggregator.clock import clock_state


def test_the_offset_turns_monotonic_time_into_real_time() -> None:
    offset = clock_state()["realtime_minus_monotonic_ns"]
    assert abs(time.monotonic_ns() + offset - time.time_ns()) < 60_000_000_000


def test_the_kernel_tells_whether_its_clock_is_kept_or_nothing_is_said() -> None:
    assert clock_state()["synchronised"] in {True, False, None}
