"""A pipeline counts each packet once, keeps to its memory, gives all it decoded and nothing that nobody sent.

Packets of up to three conversations, held back, doubled, lost, cut, overlapping, snapped or damaged.
"""

from __future__ import annotations

import dataclasses
import itertools
import struct
from collections.abc import Iterator
from typing import Final, Literal

import msgpack

from tests.fuzz.script import Script, damaged
from tests.fuzz.talk import CLIENT, CLIENT_LOST, SERVER_LOST, Step, steps
from tests.support.play import START_NS
from workers import records
from workers.pipeline import Pipeline
from workers.settings import Settings

_ACK, _SYN, _FIN, _RST = 0x10, 0x02, 0x01, 0x04
_IPV4: Final = struct.Struct(">BBHHHBBHIIHHIIBBHHH")
_IPV6: Final = struct.Struct(">IHBB16s16sHHIIBBHHH")
_ROOMY: Final = Settings(ports=(3306,), responses="first", max_flows=64)
_NARROW: Final = dataclasses.replace(
    _ROOMY, max_statement_bytes=40, max_flow_buffer_bytes=200, max_buffer_bytes=2000, max_flows=2
)
_RESPONSES: Final[tuple[Literal["none", "first", "timing", "all"], ...]] = ("none", "first", "timing", "all")
_SETTINGS: Final = tuple(
    dataclasses.replace(limits, responses=responses) for responses in _RESPONSES for limits in (_ROOMY, _NARROW)
)
_NS: Final = 1_000_000
_MOST_PACKETS: Final = 400
_OVERSHOOT: Final = 1 << 17
"""Beyond the allowance: what is charged before it is looked whether there is room."""


class _End:
    """One connection: its streams as they were sent, and where they are."""

    def __init__(self, index: int, first: int, *, wide: bool) -> None:
        self._port = 40000 + index
        self._wide = wide
        self._first = first
        self.clear: list[bytearray] = []
        self.inside: list[bytes] = []
        self.reopen()

    def reopen(self) -> None:
        """Another connection between the same ports, its numbers far from those before."""
        self._first = (self._first + 0x1357_9BDF) & 0xFFFFFFFF
        self.client = bytearray()
        self.server = bytearray()
        self.clear.append(self.client)

    def packet(self, side: int, begin: int, data: bytes, flags: int = _ACK) -> bytes:
        """A segment of that side, *begin* bytes into its stream; a SYN stands before the first."""
        other = self.server if side == CLIENT else self.client
        sequence = (self._first + begin + (0 if flags & _SYN else 1) + side * 0x4000_0000) & 0xFFFFFFFF
        acknowledgment = (self._first + len(other) + 1 + (1 - side) * 0x4000_0000) & 0xFFFFFFFF
        ports = (self._port, 3306) if side == CLIENT else (3306, self._port)
        transport = (*ports, sequence, acknowledgment, 0x50, flags, 1024, 0, 0)
        if self._wide:
            ends = (b"\xfd" + bytes(14) + b"\x01", b"\xfd" + bytes(14) + b"\x02")
            return _IPV6.pack(6 << 28, 20 + len(data) & 0xFFFF, 6, 64, ends[side], ends[1 - side], *transport) + data
        hosts = (0x0A000001, 0x0A000002)
        length = 40 + len(data) if len(data) < 0xFF00 else 0
        return _IPV4.pack(0x45, 0, length, 1, 0, 64, 6, 0, hosts[side], hosts[1 - side], *transport) + data


