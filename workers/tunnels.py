"""What carries IP packets in IP packets: where the inner one begins. Bytes and offsets only.

VXLAN: RFC 7348. GRE: RFC 2784, RFC 2890. IP in IP: RFC 2003, RFC 2473, RFC 4213.
"""

from typing import Final

import cython

if not cython.compiled:
    from workers.wire import be16, u8


TUNNELS: Final = {"vxlan": 1, "gre": 2, "ipip": 4}
"""A bit for each kind that can be asked for."""

_VXLAN = cython.declare(cython.int, 1)
_GRE = cython.declare(cython.int, 2)
_IPIP = cython.declare(cython.int, 4)

# Protocol numbers, iana.org/assignments/protocol-numbers.
_IPV4_INSIDE = cython.declare(cython.uint, 4)
_UDP = cython.declare(cython.uint, 17)
_IPV6_INSIDE = cython.declare(cython.uint, 41)
_GRE_PROTOCOL = cython.declare(cython.uint, 47)

_VXLAN_PORT = cython.declare(cython.uint, 4789)
_VNI_IS_VALID = cython.declare(cython.uint, 0x08)
_GRE_CHECKSUM = cython.declare(cython.uint, 0x8000)
_GRE_KEY = cython.declare(cython.uint, 0x2000)
_GRE_SEQUENCE = cython.declare(cython.uint, 0x1000)
_GRE_UNKNOWN = cython.declare(cython.uint, 0x4FF8)  # routing, recursion, reserved: dropped by who does not know them
_GRE_VERSION = cython.declare(cython.uint, 0x0007)

# EtherTypes.
_IPV4 = cython.declare(cython.uint, 0x0800)
_IPV6 = cython.declare(cython.uint, 0x86DD)
_ETHERNET = cython.declare(cython.uint, 0x6558)  # transparent Ethernet bridging
_VLAN = cython.declare(cython.uint, 0x8100)  # IEEE 802.1Q
_SERVICE_VLAN = cython.declare(cython.uint, 0x88A8)  # IEEE 802.1ad
_MOST_TAGS: Final = 4


@cython.ccall
def tunnelled(protocol: cython.uint, tunnels: cython.int) -> cython.bint:
    """Whether IP *protocol* can carry one of the *tunnels*, bits of TUNNELS."""
    if protocol == _UDP:
        return tunnels & _VXLAN != 0
    if protocol == _GRE_PROTOCOL:
        return tunnels & _GRE != 0
    return tunnels & _IPIP != 0 and (protocol == _IPV4_INSIDE or protocol == _IPV6_INSIDE)


@cython.ccall
def inner(
    data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t, protocol: cython.uint, tunnels: cython.int
) -> cython.Py_ssize_t:
    """Where the IP packet begins that the one of *protocol*, whose body begins at *at*, carries in one of *tunnels*.

    -1 where it carries none. Raises IndexError where it ends before that can be told.
    """
    if not tunnelled(protocol, tunnels):
        return -1
    if protocol == _UDP:
        if be16(data, at + 2, end) != _VXLAN_PORT or u8(data, at + 8, end) & _VNI_IS_VALID == 0:
            return -1
        return _in_ethernet(data, at + 16, end)
    if protocol == _GRE_PROTOCOL:
        return _in_gre(data, at, end)
    return at


@cython.cfunc
def _in_gre(data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
    flags: cython.uint = be16(data, at, end)
    kind: cython.uint = be16(data, at + 2, end)
    if flags & (_GRE_UNKNOWN | _GRE_VERSION):
        return -1
    at += 4
    if flags & _GRE_CHECKSUM:
        at += 4
    if flags & _GRE_KEY:
        at += 4
    if flags & _GRE_SEQUENCE:
        at += 4
    if kind == _ETHERNET:
        return _in_ethernet(data, at, end)
    return at if kind == _IPV4 or kind == _IPV6 else -1


@cython.cfunc
def _in_ethernet(data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
    at += 12
    kind: cython.uint
    _tag: cython.int
    for _tag in range(_MOST_TAGS):
        kind = be16(data, at, end)
        if kind == _IPV4 or kind == _IPV6:
            return at + 2
        if kind != _VLAN and kind != _SERVICE_VLAN:
            return -1
        at += 4
    return -1
