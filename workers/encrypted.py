"""What cannot be seen: connections that use TLS, whose packets are dropped here, unread. No I/O, no clock.

Their bytes are counted by TCP sequence numbers (RFC 9293 section 3.4): each once, however often and in whatever order
it comes, and also where it was not captured.
"""

import cython

from workers.mysql.rules import ENCRYPTED
from workers.packet import ACK, Packet
from workers.reassembly import Owner, Reassembly
from workers.tcp.flows import Flow
from workers.tcp.pieces import REACH, distance
from workers.tcp.stream import Stream

_ENCRYPTED = cython.declare(cython.int, ENCRYPTED)
_ACK = cython.declare(cython.uint, ACK)
_REACH = cython.declare(cython.longlong, REACH)
_WRAP = cython.declare(cython.longlong, 0xFFFFFFFF)
_SERVER_ENDED = cython.declare(cython.int, 2)  # of Flow.ended


@cython.final
@cython.cclass
class Encrypted:
    """The account of all connections that use TLS.

    Promises, each pinned by a property test: cutting, reordering, doubling and losing segments never changes what is
    counted of a connection that is seen to its end; nothing of them is held.
    ``connections``; ``client_bytes``, ``server_bytes``: what was sent in them under TLS.
    """

    connections: cython.ulonglong
    client_bytes: cython.ulonglong
    server_bytes: cython.ulonglong
    _reassembly: Reassembly

    def __init__(self, reassembly: Reassembly) -> None:
        self.connections = self.client_bytes = self.server_bytes = 0
        self._reassembly = reassembly

    def counted(self) -> tuple[int, int, int]:
        """Connections, the clients' bytes and the servers'."""
        return self.connections, self.client_bytes, self.server_bytes

    @cython.ccall
    def begin(self, flow: Flow) -> cython.int:
        """The owner of *flow* has found that it uses TLS: nothing of it goes through reassembly from here on.

        What the owner was given of it is counted, and what is held for it, which is let go.
        """
        owner: Owner | None = flow.owner
        client: Stream = flow.client
        if owner is None or flow.encrypted:
            return 0
        flow.encrypted = True
        self.connections += 1
        self.client_bytes += owner.concealed_bytes
        end: cython.uint = client.farthest()
        self._reassembly.release(flow)
        self.client_bytes += self._reach(client, end, 0)
        return 0

    @cython.ccall
    def begin_by_client(self, flow: Flow, packet: Packet) -> cython.int:
        """begin(), by a packet of the client: whatever it acknowledges the server has said before TLS."""
        self.begin(flow)
        if packet.flags & _ACK:
            flow.server.open(packet.acknowledgment)
        return 0

    @cython.ccall
    def begin_by_server(self, flow: Flow, packet: Packet) -> cython.int:
        """begin(), by a packet of the server, the first under TLS."""
        self.begin(flow)
        flow.server.open(packet.sequence)
        return self.server(flow, packet)

    @cython.ccall
    def client(self, flow: Flow, packet: Packet) -> cython.int:
        """Drop a packet of the client. What it acknowledges was said by the server, whether captured or not."""
        size: cython.longlong = packet.payload_end - packet.payload + packet.missing
        self.client_bytes += self._reach(flow.client, packet.sequence, size)
        if packet.flags & _ACK and flow.ended & _SERVER_ENDED == 0:  # behind its end the FIN is acknowledged too
            self.server_bytes += self._reach(flow.server, packet.acknowledgment, 0)
        return _ENCRYPTED

    @cython.ccall
    def server(self, flow: Flow, packet: Packet) -> cython.int:
        """Drop a packet of the server."""
        size: cython.longlong = packet.payload_end - packet.payload + packet.missing
        self.server_bytes += self._reach(flow.server, packet.sequence, size)
        return _ENCRYPTED

    @cython.cfunc
    def _reach(self, stream: Stream, sequence: cython.uint, size: cython.longlong) -> cython.longlong:
        """Bring the stream behind *size* bytes at *sequence*; how many bytes further that is.

        Where that is further than any window reaches, it goes on there: of what lies between nobody knows.
        """
        end: cython.longlong = (sequence + size) & _WRAP
        ahead: cython.longlong = distance(end, stream.next) if stream.started else size
        if ahead >= _REACH or ahead <= -_REACH:
            ahead = size
        elif ahead <= 0 and stream.started:
            return 0
        stream.open(cython.cast(cython.uint, end))
        return ahead
