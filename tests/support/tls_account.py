"""What a capture file says was sent under TLS, found without querytap's own reading of TCP."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import NamedTuple

from workers.pcapfile import Tally, frames

_SSL_REQUEST = b"\x20\0\0\1"
"""The header of one: 32 bytes, sequence id 1 (page_protocol_connection_phase_packets_protocol_ssl_request)."""
_SSL_REQUEST_BYTES = 36
_HEADER = struct.Struct(">HHIIB")
_FIN, _SYN = 0x01, 0x02


class Account(NamedTuple):
    """Connections, and the bytes of each side."""

    connections: int
    bytes: int
    answer_bytes: int


class _Side:
    """One direction: where its bytes under TLS begin, and where they end."""

    def __init__(self, first: int) -> None:
        self.first = first
        self.end = 0

    def reach(self, sequence: int, size: int) -> None:
        ahead = (sequence + size - self.first) & 0xFFFFFFFF
        if ahead < 1 << 31:
            self.end = max(self.end, ahead)


def read(capture: Path, port: int) -> Account:
    """The account of the connections to *port* that use TLS: of IPv4 without options, as on a loopback.

    One whose SYN is there does when the client begins with an SSL request, and is counted from behind that; any other
    is taken to, and is counted from its first byte.
    """
    opened: set[int] = set()
    clear: set[int] = set()
    sides: dict[int, tuple[_Side, _Side]] = {}
    with capture.open("rb") as file:
        for data, at, _, _ in frames(file, capture.name, Tally()):
            source, target, sequence, acknowledgment, offset = _HEADER.unpack_from(data, at + 20)
            size = int.from_bytes(data[at + 2 : at + 4], "big") - 20 - (offset >> 4) * 4
            flags = data[at + 33]
            other = source if target == port else target
            if flags & _SYN:
                opened.add(other)
                clear.discard(other)
            elif target == port and size and other not in sides:
                payload = at + 20 + (offset >> 4) * 4
                if other not in opened:
                    sides[other] = _Side(sequence), _Side(acknowledgment)
                elif data[payload : payload + 4] == _SSL_REQUEST and other not in clear:
                    sides[other] = _Side(sequence + _SSL_REQUEST_BYTES), _Side(acknowledgment)
                else:
                    clear.add(other)
            if other in sides and (size or flags & _FIN):  # what has neither may stand behind a FIN, which is no byte
                sides[other][0 if target == port else 1].reach(sequence, size)
    clients, servers = ([pair[number] for pair in sides.values()] for number in (0, 1))
    return Account(len(sides), sum(side.end for side in clients), sum(side.end for side in servers))
