"""A conversation as packets on the wire, written down turn by turn, and what a capture makes of it.

What a case in tests/cases/ is made of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tests.support import answer_packets as answers
from tests.support import mysql_packets as mysql
from tests.support.packets import ACK, FIN, RAW, Captured, Connection

START_NS: Final = 1_700_000_000_000_000_000
STEP_NS: Final = 1_000_000
"""Between two packets."""
SEGMENT: Final = 1448
SECOND_NS: Final = 1_000_000_000
ONE_ROW: Final = answers.stream(answers.result([answers.text_row(b"1")]))
"""A whole result."""


Record = Mapping[str, object]
"""Fields of a record, and of its session, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Packets, and the records that must come of them."""

    packets: Sequence[Captured]
    expected: Sequence[Record]
    """In the order of the records; ``flags`` are empty where they are not named."""
    link: int = RAW
    """Where the packets begin: at the IP header, or before it."""
    ports: tuple[int, ...] = (3306,)
    responses: tuple[str, ...] = ("none", "first", "all")
    """Settings under which these are the records."""
    cuts: bool = True
    """The client's segments may be cut anywhere, and the records stay the same."""
    counters: Mapping[str, int] = field(default_factory=dict)
    """What must be counted, where the segments are whole."""
    settings: Mapping[str, Any] = field(default_factory=dict)


class Talk:
    """One connection; each call is one turn, and moves time on by STEP_NS."""

    def __init__(self, *, at_ns: int = START_NS, **ends: Any) -> None:  # noqa: ANN401  # those of Connection
        self.connection = Connection(**ends)
        self.now_ns = at_ns
        self.captured: list[Captured] = []

    def open(self) -> Talk:
        """The three packets of the TCP handshake."""
        return self._take(self.connection.open())

    def log_in(self, **login: Any) -> Talk:  # noqa: ANN401  # those of mysql_packets.login
        """From the SYN to the server's OK."""
        return self.open().server(mysql.greeting()).client(mysql.login(**login)).server(mysql.ok(sequence=2))

    def client(self, *payloads: bytes) -> Talk:
        """The client sends these, each in a segment of its own, whatever its size."""
        return self._take(self.connection.client(payload) for payload in payloads)

    def server(self, *payloads: bytes) -> Talk:
        """The server does."""
        return self._take(self.connection.server(payload) for payload in payloads)

    def segments(self, payload: bytes, size: int = SEGMENT) -> Talk:
        """The client sends *payload* in segments of that size."""
        return self.client(*[payload[at : at + size] for at in range(0, len(payload), size)])

    def answers(self, payload: bytes, size: int = SEGMENT) -> Talk:
        """The server does."""
        return self.server(*[payload[at : at + size] for at in range(0, len(payload), size)])

    def lose_client(self, size: int) -> Talk:
        """The client sends *size* bytes that are not captured."""
        self.connection.client(bytes(size))
        return self

    def lose_server(self, size: int) -> Talk:
        """The server does."""
        self.connection.server(bytes(size))
        return self

    def wait(self, seconds: float) -> Talk:
        """Nothing is said."""
        self.now_ns += int(seconds * SECOND_NS)
        return self

    def end(self) -> Talk:
        """Both sides close."""
        return self._take([self.connection.client(flags=FIN | ACK), self.connection.server(flags=FIN | ACK)])

    def _take(self, packets: Iterable[bytes]) -> Talk:
        for packet in packets:
            self.now_ns += STEP_NS
            self.captured.append(Captured(packet, self.now_ns))
        return self

    def twice(self, delay_ns: int = 0) -> list[Captured]:
        """All packets, and a copy behind each, as one sees them on two interfaces."""
        return [Captured(one.data, one.time_ns + late) for one in self.captured for late in (0, delay_ns)]

    def one_way(self, from_client: bool) -> list[Captured]:
        """The packets of one direction."""
        return [one for one in self.captured if _sent_by(one.data, self.connection.client_port) == from_client]


def prepared(statement_id: int, parameters: int, columns: int) -> bytes:
    """The whole answer to a PREPARE."""
    return answers.stream(answers.prepared(statement_id, parameters, columns))


def timed(packets: Iterable[Captured]) -> list[Captured]:
    """The packets as if they came in this order, STEP_NS apart."""
    return [Captured(one.data, START_NS + number * STEP_NS, one.wire_length) for number, one in enumerate(packets, 1)]


def snapped(packets: Iterable[Captured], length: int) -> list[Captured]:
    """The packets, of each the first *length* bytes."""
    return [Captured(one.data[:length], one.time_ns, len(one.data)) for one in packets]


def wrapped(packets: Iterable[Captured], wrap: Callable[[bytes], bytes]) -> list[Captured]:
    """The packets as frames of a link layer."""
    return [Captured(wrap(one.data), one.time_ns) for one in packets]


def ethernet(packet: bytes, *, tags: Sequence[int] = ()) -> bytes:
    """An Ethernet frame (IEEE 802.3) with VLAN tags (802.1Q; with two, the outer is 802.1ad's)."""
    kinds = (0x88A8, 0x8100) if len(tags) == 2 else (0x8100,)
    tagged = b"".join(kind.to_bytes(2, "big") + tag.to_bytes(2, "big") for kind, tag in zip(kinds, tags, strict=False))
    return bytes(12) + tagged + b"\x08\0" + packet


def cooked(packet: bytes) -> bytes:
    """A frame as ``-i any`` captures it: LINKTYPE_LINUX_SLL."""
    return b"\0\0\0\x01\0\x06" + bytes(8) + b"\x08\0" + packet


def cut(packet: bytes, size: int) -> list[bytes]:
    """An IPv4 packet as several that carry at most *size* bytes each."""
    header = (packet[0] & 0x0F) * 4
    body = header + (packet[header + 12] >> 4) * 4
    if len(packet) - body <= size:
        return [packet]
    found = []
    for at in range(body, len(packet), size):
        piece = packet[at : at + size]
        sequence = (int.from_bytes(packet[header + 4 : header + 8], "big") + at - body) & 0xFFFFFFFF
        length = body + len(piece)
        whole = bytearray(packet[:body] + piece)
        whole[2:4] = length.to_bytes(2, "big")
        whole[header + 4 : header + 8] = sequence.to_bytes(4, "big")
        found.append(bytes(whole))
    return found


def sent_to(packet: bytes, ports: Sequence[int]) -> bool:
    """Whether an IPv4 packet goes to one of these ports."""
    header = (packet[0] & 0x0F) * 4
    return packet[0] >> 4 == 4 and int.from_bytes(packet[header + 2 : header + 4], "big") in ports


def _sent_by(packet: bytes, port: int) -> bool:
    header = (packet[0] & 0x0F) * 4
    return int.from_bytes(packet[header : header + 2], "big") == port
