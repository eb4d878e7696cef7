"""Puts fragments of IP datagrams together (RFC 791 section 3.2, RFC 8200 section 4.5), in bounded memory.

For capture files: on a live host the kernel does it, where it is asked to. Of copies of a byte that disagree the first
that came is used, as for TCP. A datagram of which a piece was not captured whole stays in pieces.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from workers.pcapfile import Frame

_MORE: Final = 0x2000
_OFFSET: Final = 0x1FFF
_UNIT: Final = 8
_LONGEST: Final = 0xFFFF
_IPV6_HEADER: Final = 40
_FRAGMENT_HEADER: Final = 44
_OPTION_HEADERS: Final = frozenset({0, 43, 60})  # hop-by-hop, routing, destination options
_MOST_EXTENSIONS: Final = 16
_PATIENCE_NS: Final = 30_000_000_000  # ipfrag_time, linux/Documentation/networking/ip-sysctl.rst
_OVERHEAD_BYTES: Final = 1024
"""What a datagram takes besides its bytes."""


class _Piece(NamedTuple):
    """A fragment: which datagram it is of, and what of it."""

    key: tuple[bytes, int, int]
    """Addresses, identification, and of IPv4 the protocol too."""
    offset: int
    more: bool
    body: bytes
    head: bytes
    """What stands before the body in the whole datagram: headers without the fragment's own."""
    place_of_next: int
    """Where in that head the number stands that tells what follows; 0: it needs no change."""
    following: int


