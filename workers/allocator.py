"""Tells the C library's allocator to keep what is freed: mallopt(3).

A worker makes and drops a block of up to 1 MiB a few times a second, an aggregator buffers of several. By default
such memory goes back to the kernel each time and is faulted in again page by page, which costs more than what is
done with it.
"""

import ctypes
from typing import Final

_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_KEPT_BYTES: Final = 64 << 20
"""Free memory at the top of the heap beyond this goes back."""
_LARGEST_FROM_HEAP: Final = 32 << 20  # glibc's upper bound of the threshold


def keep_freed_memory() -> None:
    """Set it for this process; nothing happens where the C library has no such setting (musl)."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)
        mallopt(_M_MMAP_THRESHOLD, _LARGEST_FROM_HEAP)
