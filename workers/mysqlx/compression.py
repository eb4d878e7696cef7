"""Inflates what Compression messages carry: page_mysqlx_protocol_compression. Bounded in memory, time and output."""

import zlib
from collections.abc import Iterator, Mapping
from typing import Final, Protocol

import lz4.frame  # type: ignore[import-untyped]  # nobody has written its types down
import zstandard

from workers.mysql.errors import StreamViolation
from workers.mysql.framing import Allowance
from workers.mysqlx.framing import Framing
from workers.mysqlx.messages import compressed

MOST_INFLATED: Final = 64 << 20
"""Of one message: the server's default mysqlx_max_allowed_packet."""
LARGEST_WINDOW: Final = 8 << 20
"""Of zstd: what RFC 8878 wants every decoder to take."""
_PIECE: Final = 256
"""Bytes given to zstd at once: a block of 4 becomes 128 KiB at most, so all of these become 8 MiB at most."""
_CHUNK: Final = 1 << 16
"""Bytes that deflate and LZ4 give at once."""
_ZLIB_MEMORY: Final = 48 << 10  # zlib.h, "Memory requirements", and Python's object


class _Stream(Protocol):
    """One direction's decompressor, which goes on from message to message unless ``whole`` says that it is over."""

    @property
    def memory(self) -> int:
        """Bytes it takes."""

    @property
    def whole(self) -> bool:
        """Each message has a stream of its own."""

    def chunks(self, data: bytes, at: int, end: int) -> Iterator[bytes]:
        """What ``data[at:end]`` inflates to, in pieces of bounded size. Raises StreamViolation where it is damaged."""


class _Deflate:
    memory = _ZLIB_MEMORY
    whole = False

    def __init__(self) -> None:
        self._state = zlib.decompressobj()

    def chunks(self, data: bytes, at: int, end: int) -> Iterator[bytes]:
        rest = data[at:end]
        try:
            while True:
                chunk = self._state.decompress(rest, _CHUNK)
                if chunk:
                    yield chunk
                rest = self._state.unconsumed_tail
                if not rest and len(chunk) < _CHUNK:
                    return
        except zlib.error as error:
            raise StreamViolation(f"deflate_stream: {error}") from error


class _Zstd:
    whole = False

    def __init__(self) -> None:
        self._context = zstandard.ZstdDecompressor(max_window_size=LARGEST_WINDOW)
        self._state = self._context.decompressobj(read_across_frames=True)

    @property
    def memory(self) -> int:
        return self._context.memory_size()

    def chunks(self, data: bytes, at: int, end: int) -> Iterator[bytes]:
        try:
            for begin in range(at, end, _PIECE):
                chunk = self._state.decompress(data[begin : min(begin + _PIECE, end)])
                if chunk:
                    yield chunk
        except zstandard.ZstdError as error:
            raise StreamViolation(f"zstd_stream: {error}") from error


class _Lz4:
    """One frame, in which one message lies: LZ4 Frame Format Description 1.6."""

    whole = True

    def __init__(self) -> None:
        self._state = lz4.frame.LZ4FrameDecompressor()
        self.memory = 0

    def chunks(self, data: bytes, at: int, end: int) -> Iterator[bytes]:
        state = self._state
        self.memory = _lz4_memory(data[at + 5] if end - at > 5 else 0)
        try:
            for begin in range(at, end, _CHUNK):
                chunk: bytes = state.decompress(data[begin : min(begin + _CHUNK, end)], _CHUNK)
                while chunk:
                    yield chunk
                    chunk = b"" if state.eof or state.needs_input else state.decompress(b"", _CHUNK)
        except (RuntimeError, EOFError) as error:
            raise StreamViolation(f"lz4_message: {error}") from error
        if not state.eof or state.unused_data:
            raise StreamViolation("lz4_message: not one frame")


def _lz4_memory(descriptor: int) -> int:
    """What the buffers of a frame take, by its block descriptor: two blocks of 64 KiB to 4 MiB, and 128 KiB before."""
    return (2 << (8 + 2 * (descriptor >> 4 & 7))) + (128 << 10)


