"""X Protocol messages out of a stream of segments: a length in 4 bytes, little-endian, a type in one, the content.

The length counts the type. Keeps bounded content of unbounded messages (page_mysqlx_protocol_messages).
"""

from collections.abc import Collection, Mapping
from typing import Final

from workers.mysql.commands import is_tls_record
from workers.mysql.errors import StreamViolation
from workers.mysql.framing import Allowance

HEADER: Final = 5
LONGEST: Final = 1 << 30
"""The largest that mysqlx_max_allowed_packet can be set to."""
LARGEST_COMPRESSED: Final = 16 << 20
"""Bytes kept of a message that carries others: it is opened once it is complete."""


class TlsRecord(StreamViolation):
    """The connection goes on under TLS. ``begun``: bytes of the record that came before those that were given."""

    def __init__(self, begun: int) -> None:
        super().__init__("a TLS record where a message could begin")
        self.begun = begun


def plausible(data: bytes, at: int, known: Collection[int]) -> bool:
    """Whether the 5 bytes at *at* can be the header of one of the messages *known*."""
    return data[at + 4] in known and 1 <= int.from_bytes(data[at : at + 4], "little") <= LONGEST


class Framing:
    """Finds the messages in one direction of a connection.

    next() moves on by at most one message. When ``complete`` is set, its type is ``kind`` and its content
    ``data[begin:finish]``, in place where one segment held it; ``length`` is what the content had on the wire.
    ``cut``: not all of it was kept. ``inside``: a message is begun and not complete. With ``tls`` set a TLS record is
    taken for what it is where a message would begin.
    """

    def __init__(self, kept: Mapping[int, int], allowance: Allowance) -> None:
        """*kept*: the types there are, and of each how many bytes are kept of a message."""
        self.tls = False
        self._limits = kept
        self._limit = 0
        self._allowance = allowance
        self._kept: list[bytes] = []
        self._kept_bytes = 0
        self.data = b""
        self.reset()

    def reset(self) -> None:
        """Forget what is unfinished: the next byte begins a message."""
        self._header = b""
        self.kind = -1
        self._left = 0
        self.begin = self.finish = 0
        self.reset_message()

    def reset_message(self) -> None:
        """Let go of the message that was complete."""
        self.complete = self.inside = self.cut = self._closed = False
        self.length = 0
        self.data = b""
        self._allowance.used -= self._kept_bytes
        self._kept_bytes = 0
        self._kept = []

    def next(self, data: bytes, at: int, end: int) -> int:
        """Take bytes from ``data[at:end]`` until a message is complete or they run out; where to go on.

        Raises StreamViolation where what should be a header is none, TlsRecord where it is one of TLS; what follows
        can't be told then.
        """
        if self.complete:
            self.reset_message()
        if not self.inside or self._header:
            at = self._read_header(data, at, end)
            if self._header:
                return at
            if self._left <= end - at and (self._left <= self._limit or self._limit == 0):  # usually: all in place
                self.data, self.begin, self.finish = data, at, at + self._left
                self._left = 0
                self.complete = True
                return self.finish
        return self._collect(data, at, end)

    def _read_header(self, data: bytes, at: int, end: int) -> int:
        """Take a header that may come in pieces; ``_header`` stays non-empty while it is not whole."""
        stop = min(at + HEADER - len(self._header), end)
        header = self._header + data[at:stop]
        self.inside = True
        if len(header) < HEADER:
            self._header = header
            return end
        if self.tls and is_tls_record(header, 0, HEADER):
            raise TlsRecord(len(self._header))
        if not plausible(header, 0, self._limits):
            raise StreamViolation(f"no message begins with {header.hex()}")
        self._header = b""
        self.kind = header[4]
        self._limit = self._limits[self.kind]
        self.length = self._left = int.from_bytes(header[:4], "little") - 1
        return stop

    def _collect(self, data: bytes, at: int, end: int) -> int:
        take = min(end - at, self._left)
        self._keep(data, at, take)
        self._left -= take
        if self._left == 0:
            self._complete()
        return at + take

    def _complete(self) -> None:
        self.data = self._kept[0] if len(self._kept) == 1 else b"".join(self._kept)
        self.begin, self.finish = 0, len(self.data)
        self.complete = True

    def _keep(self, data: bytes, at: int, size: int) -> None:
        shared = self._allowance.limit - self._allowance.used
        room = 0 if self._closed else min(self._limit - self._kept_bytes, shared)
        if room < size:
            self.cut = True
            self._closed = True  # what comes later is no continuation of what is kept
        size = min(size, room)
        if size > 0:
            self._kept.append(data[at : at + size])
            self._kept_bytes += size
            self._allowance.used += size

    def gap(self, missing: int) -> bool:
        """*missing* bytes never came. True where they lie inside one message, so that its end is still known.

        What is kept of that message ends at the gap: ``cut`` is set and nothing behind the gap is kept.
        """
        if self.complete:
            self.reset_message()
        if self._header or not self.inside or missing > self._left:
            return False
        self.cut = self._closed = True
        self._left -= missing
        if self._left == 0:
            self._complete()
        return True
