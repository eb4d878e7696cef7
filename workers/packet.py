"""The headers of one IP packet that carries TCP, or another such packet in a tunnel, by arithmetic over bytes only.

IPv4: RFC 791. IPv6: RFC 8200. TCP: RFC 9293.
"""

from typing import Final

import cython

from workers.tunnels import inner, tunnelled

if not cython.compiled:
    from workers.wire import be16, be64, check, checked_be16, checked_be32, u8

# What decode() found.
TCP: Final = 0
NOT_TCP: Final = 1
FRAGMENT: Final = 2
"""A piece of a datagram; its TCP header is whole only in the first piece, so none is read here."""
MALFORMED: Final = 3

# TCP control bits, RFC 9293 section 3.1.
FIN: Final = 0x01
SYN: Final = 0x02
RST: Final = 0x04
ACK: Final = 0x10

_TCP = cython.declare(cython.int, TCP)
_NOT_TCP = cython.declare(cython.int, NOT_TCP)
_FRAGMENT = cython.declare(cython.int, FRAGMENT)
_MALFORMED = cython.declare(cython.int, MALFORMED)
_PROTOCOL_TCP = cython.declare(cython.uint, 6)

# IPv6 extension headers, RFC 8200 section 4 and iana.org/assignments/ipv6-parameters.
_HOP_BY_HOP = cython.declare(cython.uint, 0)
_ROUTING = cython.declare(cython.uint, 43)
_FRAGMENT_HEADER = cython.declare(cython.uint, 44)
_AUTHENTICATION = cython.declare(cython.uint, 51)  # RFC 4302
_DESTINATION = cython.declare(cython.uint, 60)
_MOBILITY = cython.declare(cython.uint, 135)

_DEEPEST = cython.declare(cython.int, 4)
"""Tunnels in tunnels that are gone through."""
_LONGEST = cython.declare(cython.Py_ssize_t, 0x1000000)
"""Bytes of one packet: super-segments are far below that."""
_IPV4_MAPPED = cython.declare(cython.ulonglong, 0xFFFF00000000)
"""IPv4 addresses stand in the low half as ::ffff:a.b.c.d does (RFC 4291 section 2.5.5.2)."""


