"""A damaged capture file is refused with CaptureFileError and nothing else; each frame lies inside of its data."""

from __future__ import annotations

import io
from typing import Final

from tests.fuzz.script import Script, damaged
from tests.support import packets
from tests.support.packets import Captured
from workers.pcapfile import CaptureFileError, Tally, frames

_LAST_NS: Final = 1 << 63
_LINKS: Final = (packets.RAW, packets.ETHERNET, packets.NULL, packets.SLL, packets.SLL2, 12, 14, 108, 228, 229, 147)
_IP: Final = packets.ipv4(packets.tcp(b"\x09\0\0\0\x03SELECT 1"))
_LINK_HEADERS: Final = (
    b"", b"\2\0\0\0", bytes(12) + b"\x08\0", bytes(12) + b"\x81\0\0\1\x08\0", bytes(14) + b"\x08\0",
    b"\x08\0" + bytes(18), bytes(12) + b"\x88\xa8\0\1\x81\0\0\2\x86\xdd", bytes(12) + b"\x81\0" * 20,
)  # fmt: skip
_TIMES_NS: Final = (0, 1_700_000_000_123_456_789, (1 << 32) * 1_000_000_000 - 1)


def _captured(script: Script) -> Captured:
    data = script.pick(_LINK_HEADERS) + (_IP if script.byte() & 1 else script.piece())
    return Captured(data, script.pick(_TIMES_NS), script.number(4) if script.byte() & 0x80 else None)


def _next_generation(script: Script, order: str, link: int, captured: list[Captured]) -> bytes:
    options = b""
    for _ in range(script.byte() % 4):
        options += packets.pcapng_option(order, script.pick((0, 9, 14, 2)), script.take(script.byte() % 10))
    parts = [packets.pcapng_section(order), packets.pcapng_interface(order, link, options)]
    for packet in captured:
        how = script.byte()
        if how & 0x80:
            ticks = script.number(8) if how & 1 else None
            part = packets.pcapng_packet(order, packet, interface=how >> 4 & 1, ticks=ticks)
        elif how & 0x40:
            kind = script.pick((2, 3, 4, 5, 6, 0x0A0D0D0A, 0x0BAD))
            part = packets.pcapng_block(order, kind, script.piece())
        else:
            part = packets.pcapng_packet(order, packet)
        parts.append(damaged(script, part) if how & 0x20 else part)
    return b"".join(parts)


def _file(script: Script) -> bytes:
    shape = script.byte()
    if shape & 3 == 3:
        return script.rest()
    order = "<>"[shape >> 2 & 1]
    link = script.pick(_LINKS)
    captured = [_captured(script) for _ in range(script.byte() % 6)]
    if shape & 1:
        whole = _next_generation(script, order, link, captured)
    else:
        whole = packets.pcap(captured, order=order, nanoseconds=bool(shape & 8), link=link)
    for _ in range(shape >> 4 & 3):
        whole = damaged(script, whole)
    return whole


def run(data: bytes) -> int:
    """One input; what came of it in short."""
    tally = Tally()
    found = 0
    refused = ""
    try:
        for one in frames(io.BytesIO(_file(Script(data))), "a file", tally):
            found += 1
            assert 0 <= one.at < len(one.data), "a packet outside of its frame"
            assert one.length >= len(one.data) - one.at, "a packet longer than it was on the wire"
            assert 0 <= one.time_ns < _LAST_NS, "a time that the clock does not have"
    except CaptureFileError as error:
        refused = str(error)
        assert "\n" not in refused
    said = "".join(sign for sign in refused if not sign.isdigit())[:40]
    return hash((found, tally.not_ip, len(tally.other_links), said))


SEEDS: Final = {
    "pcap": bytes((0, 0, 2, 0, 1, 1, 0, 0, 1, 1, 0)),
    "pcap-big-endian-ethernet": bytes((0x0C, 1, 2, 2, 1, 1, 0, 3, 1, 1, 0)),
    "pcapng": bytes((1, 0, 2, 0, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0)),
    "pcapng-options": bytes((5, 1, 1, 2, 1, 1, 0, 2, 1, 1, 9, 2, 8, 0, 0, 0, 0, 0, 0, 0, 1, 0x80)),
    "pcapng-blocks": bytes((1, 3, 2, 4, 1, 1, 0, 5, 1, 1, 0, 0, 0x40, 1, 6, 9, 0, 0, 0, 1, 2, 0x81, 1, 2, 3)),
    "damaged": bytes((0x31, 0, 1, 0, 1, 1, 0, 0, 0, 5, 30, 2, 6, 20, 3, 7, 8, 1)),
    "raw": bytes((3,)) + packets.pcap([Captured(_IP)]),
}
"""Where a corpus begins."""
