"""Walks the blocks of a mapped TPACKET_V3 ring (packet(7), linux/if_packet.h). Owns no file descriptor.

A block is copied before it is read: one copy of what it holds, and then the kernel has it back, and nobody can change
under our hands what was checked.
"""

import ctypes

import cython

from workers.pipeline import Pipeline

if not cython.compiled:
    from workers.memory import load_acquire, store_release
    from workers.wire import u16, u32, u64

# struct tpacket_block_desc: offsets of what is read.
_STATUS = cython.declare(cython.Py_ssize_t, 8)
_PACKETS = cython.declare(cython.Py_ssize_t, 12)
_FIRST = cython.declare(cython.Py_ssize_t, 16)
_LENGTH = cython.declare(cython.Py_ssize_t, 20)
_SEQUENCE = cython.declare(cython.Py_ssize_t, 24)
_DESCRIPTOR = cython.declare(cython.Py_ssize_t, 48)

_FRAME_HEADER = cython.declare(cython.Py_ssize_t, 48)  # struct tpacket3_hdr
_INTERFACE = cython.declare(cython.Py_ssize_t, 52)  # struct sockaddr_ll, behind it: its index
_KIND = cython.declare(cython.Py_ssize_t, 58)  # PACKET_HOST, PACKET_OUTGOING, ...
_ADDRESSED = cython.declare(cython.Py_ssize_t, 68)  # where both end

_TO_USER = cython.declare(cython.uint, 1)  # TP_STATUS_USER
_LOSING = cython.declare(cython.uint, 4)  # TP_STATUS_LOSING
_TO_KERNEL = cython.declare(cython.uint, 0)  # TP_STATUS_KERNEL
_NANOSECONDS = cython.declare(cython.longlong, 1_000_000_000)


@cython.cfunc
def _check(holds: cython.bint) -> cython.int:
    if not holds:
        raise IndexError("a frame leaves its block")
    return 0


@cython.final
@cython.cclass
class Ring:
    """The blocks at *address*, read in the order in which the kernel fills them.

    The mapping belongs to whoever made it and must outlive this object. ``corrupt`` counts blocks whose frames left
    the block, and those too short to have any: their rest was skipped.
    """

    corrupt: cython.ulonglong
    _address: cython.size_t
    _block_bytes: cython.size_t
    _count: cython.size_t
    _next: cython.size_t
    _block: bytes
    _at: cython.Py_ssize_t
    _left: cython.uint

    def __init__(self, address: int, block_bytes: int, block_count: int) -> None:
        self._address = address
        self._block_bytes = block_bytes
        self._count = block_count
        self._next = 0
        self._block = b""
        self._at = 0
        self._left = 0
        self.corrupt = 0

    def resume(self) -> None:
        """Go on where an earlier reader of this ring stopped: at the oldest block it has not given back.

        Where it gave all back, at the block that the kernel fills now, which has the highest sequence number.
        """
        looked_at: list[int] = []
        while True:
            blocks = [self._describe(index) for index in range(self._count)]
            sequences = [sequence for _, sequence in blocks]
            # The kernel goes on meanwhile: a block that it closed behind our back would look as if given back.
            if looked_at and max(sequences) == max(looked_at):
                break
            looked_at = sequences
        ready = [sequence for is_ready, sequence in blocks if is_ready]
        self._next = sequences.index(min(ready) if ready else max(sequences))

    def _describe(self, index: int) -> tuple[bool, int]:
        """Whether the block is ours, and its sequence number."""
        block = self._address + index * self._block_bytes
        ready = load_acquire(block + _STATUS) & _TO_USER
        return bool(ready), u64(ctypes.string_at(block, _DESCRIPTOR), _SEQUENCE, _DESCRIPTOR)

    def drain(self, pipeline: Pipeline, most_blocks: int) -> int:
        """Feed at most *most_blocks* blocks to *pipeline*; how many were taken. 0: nothing is ready. Never waits.

        Stops inside a block as soon as the pipeline is full; the next call goes on from there.
        """
        taken: cython.int = 0
        while taken < most_blocks:
            if self._left == 0 and not self._take_block(pipeline):
                break
            self._walk(pipeline)
            taken += 1
            if pipeline.full:
                break
        return taken

    @cython.cfunc
    def _take_block(self, pipeline: Pipeline) -> cython.bint:
        """Copy the next block and give it back to the kernel; False where the kernel still fills it."""
        block: cython.size_t = self._address + self._next * self._block_bytes
        status: cython.uint = load_acquire(block + _STATUS)
        if status & _TO_USER == 0:
            return False
        if status & _LOSING:
            pipeline.blocks_losing += 1
        length: cython.size_t = u32(ctypes.string_at(block, _DESCRIPTOR), _LENGTH, _DESCRIPTOR)
        if length > self._block_bytes:
            length = self._block_bytes
        self._block = ctypes.string_at(block, length)
        store_release(block + _STATUS, _TO_KERNEL)
        self._next += 1
        if self._next == self._count:
            self._next = 0
        self._left = 0
        if length < _DESCRIPTOR:
            self.corrupt += 1
            return True
        self._left = u32(self._block, _PACKETS, _DESCRIPTOR)
        self._at = u32(self._block, _FIRST, _DESCRIPTOR)
        return True

    @cython.cfunc
    @cython.exceptval(-1)
    def _walk(self, pipeline: Pipeline) -> cython.int:
        """Feed the frames of the copied block: struct tpacket3_hdr, then the packet at ``tp_mac``."""
        block: bytes = self._block
        end: cython.Py_ssize_t = len(block)
        at: cython.Py_ssize_t = self._at
        packet: cython.Py_ssize_t
        captured: cython.Py_ssize_t
        step: cython.Py_ssize_t
        try:
            while self._left > 0:
                step = u32(block, at, end)
                captured = u32(block, at + 12, end)
                packet = at + u16(block, at + 24, end)
                _check(packet + captured <= end)
                if packet - at >= _ADDRESSED:
                    pipeline.arrivals.count(u32(block, at + _INTERFACE, end), block[at + _KIND])
                else:
                    pipeline.arrivals.count(0, 0)
                pipeline.packet(
                    block,
                    packet,
                    packet + captured,
                    cython.cast(cython.longlong, u32(block, at + 4, end)) * _NANOSECONDS + u32(block, at + 8, end),
                    u32(block, at + 16, end),
                )
                self._left -= 1
                at += step
                _check(step > 0 or self._left == 0)
                if pipeline.full:
                    break
        except IndexError:
            self.corrupt += 1
            pipeline.skip(min(self._left, cython.cast(cython.uint, end // _FRAME_HEADER)))  # more can't have been in it
            self._left = 0
        self._at = at
        return 0
