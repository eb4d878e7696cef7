"""The measured process: drives a worker's own loop over a ring image and says what a pass took.

Starts, reads the image, warms up, then times. It runs alone so that nothing else is in its heap or its caches, and
so that callgrind can count the same thing. Allocator and garbage collector are set as a worker sets them.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import mmap
import sys
import time
from pathlib import Path
from typing import Final

from bench.micro import ring_image
from collector.config import Config
from workers.allocator import keep_freed_memory
from workers.area import Area
from workers.checkpoint import Checkpoint
from workers.counters import NAMES
from workers.page import FIRST_COUNTER_WORD
from workers.pipeline import Pipeline
from workers.process import Block, Loop
from workers.ring import Ring
from workers.settings import RESPONSES, Settings

_CHECKPOINT_BYTES: Final = Config().capture.checkpoint_mib << 20


class _Bin:
    """Takes every block and counts its bytes."""

    def __init__(self) -> None:
        self.blocks = 0
        self.bytes = 0

    def send(self, block: Block) -> bool:
        self.blocks += 1
        self.bytes += len(block[1])
        return True

    def wait(self, most_ms: int) -> None:
        raise AssertionError(f"there is always room, yet {most_ms} ms were to be waited for it")


class Feed:
    """A mapped ring image that can be read again and again."""

    def __init__(self, image: Path, ends_ns: list[int], settings: Settings) -> None:
        with image.open("rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        self._ends_ns = ends_ns
        self._settings = settings
        self._pinned = ctypes.c_char.from_buffer(self._map)

    def once(self) -> tuple[int, int, _Bin, memoryview]:
        """One pass: wall and CPU time in ns, what came out, and the counters' page."""
        out = _Bin()
        page = memoryview(bytearray(mmap.PAGESIZE))
        ring = Ring(ctypes.addressof(self._pinned), ring_image.BLOCK_BYTES, len(self._ends_ns))
        pipeline = Pipeline(0, 0, self._settings)
        pipeline.take_over(Checkpoint(Area(memoryview(bytearray(_CHECKPOINT_BYTES)))))
        loop = Loop(ring, pipeline, out, page)
        wall, cpu = time.perf_counter_ns(), time.thread_time_ns()
        for number, end_ns in enumerate(self._ends_ns):  # block by block, as the kernel hands them over
            self._map[number * ring_image.BLOCK_BYTES + ring_image.STATUS_AT] = ring_image.TO_USER
            while loop.step(end_ns):
                pass
        if not loop.finish(self._ends_ns[-1], 0):
            raise AssertionError("the last block found no room")
        return time.perf_counter_ns() - wall, time.thread_time_ns() - cpu, out, page


def settle() -> None:
    """As a worker does before it begins."""
    gc.freeze()
    gc.disable()
    keep_freed_memory()


def main() -> int:
    """Measure passes over an image and print the result as JSON."""
    parser = argparse.ArgumentParser(prog="python -m bench.micro.feed", description=main.__doc__)
    parser.add_argument("image", type=Path)
    parser.add_argument("ends", type=Path, help="JSON: the time of the last packet of each block, in ns")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--responses", choices=RESPONSES, required=True)
    parser.add_argument("--passes", type=int, required=True)
    arguments = parser.parse_args()
    settle()
    ends_ns = json.loads(arguments.ends.read_text(encoding="utf-8"))
    settings = Settings(ports=(arguments.port,), responses=arguments.responses)
    feed = Feed(arguments.image, ends_ns, settings)
    passes = [feed.once() for _ in range(arguments.passes)]
    out, page = passes[-1][2], passes[-1][3]
    counted = page.cast("Q")[FIRST_COUNTER_WORD : FIRST_COUNTER_WORD + len(NAMES)]
    counters = dict(zip(NAMES, counted.tolist(), strict=True))
    sys.stdout.write(
        json.dumps(
            {
                "wall_ns": [one[0] for one in passes],
                "cpu_ns": [one[1] for one in passes],
                "blocks": out.blocks,
                "block_bytes": out.bytes,
                "counters": counters,
            }
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
