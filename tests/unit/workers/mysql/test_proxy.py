"""PROXY headers: what a load balancer says of its client."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.mysql import proxy
from workers.mysql.proxy import Header

MAPPED = 0xFFFF_0000_0000
SIGNATURE = b"\r\n\r\n\x00\r\nQUIT\n"


def version_2(command: int, family: int, body: bytes) -> bytes:
    """Section 2.2 of the specification."""
    return SIGNATURE + bytes((command, family)) + struct.pack("!H", len(body)) + body


IPV4 = struct.pack("!IIHH", 0xC0A80001, 0x0A000002, 56324, 3306)
IPV6 = bytes(15) + b"\x01" + bytes(15) + b"\x02" + struct.pack("!HH", 56324, 3306)


@pytest.mark.parametrize(
    ("data", "header"),
    [
        (b"PROXY TCP4 192.168.0.1 10.0.0.2 56324 3306\r\n", (0, MAPPED | 0xC0A80001, 56324)),
        (b"PROXY TCP6 ::1 ::2 56324 3306\r\n", (0, 1, 56324)),
        (b"PROXY UNKNOWN\r\n", None),
        (b"PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n", None),
        (version_2(0x21, 0x11, IPV4), (0, MAPPED | 0xC0A80001, 56324)),
        (version_2(0x21, 0x21, IPV6), (0, 1, 56324)),
        (version_2(0x21, 0x11, IPV4 + b"\x03\x00\x01x"), (0, MAPPED | 0xC0A80001, 56324)),  # with a TLV
        (version_2(0x20, 0x00, b""), None),  # LOCAL: a health check
        (version_2(0x21, 0x31, bytes(216)), None),  # a Unix socket
        (version_2(0x21, 0x11, IPV4[:8]), None),  # too short for its family
    ],
)
def test_a_header_names_the_client(data: bytes, header: tuple[int, int, int] | None) -> None:
    assert proxy.read(data) == Header(len(data), header)
    assert proxy.read(data + b"the client's own bytes") == Header(len(data), header)
    assert proxy.may_begin(data)
    for size in range(len(data)):
        assert proxy.read(data[:size]) is None, "it comes in pieces"
        assert proxy.may_begin(data[:size])


@pytest.mark.parametrize(
    "data",
    [
        b"PROXY TCP4 192.168.0.1 10.0.0.2 56324\r\n",
        b"PROXY TCP4 nobody 10.0.0.2 56324 3306\r\n",
        b"PROXY TCP4 192.168.0.1 10.0.0.2 port 3306\r\n",
        b"PROXY TCP4 192.168.0.1 10.0.0.2 65536 3306\r\n",
        b"PROXY UDP4 192.168.0.1 10.0.0.2 1 2\r\n",
        b"PROXY " + b"x" * 200,
    ],
)
def test_a_malformed_header_is_none(data: bytes) -> None:
    assert proxy.read(data) == Header(0, None)


def test_what_mysql_clients_say_first_is_no_header() -> None:
    for first in (b"\x20\0\0\x01", b"PR\0\x01", b"\r\n\r\n\x01"):
        assert not proxy.may_begin(first)
        assert proxy.read(first) == Header(0, None)


@given(st.one_of(st.binary(max_size=300), st.binary(max_size=300).map(lambda rest: SIGNATURE + rest)))
def test_no_bytes_make_it_raise_or_reach_beyond_them(data: bytes) -> None:
    header = proxy.read(data)
    assert header is None or 0 <= header.length <= len(data)
