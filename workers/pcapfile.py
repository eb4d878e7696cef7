"""Reads capture files, pcap and pcapng, one IP packet at a time. No decoding beyond the link layer.

Formats: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng; link types: tcpdump.org/linktypes.html.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, Final, NamedTuple

_PCAP_MAGICS: Final = {
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\x3c\x4d": (">", 1),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
}
"""Byte order, and nanoseconds a unit of the time's fraction."""
_PCAPNG_MAGIC: Final = b"\x0a\x0d\x0d\x0a"
_BYTE_ORDER: Final = {b"\x1a\x2b\x3c\x4d": ">", b"\x4d\x3c\x2b\x1a": "<"}
_SECTION, _INTERFACE, _OLD_PACKET, _SIMPLE_PACKET, _PACKET = 0x0A0D0D0A, 1, 2, 3, 6
_OPTION_TIME_RESOLUTION: Final = 9
_OPTION_TIME_OFFSET: Final = 14
_LARGEST_BLOCK: Final = 16 << 20
_OPTIONS_END: Final = 0
_NS: Final = 1_000_000_000
_LAST_NS: Final = 2**63 - 1  # in the year 2262; the pipeline's clock has no more bits

_NULL, _ETHERNET, _RAW_OPENBSD, _RAW_BSD, _RAW, _LOOP, _SLL, _IPV4, _IPV6, _SLL2 = (
    0, 1, 12, 14, 101, 108, 113, 228, 229, 276,
)  # fmt: skip
_VLAN_TYPES: Final = frozenset({0x8100, 0x88A8, 0x9100})
_IP_TYPES: Final = frozenset({0x0800, 0x86DD})


class CaptureFileError(ValueError):
    """The file is no capture, or is damaged: says where."""


class Frame(NamedTuple):
    """One IP packet: ``data[at:]`` was captured of *length* bytes on the wire.

    ``time_ns`` is 0 where the file tells none, or one outside the years 1970 to 2262.
    """

    data: bytes
    at: int
    time_ns: int
    length: int


@dataclass(slots=True)
class Tally:
    """What a reader passed over; it grows while frames() runs."""

    not_ip: int = 0
    """Frames that hold no IP packet."""
    other_links: dict[int, int] = field(default_factory=dict)
    """Frames of link types that are not known, by type."""


def frames(file: BinaryIO, name: str, tally: Tally) -> Iterator[Frame]:
    """The IP packets of a capture in the order of the file; *name* is for messages.

    Raises CaptureFileError where the file is no capture or a record can't be right; what came before has been given.
    A file that ends inside a record, as one still being written does, ends there with that error too.
    """
    magic = file.read(4)
    if magic in _PCAP_MAGICS:
        return _pcap(_Source(file, name, 4), magic, tally)
    if magic == _PCAPNG_MAGIC:
        return _pcapng(_Source(file, name, 4), tally)
    raise CaptureFileError(f"{name}: neither pcap nor pcapng (it begins with {magic.hex() or 'nothing'})")


class _Source:
    """Reads exact amounts and knows where it is."""

    def __init__(self, file: BinaryIO, name: str, at: int) -> None:
        self._file = file
        self.name = name
        self.at = at

    def take(self, size: int) -> bytes:
        data = self._file.read(size)
        if len(data) < size:
            raise self.error(f"the file ends {size - len(data)} bytes too early")
        self.at += size
        return data

    def take_or_end(self, size: int) -> bytes | None:
        """*size* bytes; None where the file properly ends here."""
        data = self._file.read(size)
        if not data:
            return None
        self.at += len(data)
        if len(data) < size:
            raise self.error(f"the file ends {size - len(data)} bytes too early")
        return data

    def error(self, what: str) -> CaptureFileError:
        return CaptureFileError(f"{self.name}: byte {self.at}: {what}")


def _pcap(source: _Source, magic: bytes, tally: Tally) -> Iterator[Frame]:
    order, unit = _PCAP_MAGICS[magic]
    link = struct.unpack(f"{order}I", source.take(20)[16:])[0] & 0x0FFFFFFF
    header = struct.Struct(f"{order}IIII")
    while (packed := source.take_or_end(header.size)) is not None:
        seconds, fraction, captured, length = header.unpack(packed)
        if captured > _LARGEST_BLOCK:
            raise source.error(f"a packet of {captured} bytes")
        data = source.take(captured)
        frame = _ip(data, link, seconds * _NS + fraction * unit, length, tally)
        if frame is not None:
            yield frame


@dataclass(frozen=True, slots=True)
class _Interface:
    link: int
    units_per_second: int
    offset_ns: int
    snap_length: int