@dataclasses.dataclass(slots=True)
class _Wire:
    """What a schedule makes of the segments."""

    schedule: Script
    hostile: bool = False
    held: list[tuple[bytes, int]] = dataclasses.field(default_factory=list)

    def deliver(self, end: _End, step: Step) -> Iterator[tuple[bytes, int]]:
        """The packets of a step, each with its length on the wire; a length of 0: so many ms pass."""
        side = step.side & 1
        stream = end.client if side == CLIENT else end.server
        begin = len(stream)
        stream += step.data
        if side == CLIENT:
            end.inside.append(step.plain)
            self.hostile |= not step.certain
        if step.side in {CLIENT_LOST, SERVER_LOST}:
            return
        yield from self._arranged(end, side, begin, step.data)
        if self.held and self.schedule.byte() & 1:
            yield self.held.pop()

    def _arranged(self, end: _End, side: int, begin: int, data: bytes) -> Iterator[tuple[bytes, int]]:
        kind = self.schedule.byte()
        stream = end.client if side == CLIENT else end.server
        whole = end.packet(side, begin, data)
        what = kind & 15
        if what == 7:
            self.held.append((whole, len(whole)))
        elif what == 9:
            size = 1 + self.schedule.byte() % max(1, len(data))
            pieces = [(at, data[at : at + size]) for at in range(0, min(len(data), size * 60), size)]
            for at, piece in reversed(pieces) if kind & 16 else pieces:
                packet = end.packet(side, begin + at, piece)
                yield packet, len(packet)
        elif what == 10:
            earlier = max(0, begin - self.schedule.byte())
            packet = end.packet(side, earlier, bytes(stream[earlier:]))
            yield packet, len(packet)
        elif what == 11:
            yield whole[: max(1, len(whole) - self.schedule.byte())], len(whole)
        elif what == 12:
            self.hostile = True
            hurt = damaged(self.schedule, whole[:60]) + whole[60:]
            yield hurt, len(hurt) + (self.schedule.byte() if kind & 16 else 0)
        elif what != 8:
            yield whole, len(whole)
            yield from self._behind(end, side, whole, what, kind)

    def _behind(self, end: _End, side: int, whole: bytes, what: int, kind: int) -> Iterator[tuple[bytes, int]]:
        if what == 6:
            yield whole, len(whole)
        elif what == 13:
            yield (b"", 3000 if kind & 16 else 60)
        elif what == 14:
            flags = (_FIN | _ACK, _RST, _SYN, _SYN | _ACK)[kind >> 4 & 3]
            if flags == _SYN:
                end.reopen()
                side = CLIENT
            stream = end.client if side == CLIENT else end.server
            packet = end.packet(side, 0 if flags & _SYN else len(stream), b"", flags)
            yield packet, len(packet)
        elif what == 15 and (begin := len(end.client)):
            packet = end.packet(CLIENT, begin - 1, bytes(end.client[-1:]))  # a keep-alive
            yield packet, len(packet)


