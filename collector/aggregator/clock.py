"""What the host's clocks say, and whether something keeps them right."""

from __future__ import annotations

import ctypes
import time
from typing import Any, Final

_STA_UNSYNC: Final = 0x0040  # linux/timex.h
_TIME_ERROR: Final = 5


class _Timex(ctypes.Structure):
    """struct timex of adjtimex(2), as far as it is read here; the rest is room."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("room", ctypes.c_byte * 256),
    )


def clock_state() -> dict[str, Any]:
    """Realtime minus monotonic in ns, and whether the kernel takes its clock for synchronised (None: not told)."""
    synchronised, max_error_us = _discipline()
    return {
        "realtime_minus_monotonic_ns": time.time_ns() - time.monotonic_ns(),
        "synchronised": synchronised,
        "max_error_us": max_error_us,
    }


def _discipline() -> tuple[bool | None, int | None]:
    timex = _Timex()  # modes 0: read only, no right needed
    try:
        state = ctypes.CDLL(None, use_errno=True).adjtimex(ctypes.byref(timex))
    except AttributeError:  # a C library without it
        return None, None
    if state < 0:
        return None, None
    return state != _TIME_ERROR and not timex.status & _STA_UNSYNC, max(0, timex.maxerror)