_ALGORITHMS: Final[Mapping[bytes, type[_Stream]]] = {
    b"deflate_stream": _Deflate,
    b"lz4_message": _Lz4,
    b"zstd_stream": _Zstd,
}
_MAGIC: Final[Mapping[bytes, type[_Stream]]] = {b"\x04\x22\x4d\x18": _Lz4, b"\x28\xb5\x2f\xfd": _Zstd}
"""What begins their frames; zlib has nothing of the kind that chance would not bring about."""


class Inflater:
    """One direction of a compressed connection, message after message.

    In a stream each message needs all before it: behind one that can't be read the next is one that begins with a
    frame. So is the first, where it is not known which algorithm was agreed on. Its memory is charged to the allowance.
    """

    def __init__(self, algorithm: bytes | None, allowance: Allowance) -> None:
        """*algorithm*: as the capability names it; None where it is not known."""
        self._agreed = _ALGORITHMS.get(algorithm or b"")
        self._stream: _Stream | None = None
        self._allowance = allowance
        self._charged = 0

    def inflate(self, data: bytes, at: int, end: int) -> Iterator[bytes]:
        """What ``data[at:end]`` inflates to, in pieces. Raises StreamViolation where it can't be read to its end."""
        stream = self._stream or self._begin(data[at : min(at + 4, end)])
        total = 0
        try:
            for chunk in stream.chunks(data, at, end):
                total += len(chunk)
                self._check(total, stream.memory)
                yield chunk
        except StreamViolation:
            self.give_up()
            raise
        if stream.whole:
            self._let_go()

    def _begin(self, magic: bytes) -> _Stream:
        """The stream that a message begins."""
        kind = self._agreed or _MAGIC.get(magic)
        if kind is None:
            raise StreamViolation("the middle of a stream, or a compression that is not known")
        self._agreed = None
        self._stream = kind()
        return self._stream

    def _check(self, total: int, memory: int) -> None:
        if total > MOST_INFLATED:
            raise StreamViolation(f"a message inflates to more than {MOST_INFLATED} bytes")
        self._allowance.used += memory - self._charged
        self._charged = memory
        if self._allowance.used > self._allowance.limit:
            raise StreamViolation("no room to inflate")

    def _let_go(self) -> None:
        self._stream = None
        self._allowance.used -= self._charged
        self._charged = 0

    def give_up(self) -> None:
        """Of a stream that goes on nothing more can be read; what it took is given back."""
        self._agreed = None
        self._let_go()


class Tunnel:
    """The messages that one direction of a connection sends inside of Compression messages."""

    def __init__(self, kept: Mapping[int, int], allowance: Allowance) -> None:
        """As of Framing, for the messages inside."""
        self._allowance = allowance
        self._inside = Framing(kept, allowance)
        self._inflater = Inflater(None, allowance)

    def use(self, algorithm: bytes | None) -> None:
        """From now on messages are compressed by *algorithm*, from a fresh state; None: it is not known by which."""
        self.close()
        self._inflater = Inflater(algorithm, self._allowance)

    def messages(self, outer: Framing) -> Iterator[Framing]:
        """Each message in the Compression message *outer*, as it becomes complete.

        Raises StreamViolation where it can't be read to its end; none that goes on from there can be read then.
        """
        try:
            yield from self._messages(outer)
        except StreamViolation:
            self.close()
            raise

    def _messages(self, outer: Framing) -> Iterator[Framing]:
        inside = self._inside
        if outer is inside:
            raise StreamViolation("compressed twice")
        if outer.cut:
            raise StreamViolation("not all of a Compression message was kept")
        for chunk in self._inflater.inflate(outer.data, *compressed(outer.data, outer.begin, outer.finish)):
            at = 0
            while at < len(chunk):
                at = inside.next(chunk, at, len(chunk))
                if inside.complete:
                    yield inside
                    inside.reset_message()
        if inside.inside:
            raise StreamViolation("a message goes on behind its Compression message")

    def close(self) -> None:
        """Nothing more can be read; what it took is given back."""
        self._inside.reset()
        self._inflater.give_up()