@cython.final
@cython.cclass
class Packet:
    """One packet's addresses, TCP header and where its payload lies. Reused for every packet: decode() overwrites it.

    Addresses are two 64-bit halves; ``payload`` and ``payload_end`` are offsets into the bytes that decode() was
    given; ``missing`` counts payload bytes that were on the wire but not captured, after ``payload_end``. Of a packet
    in a tunnel all of that is the inner one's.
    """

    source_high: cython.ulonglong
    source_low: cython.ulonglong
    target_high: cython.ulonglong
    target_low: cython.ulonglong
    source_port: cython.uint
    target_port: cython.uint
    sequence: cython.uint
    acknowledgment: cython.uint
    flags: cython.uint
    payload: cython.Py_ssize_t
    payload_end: cython.Py_ssize_t
    missing: cython.Py_ssize_t
    _tunnels: cython.int
    _protocol: cython.uint
    _body: cython.Py_ssize_t
    _stop: cython.Py_ssize_t

    def __init__(self, tunnels: int = 0) -> None:
        """*tunnels*: those that are gone through, bits of tunnels.TUNNELS."""
        self._tunnels = tunnels
        self._protocol = 0
        self._body = self._stop = 0
        self.source_high = self.source_low = self.target_high = self.target_low = 0
        self.source_port = self.target_port = 0
        self.sequence = self.acknowledgment = self.flags = 0
        self.payload = self.payload_end = self.missing = 0

    @cython.ccall
    @cython.exceptval(-1)
    def decode(
        self, data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t, wire_length: cython.Py_ssize_t
    ) -> cython.int:
        """Read the packet in ``data[at:end]`` of which *wire_length* bytes were on the wire. Returns TCP or why not."""
        kind: cython.int
        depth: cython.int = 0
        try:
            kind = self._network(data, at, end, wire_length)
            while kind == _NOT_TCP and self._protocol and depth < _DEEPEST:
                at = inner(data, self._body, end, self._protocol, self._tunnels)
                if at < 0:
                    break
                kind = self._network(data, at, end, self._stop - at)
                depth += 1
        except IndexError:
            return _MALFORMED
        return kind

    @cython.cfunc
    @cython.exceptval(-1)
    def _network(
        self, data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t, wire_length: cython.Py_ssize_t
    ) -> cython.int:
        version: cython.uint = u8(data, at, end) >> 4
        self._protocol = 0
        if wire_length > _LONGEST:
            return _MALFORMED
        if version == 4:
            return self._ipv4(data, at, end, wire_length)
        if version == 6:
            return self._ipv6(data, at, end, wire_length)
        return _NOT_TCP

    @cython.cfunc
    def _other(self, protocol: cython.uint, body: cython.Py_ssize_t, stop: cython.Py_ssize_t) -> cython.int:
        """The packet is none of TCP; where it may be a tunnel, note what decode() has to know of it."""
        if self._tunnels and tunnelled(protocol, self._tunnels):
            self._protocol = protocol
            self._body = body
            self._stop = stop
        return _NOT_TCP

    @cython.cfunc
    @cython.exceptval(-1)
    def _ipv4(
        self, data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t, wire_length: cython.Py_ssize_t
    ) -> cython.int:
        check(data, at, 20, end)
        header: cython.Py_ssize_t = (data[at] & 0x0F) * 4
        total: cython.Py_ssize_t = checked_be16(data, at + 2)
        fragment: cython.uint = checked_be16(data, at + 6) & 0x3FFF  # more-fragments bit and offset
        if total == 0:  # IPv4 BIG TCP: a super-segment of 64 KiB and more has no length
            total = wire_length
        if header < 20 or total < header or total > wire_length:  # of such a packet a kernel takes no byte
            return _MALFORMED
        protocol: cython.uint = data[at + 9]
        if protocol != _PROTOCOL_TCP:
            if fragment != 0 and self._tunnels and tunnelled(protocol, self._tunnels):
                return _FRAGMENT
            return self._other(protocol, at + header, at + total)
        if fragment != 0:
            return _FRAGMENT
        self.source_high = self.target_high = 0
        self.source_low = _IPV4_MAPPED | checked_be32(data, at + 12)
        self.target_low = _IPV4_MAPPED | checked_be32(data, at + 16)
        return self._tcp(data, at + header, end, at + total)

    @cython.cfunc
    @cython.exceptval(-1)
    def _ipv6(
        self, data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t, wire_length: cython.Py_ssize_t
    ) -> cython.int:
        total: cython.Py_ssize_t = be16(data, at + 4, end) + 40
        if total == 40:  # a jumbogram (RFC 2675) or IPv6 BIG TCP
            total = wire_length
        if total > wire_length:
            return _MALFORMED
        following: cython.uint = u8(data, at + 6, end)
        here: cython.Py_ssize_t = at + 40
        while following != _PROTOCOL_TCP:
            if following == _HOP_BY_HOP or following == _ROUTING or following == _DESTINATION or following == _MOBILITY:
                following = u8(data, here, end)
                here += 8 + 8 * u8(data, here + 1, end)
            elif following == _AUTHENTICATION:
                following = u8(data, here, end)
                here += 8 + 4 * u8(data, here + 1, end)
            elif following == _FRAGMENT_HEADER:
                if be16(data, here + 2, end) & 0xFFF9:  # offset, and whether more follow
                    return _FRAGMENT
                following = u8(data, here, end)  # an atomic fragment is whole, RFC 6946
                here += 8
            else:
                return self._other(following, here, at + total)
        self.source_high = be64(data, at + 8, end)
        self.source_low = be64(data, at + 16, end)
        self.target_high = be64(data, at + 24, end)
        self.target_low = be64(data, at + 32, end)
        return self._tcp(data, here, end, at + total)

    @cython.cfunc
    @cython.exceptval(-1)
    def _tcp(
        self, data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t, whole_end: cython.Py_ssize_t
    ) -> cython.int:
        check(data, at, 14, end)  # up to the flags; what is behind may have been cut off
        header: cython.Py_ssize_t = (data[at + 12] >> 4) * 4
        payload: cython.Py_ssize_t = at + header
        if header < 20 or payload > whole_end:
            return _MALFORMED
        self.source_port = checked_be16(data, at)
        self.target_port = checked_be16(data, at + 2)
        self.sequence = checked_be32(data, at + 4)
        self.acknowledgment = checked_be32(data, at + 8)
        self.flags = data[at + 13]
        if whole_end < end:  # link padding
            end = whole_end
        if payload > end:  # cut inside the options
            payload = end
        self.payload = payload
        self.payload_end = end
        self.missing = whole_end - (end if end > at + header else at + header)
        return _TCP
