"""Memory that was freed is there to be used again, without the kernel."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

_PROBE = """
import ctypes, resource, sys
from workers.allocator import keep_freed_memory
if not hasattr(ctypes.CDLL(None), "mallopt"):
    sys.exit(77)
if sys.argv[1] == "kept":
    keep_freed_memory()
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
bytes(bytearray(1 << 20))
before = faults()
for _ in range(100):
    block = bytearray(1 << 20)
    del block
print(faults() - before)
"""
_PAGES = (1 << 20) // resource.getpagesize()


def _faults(how: str) -> int:
    done = subprocess.run([sys.executable, "-c", _PROBE, how], capture_output=True, text=True, check=False)
    if done.returncode == 77:
        pytest.skip("this C library has no mallopt")
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def test_a_buffer_made_again_costs_no_page_faults() -> None:
    assert _faults("kept") < 2 * _PAGES