def _pcapng(source: _Source, tally: Tally) -> Iterator[Frame]:
    interfaces: list[_Interface] = []
    order = _section(source)
    while (head := source.take_or_end(8)) is not None:
        if head[:4] == _PCAPNG_MAGIC:
            order = _section(source, head[4:])
            interfaces = []
            continue
        kind, total = struct.unpack(f"{order}II", head)
        if total < 12 or total % 4 or total > _LARGEST_BLOCK:
            raise source.error(f"a block of {total} bytes")
        body = source.take(total - 8)[:-4]
        if kind == _INTERFACE:
            interfaces.append(_describe(source, order, body))
        elif kind in {_PACKET, _OLD_PACKET, _SIMPLE_PACKET}:
            frame = _packet(source, order, kind, body, interfaces, tally)
            if frame is not None:
                yield frame


def _section(source: _Source, size: bytes | None = None) -> str:
    """Read a Section Header Block behind its type; the byte order of what follows."""
    size = source.take(4) if size is None else size
    mark = source.take(4)
    if mark not in _BYTE_ORDER:
        raise source.error("a section without its byte-order magic")
    order = _BYTE_ORDER[mark]
    total = struct.unpack(f"{order}I", size)[0]
    if total < 28 or total > _LARGEST_BLOCK:
        raise source.error(f"a section header of {total} bytes")
    source.take(total - 12)
    return order


def _describe(source: _Source, order: str, body: bytes) -> _Interface:
    """An Interface Description Block."""
    if len(body) < 8:
        raise source.error("an interface description of less than 8 bytes")
    link, snap_length = struct.unpack_from(f"{order}HxxI", body)
    units, offset, at = 1_000_000, 0, 8
    while at + 4 <= len(body):
        option, size = struct.unpack_from(f"{order}HH", body, at)
        if option == _OPTIONS_END:
            break
        value = body[at + 4 : at + 4 + size]
        if option == _OPTION_TIME_RESOLUTION and len(value) == 1:
            units = 2 ** (value[0] & 0x7F) if value[0] & 0x80 else 10 ** value[0]
        elif option == _OPTION_TIME_OFFSET and len(value) == 8:
            offset = struct.unpack(f"{order}q", value)[0] * _NS
        at += 4 + (size + 3) // 4 * 4
    return _Interface(link, units, offset, snap_length)


def _packet(
    source: _Source, order: str, kind: int, body: bytes, interfaces: list[_Interface], tally: Tally
) -> Frame | None:
    if kind == _SIMPLE_PACKET:
        if len(body) < 4:
            raise source.error("a simple packet block without a length")
        index, ticks, data_at = 0, 0, 4
        length = struct.unpack_from(f"{order}I", body)[0]
        snap_length = interfaces[0].snap_length if interfaces else 0
        captured = min(length, snap_length or length, len(body) - 4)
    else:
        if len(body) < 20:
            raise source.error("a packet block of less than 20 bytes")
        form = f"{order}IIIII" if kind == _PACKET else f"{order}HxxIIII"
        index, high, low, captured, length = struct.unpack_from(form, body)
        ticks, data_at = high << 32 | low, 20
    if index >= len(interfaces):
        raise source.error(f"a packet of interface {index}, described are {len(interfaces)}")
    interface = interfaces[index]
    if data_at + captured > len(body):
        raise source.error(f"a packet of {captured} bytes in a block of {len(body)}")
    time_ns = ticks * _NS // interface.units_per_second + interface.offset_ns
    if not 0 <= time_ns <= _LAST_NS:
        time_ns = 0
    return _ip(body[data_at : data_at + captured], interface.link, time_ns, length, tally)


def _ip(data: bytes, link: int, time_ns: int, length: int, tally: Tally) -> Frame | None:
    """The IP packet in a frame of that link type, None where there is none."""
    at = _ip_offset(data, link)
    if at is None:
        tally.other_links[link] = tally.other_links.get(link, 0) + 1
        return None
    if not 0 <= at < len(data):
        tally.not_ip += 1
        return None
    return Frame(data, at, time_ns, max(length, len(data)) - at)


def _ip_offset(data: bytes, link: int) -> int | None:
    """Where the IP header begins: -1 where the frame has none, None for a link type that is not known."""
    if link in {_RAW_OPENBSD, _RAW_BSD, _RAW, _IPV4, _IPV6}:
        return 0
    if link in {_NULL, _LOOP}:
        return 4
    if link == _ETHERNET:
        return _behind_type(data, 12)
    if link == _SLL:
        return _behind_type(data, 14)
    if link == _SLL2:
        return _behind_tags(data, int.from_bytes(data[:2], "big"), 20)
    return None


def _behind_type(data: bytes, at: int) -> int:
    """Behind the EtherType at *at* and any VLAN tags; -1 where no IP follows."""
    return _behind_tags(data, int.from_bytes(data[at : at + 2], "big"), at + 2)


def _behind_tags(data: bytes, kind: int, at: int) -> int:
    """Behind the VLAN tags (IEEE 802.1Q, 802.1ad) at *at*, before which the EtherType *kind* stands."""
    while kind in _VLAN_TYPES:
        kind = int.from_bytes(data[at + 2 : at + 4], "big")
        at += 4
    return at if kind in _IP_TYPES else -1
