"""Fills a ring block by block from a plain packet socket, in the form in which the kernel fills a TPACKET_V3 one.

So whoever reads a ring (workers.ring) reads this one too, and a reader that ends loses nothing of what is in it. The
writer is capture, which holds the socket; it copies bytes and looks at none of them. What the reader can write to (the
ring's memory) is never trusted here: places and sizes are kept in this object alone.
"""

import ctypes
import errno
import os

import cython

if not cython.compiled:
    from workers.memory import load, load_acquire, move, store32, store_release

_BATCH = cython.declare(cython.int, 64)
"""Packets of one system call."""
_MOST_BATCHES = cython.declare(cython.int, 256)
"""Of one call: under a flood who calls has other things to do as well."""
_SLOT_BYTES = cython.declare(cython.size_t, 1 << 17)
"""Most of a packet: what is longer (BIG TCP) is cut, as its length tells. Only what is used of it takes memory."""
_CONTROL_BYTES = cython.declare(cython.size_t, 128)
_NAME_BYTES = cython.declare(cython.size_t, 20)  # struct sockaddr_ll

# struct mmsghdr, recvmmsg(2), on 64 bits.
_MESSAGE_BYTES = cython.declare(cython.size_t, 64)
_NAME_LENGTH = cython.declare(cython.size_t, 8)
_CONTROL_LENGTH = cython.declare(cython.size_t, 40)
_RECEIVED = cython.declare(cython.size_t, 56)

# struct cmsghdr, cmsg(3): length, level, type, data; then struct timespec or struct tpacket_auxdata.
_CONTROL_HEADER = cython.declare(cython.size_t, 16)
_SOL_SOCKET = cython.declare(cython.ulonglong, 1)
_SOL_PACKET = cython.declare(cython.ulonglong, 263)

# struct tpacket_block_desc and struct tpacket3_hdr, linux/if_packet.h.
_STATUS = cython.declare(cython.size_t, 8)
_BLOCK_HEADER = cython.declare(cython.size_t, 48)
_FRAME_HEADER = cython.declare(cython.size_t, 48)
_PACKET_AT = cython.declare(cython.size_t, 80)
"""In a frame: behind its header and the packet's sockaddr_ll."""
_TO_USER = cython.declare(cython.uint, 1)
_TO_KERNEL = cython.declare(cython.uint, 0)

_MSG_DONTWAIT: int = 0x40
_NOTHING: frozenset[int] = frozenset({errno.EAGAIN, errno.EINTR, errno.ENETDOWN})
"""What stands for "no packet": the pending error of an interface that is down is taken with it."""

_libc = ctypes.CDLL(None, use_errno=True)
_libc.recvmmsg.argtypes = [ctypes.c_int, ctypes.c_size_t, ctypes.c_uint, ctypes.c_int, ctypes.c_void_p]


class _Message(ctypes.Structure):
    """struct mmsghdr."""

    _fields_ = (
        ("name", ctypes.c_size_t),
        ("name_length", ctypes.c_uint32),
        ("pieces", ctypes.c_size_t),
        ("piece_count", ctypes.c_size_t),
        ("control", ctypes.c_size_t),
        ("control_length", ctypes.c_size_t),
        ("flags", ctypes.c_size_t),  # an int, aligned
        ("received", ctypes.c_uint),
    )


class _Piece(ctypes.Structure):
    """struct iovec."""

    _fields_ = (("base", ctypes.c_size_t), ("length", ctypes.c_size_t))


