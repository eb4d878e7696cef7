"""A hostile TPACKET_V3 ring is walked to its end: each block is given back, nothing outside of the ring is read."""

from __future__ import annotations

import ctypes
import mmap
import struct
from typing import Final

from tests.fuzz.script import Script, damaged
from tests.support import mysql_packets as mysql
from tests.support.packets import BLOCK_HEADER, TO_USER, Captured, Connection, block, frame
from workers.pipeline import Pipeline
from workers.ring import Ring
from workers.settings import Settings

_BLOCK_BYTES: Final = 4096
_BLOCKS: Final = 4
_SETTINGS: Final = Settings(ports=(3306,), max_flows=8)
_START_NS: Final = 1_700_000_000_000_000_000
_NUMBERS: Final = (0, 1, 7, 47, 48, 49, 0x7F, 0xFF0, 0xFFF, 0x1000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFD0)


def _conversation() -> list[bytes]:
    both = Connection()
    return [
        *both.open(), both.server(mysql.greeting()), both.client(mysql.login()), both.server(mysql.ok(sequence=2)),
        both.client(mysql.query(b"SELECT 1")), both.server(mysql.result()), both.client(mysql.prepare(b"SELECT ?")),
        both.server(mysql.prepare_ok(1, 1)), both.client(mysql.execute(1, [mysql.Bound(mysql.LONG, b"\1\0\0\0")])),
        both.server(mysql.ok()), both.client(mysql.command(1)), b"", b"\x45",
    ]  # fmt: skip


_PACKETS: Final = _conversation()


class _Guarded:
    """Memory of a ring with a page behind it that cannot be read."""

    def __init__(self) -> None:
        size = _BLOCK_BYTES * _BLOCKS
        self._map = mmap.mmap(-1, size + mmap.PAGESIZE)
        self._view = (ctypes.c_char * len(self._map)).from_buffer(self._map)
        self.address = ctypes.addressof(self._view)
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mprotect(ctypes.c_void_p(self.address + size), ctypes.c_size_t(mmap.PAGESIZE), 0):
            raise OSError(ctypes.get_errno(), "mprotect")

    def fill(self, content: bytes) -> None:
        ctypes.memmove(self.address, content, len(content))

    def ready(self) -> int:
        """How many blocks are the reader's."""
        return sum(
            ctypes.c_uint32.from_address(self.address + index * _BLOCK_BYTES + 8).value & TO_USER
            for index in range(_BLOCKS)
        )


_MEMORY: Final = _Guarded()


def _number(script: Script, true: int) -> int:
    how = script.byte()
    if how < 0xC0:
        return true
    return _NUMBERS[how % len(_NUMBERS)] if how & 0x10 else script.number(4)


def _block(script: Script, index: int) -> bytes:
    """A block as the kernel would fill it, some of its numbers otherwise."""
    shape = script.byte()
    count = shape & 15
    if shape & 0xC0 == 0xC0:
        return damaged(script, block([Captured(packet, _START_NS) for packet in _PACKETS[:count]]))
    frames = b""
    for number in range(count):
        packet = _PACKETS[script.byte() % len(_PACKETS)]
        step = (BLOCK_HEADER + len(packet) + 7) & ~7
        hurt = script.byte()
        made = Captured(packet, _START_NS)
        if hurt & 0x80:
            given = _number(script, step), _number(script, len(packet)), _number(script, 48) & 0xFFFF
            whole = frame(made, step=given[0], captured=given[1], at=given[2])
        else:
            whole = frame(made, step=0 if number == count - 1 else step)
        frames += whole.ljust(step, b"\0")
    head = (_number(script, count), _number(script, BLOCK_HEADER), _number(script, BLOCK_HEADER + len(frames)))
    ready = 0 if shape & 0x30 == 0x30 else TO_USER
    return struct.pack("=IIIIIIQIIII", 3, 0, ready, *head, index + 1, 0, 0, 0, 0) + frames


def run(data: bytes) -> int:
    """One input; what came of it in short."""
    script = Script(data)
    mode = script.byte()
    image = b"".join(_block(script, index)[:_BLOCK_BYTES].ljust(_BLOCK_BYTES, b"\0") for index in range(1 + mode % 4))
    _MEMORY.fill(image.ljust(_BLOCK_BYTES * _BLOCKS, b"\0"))
    ready = _MEMORY.ready()
    pipeline = Pipeline(0, 0, _SETTINGS)
    ring = Ring(_MEMORY.address, _BLOCK_BYTES, _BLOCKS)
    if mode & 4:
        ring.resume()
    taken, blocks = 0, 0
    while (walked := ring.drain(pipeline, 1 + (mode >> 3 & 3))) > 0:
        taken += walked
        blocks += 1
        assert blocks <= _BLOCKS, "a ring is walked without an end"
        if pipeline.full:
            pipeline.take_block(_START_NS)
    pipeline.take_block(_START_NS, final=True)
    assert taken + _MEMORY.ready() == ready, "a block is neither read nor left"
    assert ring.corrupt <= taken
    counters = pipeline.counters()
    packets = sum(count for name, count in counters.items() if name.startswith("packets_"))
    assert packets <= taken * (_BLOCK_BYTES + 1), "more packets than bytes"
    assert counters["statements_decoded"] == counters["statements_packed"]
    assert pipeline.kept_bytes() == 0
    return hash((ring.corrupt, taken, tuple(min(count, 4) for count in counters.values())))


SEEDS: Final = {
    "whole": bytes((3, 13, *(byte for index in range(13) for byte in (index, 0)), 0, 0, 0)),
    "two-blocks": bytes((1, 7, *(byte for index in range(7) for byte in (index, 0)), 0, 0, 0,
                         6, *(byte for index in range(7, 13) for byte in (index, 0)), 0, 0, 0)),
    "wrong-count": bytes((0, 2, 0, 0, 6, 0, 0xD2, 0, 0)),
    "wrong-step": bytes((0, 3, 0, 0, 6, 0x80, 0xD1, 0xD2, 0xD3, 7, 0, 0, 0, 0)),
    "kernel-still-fills": bytes((2, 0x32, 0, 0, 1, 0)),
    "damaged": bytes((5, 0xC5, 0, 20, 0xFF, 0xC3, 7, 70, 1)),
}  # fmt: skip
"""Where a corpus begins."""
