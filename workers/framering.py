"""Walks the frames of a mapped TPACKET_V2 ring (packet(7), linux/if_packet.h). Owns no file descriptor.

The ring of kernels where version 3 is refused or not to be trusted. Each packet has a frame of its own, of one size,
which goes back to the kernel as soon as it is copied: one bytes object a packet, unlike with version 3.
"""

import ctypes

import cython

from workers.pipeline import Pipeline
from workers.wire import u16, u32

if not cython.compiled:
    from workers.memory import load_acquire, store_release

_HEADER = cython.declare(cython.Py_ssize_t, 32)  # struct tpacket2_hdr, whose first word is the status
_INTERFACE = cython.declare(cython.Py_ssize_t, 36)  # struct sockaddr_ll, behind it: its index
_KIND = cython.declare(cython.Py_ssize_t, 42)  # PACKET_HOST, PACKET_OUTGOING, ...
_ADDRESSED = cython.declare(cython.Py_ssize_t, 52)  # where both end
_TO_USER = cython.declare(cython.uint, 1)  # TP_STATUS_USER
_LOSING = cython.declare(cython.uint, 4)  # TP_STATUS_LOSING
_TO_KERNEL = cython.declare(cython.uint, 0)  # TP_STATUS_KERNEL
_NANOSECONDS = cython.declare(cython.longlong, 1_000_000_000)
_TURN = cython.declare(cython.int, 64)
"""Frames that are taken as one block would be."""


@cython.final
@cython.cclass
class FrameRing:
    """The frames at *address*, read in the order in which the kernel fills them: as many a block as fit into one.

    The mapping belongs to whoever made it and must outlive this object. ``corrupt`` counts frames whose packet left
    the frame.
    """

    corrupt: cython.ulonglong
    _address: cython.size_t
    _block_bytes: cython.size_t
    _frame_bytes: cython.size_t
    _per_block: cython.size_t
    _count: cython.size_t
    _next: cython.size_t
    _found: cython.bint

    def __init__(self, address: int, block_bytes: int, block_count: int, frame_bytes: int) -> None:
        self._address = address
        self._block_bytes = block_bytes
        self._frame_bytes = frame_bytes
        self._per_block = block_bytes // frame_bytes
        self._count = self._per_block * block_count
        self._next = 0
        self.corrupt = 0
        self._found = False

    def resume(self) -> None:
        """Go on where an earlier reader of this ring stopped: at the oldest frame it has not given back.

        Where it gave all back the ring does not tell where the kernel goes on; the next frame that it fills does.
        """
        self._found = False

    def drain(self, pipeline: Pipeline, most_blocks: int) -> int:
        """Feed at most *most_blocks* turns of frames to *pipeline*; how many were taken. 0: nothing is ready.

        Stops as soon as the pipeline is full. Never waits.
        """
        taken: cython.int = 0
        if not self._found and not self._find():
            return 0
        while taken < most_blocks and self._turn(pipeline):
            taken += 1
            if pipeline.full:
                break
        return taken

    @cython.cfunc
    def _turn(self, pipeline: Pipeline) -> cython.int:
        """Feed the frames that are ready, up to a turn of them; how many there were."""
        done: cython.int = 0
        losing: cython.uint = 0
        status: cython.uint
        frame: cython.size_t
        mac: cython.uint
        captured: cython.uint
        packet: bytes
        while done < _TURN:
            frame = self._place(self._next)
            status = load_acquire(frame)
            if status & _TO_USER == 0:
                break
            losing |= status & _LOSING
            header: bytes = ctypes.string_at(frame, _ADDRESSED)
            captured = u32(header, 8, _HEADER)
            mac = u16(header, 12, _HEADER)
            sound: cython.bint = mac >= _HEADER and mac + cython.cast(cython.size_t, captured) <= self._frame_bytes
            packet = ctypes.string_at(frame + mac, captured) if sound else b""
            store_release(frame, _TO_KERNEL)
            self._next = self._after(self._next)
            done += 1
            if not sound:
                self.corrupt += 1
                pipeline.skip(1)
                continue
            told: cython.bint = mac >= _ADDRESSED
            pipeline.arrivals.count(u32(header, _INTERFACE, _ADDRESSED) if told else 0, header[_KIND])
            pipeline.packet(
                packet,
                0,
                captured,
                cython.cast(cython.longlong, u32(header, 16, _HEADER)) * _NANOSECONDS + u32(header, 20, _HEADER),
                u32(header, 4, _HEADER),
            )
            if pipeline.full:
                break
        if losing:
            pipeline.blocks_losing += 1
        return done

    @cython.cfunc
    def _place(self, number: cython.size_t) -> cython.size_t:
        return (
            self._address
            + number // self._per_block * self._block_bytes
            + number % self._per_block * self._frame_bytes
        )

    @cython.cfunc
    def _after(self, number: cython.size_t) -> cython.size_t:
        return 0 if number + 1 == self._count else number + 1

    def _ready(self, number: int) -> bool:
        return bool(load_acquire(self._place(number)) & _TO_USER)

    def _find(self) -> bool:
        """Go to the oldest frame that is ready: where a run of them begins, or of a full ring the one stamped first."""
        ready = [number for number in range(self._count) if self._ready(number)]
        if not ready:
            return False
        first = ready[0]
        for _ in range(self._count):
            before = (first or self._count) - 1
            if not self._ready(before):
                break
            first = before
        else:
            first = min(range(self._count), key=self._stamp)
        self._next = first
        self._found = True
        return True

    def _stamp(self, number: int) -> tuple[int, int]:
        header = ctypes.string_at(self._place(number), _HEADER)
        return u32(header, 16, _HEADER), u32(header, 20, _HEADER)