@cython.final
@cython.cclass
class SoftRing:
    """The ring at *address*, filled from the socket *fd*, which has SO_TIMESTAMPNS and PACKET_AUXDATA switched on.

    Memory, all zero, and socket belong to whoever made them and must outlive this object. ``received`` counts packets
    taken from the socket; ``freezes`` the times that no block was free: packets wait in the socket then, and the kernel
    drops and counts what finds no room there.
    """

    received: cython.ulonglong
    freezes: cython.ulonglong
    _fd: cython.int
    _address: cython.size_t
    _block_bytes: cython.size_t
    _count: cython.size_t
    _timeout_ns: cython.longlong
    _block: cython.size_t
    _number: cython.size_t
    _sequence: cython.ulonglong
    _open: cython.bint
    _packets: cython.uint
    _used: cython.size_t
    _opened_ns: cython.longlong
    _messages: cython.size_t
    _slots: cython.size_t
    _names: cython.size_t
    _controls: cython.size_t
    _first: cython.int
    _filled: cython.int
    _time: cython.ulonglong
    _nanoseconds: cython.ulonglong
    _length: cython.ulonglong
    _vlan: cython.ulonglong
    _status: cython.ulonglong
    _pinned: list[object]

    def __init__(self, fd: int, address: int, block_bytes: int, block_count: int, timeout_ns: int) -> None:
        self._fd = fd
        self._address = address
        self._block_bytes = block_bytes
        self._count = block_count
        self._timeout_ns = timeout_ns
        self.received = self.freezes = 0
        self._number = 0
        self._sequence = 0
        self._packets = 0
        self._used = 0
        self._opened_ns = 0
        self._first = self._filled = 0
        self._time = self._nanoseconds = self._length = self._vlan = self._status = 0
        self._block = address
        self._lay_out()
        self._open = False
        self._begin_block()

    def _lay_out(self) -> None:
        """Memory of our own for a batch: the kernel is never given an address that a reader could have written."""
        slots = ctypes.create_string_buffer(_BATCH * _SLOT_BYTES)
        names = ctypes.create_string_buffer(_BATCH * _NAME_BYTES)
        controls = ctypes.create_string_buffer(_BATCH * _CONTROL_BYTES)
        pieces = (_Piece * _BATCH)()
        messages = (_Message * _BATCH)()
        if ctypes.sizeof(_Message) != _MESSAGE_BYTES or _Message.received.offset != _RECEIVED:
            raise NotImplementedError("struct mmsghdr is not that of a 64-bit system")
        self._slots, self._names = ctypes.addressof(slots), ctypes.addressof(names)
        self._controls, self._messages = ctypes.addressof(controls), ctypes.addressof(messages)
        for number in range(_BATCH):
            pieces[number] = _Piece(self._slots + number * _SLOT_BYTES, _SLOT_BYTES)
            message = messages[number]
            message.name = self._names + number * _NAME_BYTES
            message.pieces = ctypes.addressof(pieces) + number * ctypes.sizeof(_Piece)
            message.piece_count = 1
            message.control = self._controls + number * _CONTROL_BYTES
        self._pinned = [slots, names, controls, pieces, messages]

    def gather(self, now_ns: int) -> bool:
        """Put into blocks what waits in the socket, as far as they are free; whether a block was handed over.

        *now_ns* is of a monotonic clock. Does not wait.
        """
        handed: cython.bint = False
        batches: cython.int = 0
        if not self._open:
            self._begin_block()
        while self._open:
            if self._first == self._filled:
                if batches == _MOST_BATCHES or not self._receive():
                    break
                batches += 1
            if self._packets == 0:
                self._opened_ns = now_ns
            if self._put():
                self._first += 1
            else:
                self._end_block()
                handed = True
        if self._open and self._packets and now_ns - self._opened_ns >= self._timeout_ns:
            self._end_block()
            handed = True
        return handed

    @property
    def waiting(self) -> int:
        """Packets that were received and are in no block yet, because none is free."""
        return self._filled - self._first

    @property
    def frozen(self) -> bool:
        """Whether no block was free when gather() last looked."""
        return not self._open

    def due_ns(self) -> int | None:
        """When the open block is to be handed over by gather(), None when there is nothing in it."""
        return self._opened_ns + self._timeout_ns if self._open and self._packets else None

    # --- the socket

    @cython.cfunc
    def _receive(self) -> cython.bint:
        """Take the next batch; False where there is nothing."""
        number: cython.int
        message: cython.size_t
        for number in range(_BATCH):
            message = self._messages + number * _MESSAGE_BYTES
            store32(message + _NAME_LENGTH, cython.cast(cython.uint, _NAME_BYTES))
            store32(message + _CONTROL_LENGTH, cython.cast(cython.uint, _CONTROL_BYTES))
        found = _libc.recvmmsg(self._fd, self._messages, _BATCH, _MSG_DONTWAIT, None)
        self._first = self._filled = 0
        if found < 0:
            if (problem := ctypes.get_errno()) in _NOTHING:
                return False
            raise OSError(problem, f"recvmmsg of a packet socket: {os.strerror(problem)}")
        self._filled = found
        self.received += found
        return self._filled > 0

    @cython.cfunc
    def _read_control(self, number: cython.int, captured: cython.size_t) -> cython.int:
        """Stamp, length on the wire and VLAN tag of a message of the batch."""
        at: cython.size_t = self._controls + number * _CONTROL_BYTES
        message: cython.size_t = self._messages + number * _MESSAGE_BYTES
        end: cython.size_t = at + cython.cast(cython.size_t, load(message + _CONTROL_LENGTH, 8))
        data: cython.size_t
        size: cython.size_t
        self._time = self._nanoseconds = self._vlan = 0
        self._status = _TO_USER
        self._length = captured
        while at + _CONTROL_HEADER <= end:
            size = cython.cast(cython.size_t, load(at, 8))
            data = at + _CONTROL_HEADER
            if load(at + 8, 4) == _SOL_SOCKET:
                self._time = load(data, 8)
                self._nanoseconds = load(data + 8, 8)
            elif load(at + 8, 4) == _SOL_PACKET:
                self._status = load(data, 4)
                self._length = load(data + 4, 4)
                self._vlan = load(data + 16, 4)
            if size < _CONTROL_HEADER:
                break
            at += (size + 7) & ~cython.cast(cython.size_t, 7)
        return 0

    # --- blocks

    @cython.cfunc
    def _begin_block(self) -> cython.int:
        """Open the next block if the reader has given it back."""
        if load_acquire(self._block + _STATUS) & _TO_USER:
            return 0
        self._sequence += 1
        self._open = True
        self._packets = 0
        self._used = _BLOCK_HEADER
        store32(self._block, 1)  # version
        store32(self._block + 4, 0)
        store32(self._block + 12, 0)
        store32(self._block + 16, cython.cast(cython.uint, _BLOCK_HEADER))
        store32(self._block + 20, cython.cast(cython.uint, _BLOCK_HEADER))
        store32(self._block + 24, cython.cast(cython.uint, self._sequence & 0xFFFFFFFF))
        store32(self._block + 28, cython.cast(cython.uint, self._sequence >> 32))
        return 0

    @cython.cfunc
    def _end_block(self) -> cython.int:
        """Hand the open block over and go on with the next one."""
        store_release(self._block + _STATUS, _TO_USER)
        self._open = False
        self._number += 1
        if self._number == self._count:
            self._number = 0
        self._block = self._address + self._number * self._block_bytes
        self._begin_block()
        if not self._open:
            self.freezes += 1
        return 0

    @cython.cfunc
    def _put(self) -> cython.bint:
        """Put the next packet of the batch into the open block; False where it has no room there."""
        message: cython.size_t = self._messages + self._first * _MESSAGE_BYTES
        captured: cython.size_t = cython.cast(cython.size_t, load(message + _RECEIVED, 4))
        if captured > self._block_bytes - _BLOCK_HEADER - _PACKET_AT - 8:  # no block has room for more
            captured = self._block_bytes - _BLOCK_HEADER - _PACKET_AT - 8
        step: cython.size_t = (_PACKET_AT + captured + 7) & ~cython.cast(cython.size_t, 7)
        if self._used + step > self._block_bytes:
            return False
        self._read_control(self._first, captured)
        frame: cython.size_t = self._block + self._used
        store32(frame, cython.cast(cython.uint, step))
        store32(frame + 4, cython.cast(cython.uint, self._time))
        store32(frame + 8, cython.cast(cython.uint, self._nanoseconds))
        store32(frame + 12, cython.cast(cython.uint, captured))
        store32(frame + 16, cython.cast(cython.uint, self._length))
        store32(frame + 20, cython.cast(cython.uint, self._status))
        store32(frame + 24, cython.cast(cython.uint, _PACKET_AT | _PACKET_AT << 16))
        store32(frame + 28, 0)
        store32(frame + 32, cython.cast(cython.uint, self._vlan & 0xFFFF))
        store32(frame + 36, cython.cast(cython.uint, self._vlan >> 16))
        move(frame + _FRAME_HEADER, self._names + self._first * _NAME_BYTES, _NAME_BYTES)
        move(frame + _PACKET_AT, self._slots + self._first * _SLOT_BYTES, captured)
        self._used += step
        self._packets += 1
        store32(self._block + 12, self._packets)
        store32(self._block + 20, cython.cast(cython.uint, self._used))
        return True
