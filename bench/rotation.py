"""Endless traffic from a finite workload: its exchanges again and again, with TCP numbers that always go on.

Pure: frames are patched in memory. A statement text comes back only after all the others, which a bench keeps further
apart than any compressor's window.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

from bench import frames
from bench.traffic import Frame, Traffic

_NUMBERS: Final = struct.Struct("!II")  # sequence, acknowledgement
_WRAP: Final = 0xFFFFFFFF


class Rotation:
    """The frames of a workload in two buffers, one a direction, ready to be stamped and sent.

    Frame number i of either buffer starts at requests_at[i] or answers_at[i] and ends where the next one starts.
    """

    def __init__(self, traffic: Traffic) -> None:
        self._opening = traffic.opening
        self._closing = traffic.closing
        self._connections = [exchange.connection for exchange in traffic.exchanges]
        self.requests, self.requests_at = _joined([exchange.request for exchange in traffic.exchanges])
        self.answers, self.answers_at = _joined([exchange.answer for exchange in traffic.exchanges])
        # The next sequence number of the client and of the server, for each connection.
        self._client, self._server = _numbers_after(self._opening)

    def __len__(self) -> int:
        """Exchanges in one turn."""
        return len(self._connections)

    @property
    def connections(self) -> int:
        """Connections the exchanges are dealt to; that many successive ones are never on the same connection."""
        return len(self._client)

    def batch(self, at: int, wanted: int) -> int:
        """How many exchanges, at most *wanted*, may go in one batch from *at*: no connection twice, no turn crossed."""
        return min(wanted, self.connections - at % self.connections, len(self) - at)

    def stamp(self, at: int, count: int) -> None:
        """Write the numbers of the next *count* exchanges from *at*, which then have to be sent."""
        client, server = self._client, self._server
        requests_at, answers_at = self.requests_at, self.answers_at
        for number in range(at, at + count):
            connection = self._connections[number]
            sent, answered = client[connection], server[connection]
            start = requests_at[number]
            _NUMBERS.pack_into(self.requests, start + frames.SEQUENCE_AT, sent, answered)
            sent = (sent + requests_at[number + 1] - start - frames.HEADER_BYTES) & _WRAP
            start = answers_at[number]
            _NUMBERS.pack_into(self.answers, start + frames.SEQUENCE_AT, answered, sent)
            client[connection] = sent
            server[connection] = (answered + answers_at[number + 1] - start - frames.HEADER_BYTES) & _WRAP

    def opening(self) -> Iterator[Frame]:
        """The frames that open the connections."""
        return iter(self._opening)

    def closing(self) -> Iterator[Frame]:
        """The frames that close the connections, where they now stand."""
        each = len(self._closing) // self.connections
        for place, frame in enumerate(self._closing):
            connection = place // each
            data = bytearray(frame.data)
            own, other = (self._client, self._server) if frame.to_server else (self._server, self._client)
            _NUMBERS.pack_into(data, frames.SEQUENCE_AT, own[connection], other[connection])
            own[connection] = (own[connection] + _advance(frame.data)) & _WRAP
            yield Frame(frame.to_server, bytes(data))


def _advance(frame: bytes) -> int:
    """How far the sequence number moves with *frame*."""
    tcp = frames.ETHERNET_BYTES + frames.IP_BYTES
    payload = len(frame) - tcp - (frame[tcp + 12] >> 4) * 4
    return payload + (1 if frame[tcp + 13] & (frames.SYN | frames.FIN) else 0)


def _joined(parts: list[bytes]) -> tuple[bytearray, list[int]]:
    starts = [0]
    for part in parts:
        starts.append(starts[-1] + len(part))
    return bytearray(b"".join(parts)), starts


def _numbers_after(opening: list[Frame]) -> tuple[list[int], list[int]]:
    """The next sequence numbers of clients and servers after *opening*, in the order the connections were opened."""
    client: dict[int, int] = {}
    server: dict[int, int] = {}
    tcp = frames.ETHERNET_BYTES + frames.IP_BYTES
    for frame in opening:
        ports = struct.unpack_from("!HH", frame.data, tcp)
        sequence, _ = _NUMBERS.unpack_from(frame.data, frames.SEQUENCE_AT)
        own, port = (client, ports[0]) if frame.to_server else (server, ports[1])
        own[port] = (sequence + _advance(frame.data)) & _WRAP
    return list(client.values()), list(server.values())