class _Datagram:
    """What has come of one datagram."""

    def __init__(self, time_ns: int) -> None:
        self.since_ns = time_ns
        self.length: int | None = None
        self.first: _Piece | None = None
        self.body = bytearray()
        self.units = bytearray()
        self.disagrees = False

    @property
    def size(self) -> int:
        return len(self.body) + len(self.units) + _OVERHEAD_BYTES

    def take(self, piece: _Piece) -> None:
        """Keep what of *piece* is new."""
        end = piece.offset + len(piece.body)
        if len(self.body) < end:
            self.body.extend(bytes(end - len(self.body)))
            self.units.extend(bytes((end + _UNIT - 1) // _UNIT - len(self.units)))
        if self.first is None and piece.offset == 0:
            self.first = piece
        if self.length is None and not piece.more:
            self.length = end
        for at in range(piece.offset, end, _UNIT):
            unit = piece.body[at - piece.offset : at - piece.offset + _UNIT]
            if not self.units[at // _UNIT]:
                self.units[at // _UNIT] = 1
                self.body[at : at + len(unit)] = unit
            elif self.body[at : at + len(unit)] != unit:
                self.disagrees = True

    def whole(self) -> bytes | None:
        """The datagram, once all of it is there."""
        if self.length is None or self.first is None:
            return None
        units = (self.length + _UNIT - 1) // _UNIT
        if self.units.count(1, 0, units) < units:
            return None
        return _joined(self.first, bytes(self.body[: self.length]))


class Fragments:
    """The datagrams that are not complete yet, at most *most_bytes* of them.

    ``given_up``: datagrams dropped without being complete. ``disagreeing``: datagrams of which copies of one byte
    differed.
    """

    def __init__(self, most_bytes: int = 4 << 20) -> None:
        self.given_up = 0
        self.disagreeing = 0
        self.held_bytes = 0
        self._most_bytes = most_bytes
        self._datagrams: dict[tuple[bytes, int, int], _Datagram] = {}

    def add(self, frame: Frame) -> Frame | None:
        """The packet that *frame* is or completes; None where it is a fragment, and others are still to come."""
        piece = _piece(frame)
        if piece is None:
            return frame
        self._forget(frame.time_ns - _PATIENCE_NS)
        if piece.offset + len(piece.body) > _LONGEST or (piece.more and len(piece.body) % _UNIT) or not piece.body:
            return None
        datagram = self._datagrams.setdefault(piece.key, _Datagram(frame.time_ns))
        self.held_bytes -= datagram.size if datagram.units else 0
        datagram.take(piece)
        whole = datagram.whole()
        if whole is not None:
            del self._datagrams[piece.key]
            self.disagreeing += datagram.disagrees
            return Frame(whole, 0, frame.time_ns, len(whole))
        self.held_bytes += datagram.size
        self._make_room()
        return None

    def finish(self) -> None:
        """Nothing will follow: what is not complete is given up."""
        for key in list(self._datagrams):
            self._give_up(key)

    def _forget(self, before_ns: int) -> None:
        """Give up what was begun before *before_ns*; the oldest stand first."""
        for key in self._older(before_ns):
            self._give_up(key)

    def _older(self, before_ns: int) -> list[tuple[bytes, int, int]]:
        found = []
        for key, datagram in self._datagrams.items():
            if datagram.since_ns >= before_ns:
                break
            found.append(key)
        return found

    def _make_room(self) -> None:
        while self.held_bytes > self._most_bytes:
            self._give_up(next(iter(self._datagrams)))

    def _give_up(self, key: tuple[bytes, int, int]) -> None:
        datagram = self._datagrams.pop(key)
        self.held_bytes -= datagram.size
        self.given_up += 1
        self.disagreeing += datagram.disagrees


def _piece(frame: Frame) -> _Piece | None:
    """The fragment in *frame*; None where it is none, or not all of it was captured."""
    data, at = frame.data, frame.at
    if at >= len(data):
        return None
    version = data[at] >> 4
    if version == 4:
        return _ipv4_piece(data, at)
    if version == 6:
        return _ipv6_piece(data, at)
    return None


def _ipv4_piece(data: bytes, at: int) -> _Piece | None:
    header = (data[at] & 0x0F) * 4
    if header < 20 or len(data) < at + header:
        return None
    place = int.from_bytes(data[at + 6 : at + 8], "big")
    if not place & (_MORE | _OFFSET):
        return None
    end = at + int.from_bytes(data[at + 2 : at + 4], "big")
    if not at + header <= end <= len(data):
        return None
    identification = int.from_bytes(data[at + 4 : at + 6], "big")
    return _Piece(
        key=(data[at + 12 : at + 20], identification, data[at + 9]),
        offset=(place & _OFFSET) * _UNIT,
        more=bool(place & _MORE),
        body=data[at + header : end],
        head=data[at : at + header],
        place_of_next=0,
        following=0,
    )


def _ipv6_piece(data: bytes, at: int) -> _Piece | None:
    end = at + _IPV6_HEADER + int.from_bytes(data[at + 4 : at + 6], "big")
    if end > len(data):
        return None
    for place, here in _extensions(data, at, end):
        if data[place] != _FRAGMENT_HEADER:
            continue
        field = int.from_bytes(data[here + 2 : here + 4], "big")
        if here + 8 > end or not field & 0xFFF9:  # an atomic fragment is whole
            return None
        return _Piece(
            key=(data[at + 8 : at + 40], int.from_bytes(data[here + 4 : here + 8], "big"), -1),
            offset=field & 0xFFF8,
            more=bool(field & 1),
            body=data[here + 8 : end],
            head=data[at:here],
            place_of_next=place - at,
            following=data[here],
        )
    return None


def _extensions(data: bytes, at: int, end: int) -> Iterator[tuple[int, int]]:
    """Where each header is announced and where it begins, up to the first that is not stepped over."""
    place, here = at + 6, at + _IPV6_HEADER
    for _ in range(_MOST_EXTENSIONS):
        yield place, here
        if data[place] not in _OPTION_HEADERS or here + 2 > end:
            return
        place, here = here, here + 8 + 8 * data[here + 1]
        if here > end:
            return


def _joined(first: _Piece, body: bytes) -> bytes | None:
    """The datagram as it would have come in one piece; None where it is longer than any can be."""
    head = bytearray(first.head)
    if not first.place_of_next:
        total = len(head) + len(body)
        head[2:4] = (total & _LONGEST).to_bytes(2, "big")
        head[6:8] = bytes(2)
    else:
        total = len(head) - _IPV6_HEADER + len(body)
        head[4:6] = (total & _LONGEST).to_bytes(2, "big")
        head[first.place_of_next] = first.following
    return bytes(head) + body if total <= _LONGEST else None