def _scripted(data: bytes) -> tuple[list[_End], _Wire, list[tuple[bytes, int]]]:
    reader = Script(data)
    shape = reader.byte()
    wire = _Wire(Script(reader.take(reader.byte())))
    ends = [
        _End(index, (0, 1000, 0xFFFF_FF00, 0xECA8_6400)[shape >> 2 & 3], wide=bool(shape & 16))
        for index in range(1 + shape % 3)
    ]
    found: list[tuple[bytes, int]] = []
    if shape & 0x60:
        for end, side in itertools.product(ends, (0, 1)):
            packet = end.packet(side, 0, b"", _SYN | (_ACK if side else 0))
            found.append((packet, len(packet)))
    for number, step in enumerate(steps(reader)):
        end = ends[number // 3 % len(ends)] if shape & 0x80 else ends[0]
        found += wire.deliver(end, step)
    return ends, wire, [*found[:_MOST_PACKETS], *wire.held]


def run(data: bytes) -> int:
    """One input; what came of it in short."""
    settings = _SETTINGS[data[0] % len(_SETTINGS)] if data else _ROOMY
    ends, wire, packets = _scripted(data[1:])
    head, bodies = _played(settings, packets, b"\xee" * 5, b"\xee\xee")
    if len(data) > 1 and data[0] & 0x80:
        other = _played(settings, packets, b"", b"\x00\x01\x02SELECT" * 3)
        assert other == (head, bodies), "bytes outside of a packet matter"
    found = [statement for body in bodies for statement in records.statements(body)]
    counters = head["after"]
    assert counters["statements_decoded"] == counters["statements_packed"] == len(found)
    if not wire.hostile:
        _check_texts(ends, found)
    kinds = frozenset((one.command, one.status, one.parameters is None) for one in found[-2:])
    return hash((kinds, tuple(min(count, 1) for count in counters.values())))


def _played(
    settings: Settings, packets: list[tuple[bytes, int]], before: bytes, behind: bytes
) -> tuple[dict[str, dict[str, int]], list[bytes]]:
    pipeline = Pipeline(1, 2, settings)
    now_ns, first, count = START_NS, len(before), 0
    blocks = []
    for packet, length in packets:
        if not packet:
            now_ns += length * _NS
            pipeline.tick(now_ns)
            continue
        now_ns += _NS
        count += 1
        pipeline.packet(before + packet + behind, first, first + len(packet), now_ns, length)
        assert pipeline.kept_bytes() <= settings.max_buffer_bytes * 3 // 2 + _OVERSHOOT, "more is kept than is allowed"
        if pipeline.full:
            blocks.append(pipeline.take_block(now_ns))
    blocks.append(pipeline.take_block(now_ns, final=True))
    assert pipeline.kept_bytes() == 0, "a pipeline that is finished keeps something"
    head = msgpack.unpackb(blocks[-1][0])
    taken = sum(number for name, number in head["after"].items() if name.startswith("packets_"))
    assert taken == count, f"of {count} packets {taken} are counted"
    return head, [body for _, body in blocks]


def _check_texts(ends: list[_End], found: list[records.Statement]) -> None:
    sent = [bytes(stream) for end in ends for stream in end.clear]
    sent += [b"".join(end.inside) for end in ends]
    for one in found:
        if one.sql is not None and not any(one.sql in stream for stream in sent):
            raise AssertionError(f"a statement that nobody sent: {one.command} {one.sql[:100]!r}")


SEEDS: Final = {
    "text": bytes((2, 96, 0, 0x70, 0, 0, 0x80, 0x80, 1, 4, 1, 0, 0x8C, 1, 5, 2, 65, 66, 1, 0, 0, 14, 2)),
    "prepared": bytes((
        130, 225, 4, 0, 7, 9, 10, 0x70, 1, 0, 0x60, 0x81, 1, 7, 0, 2, 0, 0, 0, 0x40, 0, 2, 0, 2, 1,
        0, 1, 1, 1, 0, 7, 0, 1, 1, 65, 0, 5, 0, 0, 0, 8, 0, 0,
    )),
    "infile": bytes((6, 112, 3, 14, 6, 15, 0x70, 0, 0, 0, 0x87, 1, 8, 0, 0, 12, 2, 3, 49, 50, 10, 0, 15, 3, 1, 1, 4)),
    "attributes": bytes((131, 98, 6, 7, 0, 10, 30, 11, 3, 0x70, 1, 0, 2, 0x80, 2, 9, 2, 1, 5, 2, 1, 65, 1, 2)),
    "change-user": bytes((2, 96, 0, 0x70, 0, 0, 9, 3, 114, 111, 111, 0x83, 1, 1, 0, 0, 10, 0x83, 1, 0)),
    "zlib": bytes((
        130, 225, 4, 0, 7, 9, 10, 0x76, 0, 0, 0, 0x8D, 0, 1, 5, 1, 65, 1, 0, 0, 0, 0, 0, 0x80, 2, 1,
        0, 0, 0, 0, 0,
    )),
    "zstd": bytes((6, 112, 3, 14, 6, 15, 0x77, 0, 0, 0, 0x8D, 1, 1, 5, 1, 65, 2, 0, 0, 0, 0, 0, 3, 0x8F, 0)),
    "proxy-and-tls": bytes((131, 98, 6, 7, 0, 10, 30, 11, 3, 0, 0, 17, 2, 1, 16, 0, 0, 0, 19, 0, 16)),
    "late": bytes((2, 96, 0, 0, 0, 0, 0x80, 1, 4, 1, 0, 3, 0x82, 1, 6, 0, 2, 0)),
    "damaged": bytes((
        130, 225, 4, 0, 7, 9, 10, 0x70, 2, 0xC0, 0, 0x82, 5, 3, 1, 0xC1, 5, 3, 65, 66, 67, 1, 2, 0,
        0, 2, 5, 1, 0x1E, 0, 0x80, 0, 0, 0x80,
    )),
    "executed": bytes((2, 96, 0, 0x70, 0, 0, 0xF0, 1, 5, 0, 1, 2, 3, 4, 0x81, 0, 0, 0x80)),
    "long-data": bytes((
        128, 225, 4, 0, 7, 9, 10, 0x70, 0, 0, 0xF0, 8, 2, 3, 2, 0x81, 0, 3, 97, 98, 99, 1, 2, 100,
        101,
    )),
    "executed-with-attributes": bytes((134, 112, 3, 14, 6, 15, 0x70, 1, 0, 0xF0, 0x30, 3, 0, 7, 9, 0x81, 9)),
    "executed-early": bytes((2, 96, 0, 0x70, 0, 0, 0xF0, 0xC0, 4, 0, 1, 2, 10, 0x81)),
    "executed-in-frames": bytes((
        128, 225, 4, 0, 7, 9, 10, 0x76, 0, 0, 0xF0, 0x41, 4, 0, 6, 11, 10, 0x81, 0, 0, 0, 0, 0, 0, 0,
    )),
}  # fmt: skip
"""Where a corpus begins."""
