from __future__ import annotations

import io
import itertools
import struct
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.packets import (
    ETHERNET,
    NULL,
    RAW,
    SLL,
    SLL2,
    Captured,
    ipv4,
    ipv6,
    pcap,
    pcapng,
    pcapng_block,
    pcapng_interface,
    pcapng_option,
    pcapng_packet,
    pcapng_section,
    tcp,
)
from workers.pcapfile import CaptureFileError, Frame, Tally, frames

ORDERS = ["<", ">"]
FOUR, SIX = ipv4(tcp(b"four")), ipv6(tcp(b"six"))
Make = Callable[..., bytes]

NS = 1_000_000_000
TIME_NS = 1_700_000_000 * NS + 123_456_789
IPV4, IPV6, ARP, VLAN, SERVICE_VLAN = b"\x08\x00", b"\x86\xdd", b"\x08\x06", b"\x81\x00", b"\x88\xa8"  # EtherTypes
MACS = bytes(12)
TIME_RESOLUTION, TIME_OFFSET = 9, 14  # options of an Interface Description Block


def read(content: bytes, tally: Tally | None = None) -> list[Frame]:
    return list(frames(io.BytesIO(content), "a.pcap", Tally() if tally is None else tally))


def packets_of(found: list[Frame]) -> list[bytes]:
    return [frame.data[frame.at :] for frame in found]


# --- pcap


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("nanoseconds", [False, True])
def test_pcap_is_read_in_both_byte_orders_and_resolutions(order: str, nanoseconds: bool) -> None:
    found = read(pcap([Captured(FOUR, TIME_NS), Captured(SIX, TIME_NS + NS)], order=order, nanoseconds=nanoseconds))
    assert packets_of(found) == [FOUR, SIX]
    exact = TIME_NS if nanoseconds else TIME_NS // 1000 * 1000
    assert [frame.time_ns for frame in found] == [exact, exact + NS]
    assert [frame.length for frame in found] == [len(FOUR), len(SIX)]


def test_times_after_2038_are_not_negative() -> None:
    last_ns = 0xFFFFFFFF * NS + 999_999_999
    assert read(pcap([Captured(FOUR, last_ns)], nanoseconds=True))[0].time_ns == last_ns


@pytest.mark.parametrize("make", [pcap, pcapng])
def test_a_snapped_packet_keeps_its_length_on_the_wire(make: Make) -> None:
    (found,) = read(make([Captured(FOUR[:20], 0, len(FOUR))]))
    assert (found.data, found.length) == (FOUR[:20], len(FOUR))


def test_of_a_snapped_frame_the_link_header_is_not_counted() -> None:
    (found,) = read(pcap([Captured(MACS + IPV4 + FOUR[:20], 0, 14 + len(FOUR))], link=ETHERNET))
    assert (found.at, found.length) == (14, len(FOUR))


def test_what_was_captured_was_on_the_wire_too() -> None:
    (found,) = read(pcap([Captured(FOUR, 0, 1)]))
    assert found.length == len(FOUR)


@pytest.mark.parametrize("make", [pcap, pcapng])
def test_a_capture_without_packets_is_one(make: Make) -> None:
    assert read(make([])) == []


def test_bits_of_the_link_type_that_tell_of_checksums_are_no_type() -> None:
    content = bytearray(pcap([Captured(FOUR)]))
    content[20:24] = struct.pack("<I", 0xF0000000 | RAW)
    assert packets_of(read(bytes(content))) == [FOUR]


# --- pcapng


@pytest.mark.parametrize("order", ORDERS)
def test_pcapng_is_read_in_both_byte_orders(order: str) -> None:
    found = read(pcapng([Captured(FOUR, TIME_NS), Captured(SIX, TIME_NS + NS)], order=order))
    assert packets_of(found) == [FOUR, SIX]
    exact = TIME_NS // 1000 * 1000
    assert [frame.time_ns for frame in found] == [exact, exact + NS]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    ("resolution", "ticks", "time_ns"),
    [
        pytest.param(0, 1_700_000_000, 1_700_000_000 * NS, id="seconds"),
        pytest.param(3, 1_700_000_000_123, 1_700_000_000_123_000_000, id="milliseconds"),
        pytest.param(6, 1_700_000_000_123_456, 1_700_000_000_123_456_000, id="microseconds"),
        pytest.param(9, TIME_NS, TIME_NS, id="nanoseconds"),
        pytest.param(12, 1_700_000_000_123, 1_700_000_000, id="picoseconds"),
        pytest.param(127, 2**64 - 1, 0, id="less than there are bits for"),
        pytest.param(0x80 | 10, 1_700_000_000 << 10 | 512, 1_700_000_000 * NS + NS // 2, id="parts of 2**10"),
        pytest.param(0x80 | 127, 2**64 - 1, 0, id="parts of 2**127"),
    ],
)
def test_times_are_in_the_units_of_their_interface(order: str, resolution: int, ticks: int, time_ns: int) -> None:
    options = pcapng_option(order, TIME_RESOLUTION, bytes([resolution]))
    content = pcapng([], order=order, options=options) + pcapng_packet(order, Captured(FOUR), ticks=ticks)
    assert read(content)[0].time_ns == time_ns


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seconds", [1_600_000_000, -5])
def test_an_interface_may_count_from_another_time_than_1970(order: str, seconds: int) -> None:
    options = pcapng_option(order, TIME_OFFSET, struct.pack(f"{order}q", seconds))
    content = pcapng([Captured(FOUR, 7 * NS)], order=order, options=options)
    assert read(content)[0].time_ns == (7 + seconds) * NS


@pytest.mark.parametrize("seconds", [-8, -(2**63), 2**63 - 1, 9_300_000_000])
def test_a_time_that_the_clock_does_not_have_is_none(seconds: int) -> None:
    options = pcapng_option("<", TIME_OFFSET, struct.pack("<q", seconds))
    assert read(pcapng([Captured(FOUR, 7 * NS)], options=options))[0].time_ns == 0


@pytest.mark.parametrize("order", ORDERS)
def test_options_that_do_not_matter_are_passed_over(order: str) -> None:
    options = (
        pcapng_option(order, 2, b"eth0!")  # if_name, padded
        + pcapng_option(order, TIME_RESOLUTION, b"\x09")
        + pcapng_option(order, 0, b"")
        + pcapng_option(order, TIME_RESOLUTION, b"\x00")  # behind the end
    )
    content = pcapng([], order=order, options=options) + pcapng_packet(order, Captured(FOUR), ticks=TIME_NS)
    assert read(content)[0].time_ns == TIME_NS


@pytest.mark.parametrize("option", [TIME_RESOLUTION, TIME_OFFSET])
@pytest.mark.parametrize("size", [0, 1, 8, 65535])
def test_an_option_that_goes_on_behind_its_block_is_passed_over(option: int, size: int) -> None:
    options = struct.pack("<HH", option, size)
    assert read(pcapng([Captured(FOUR, 7000)], options=options))[0].time_ns == 7000


@pytest.mark.parametrize("order", ORDERS)
def test_packets_name_their_interface(order: str) -> None:
    content = (
        pcapng_section(order)
        + pcapng_interface(order, RAW)
        + pcapng_interface(order, ETHERNET, pcapng_option(order, TIME_RESOLUTION, b"\x09"))
        + pcapng_packet(order, Captured(MACS + IPV6 + SIX), interface=1, ticks=77)
        + pcapng_packet(order, Captured(FOUR), interface=0, ticks=77)
    )
    found = read(content)
    assert packets_of(found) == [SIX, FOUR]
    assert [frame.time_ns for frame in found] == [77, 77_000]


def test_a_section_has_a_byte_order_and_interfaces_of_its_own() -> None:
    content = pcapng([Captured(FOUR, TIME_NS)], order="<") + pcapng(
        [Captured(MACS + IPV6 + SIX, TIME_NS)], order=">", link=ETHERNET
    )
    assert packets_of(read(content)) == [FOUR, SIX]
    assert packets_of(read(content + content)) == [FOUR, SIX] * 2


def test_interfaces_of_a_section_are_not_those_of_the_next() -> None:
    content = pcapng([Captured(FOUR)]) + pcapng_section() + pcapng_packet("<", Captured(SIX))
    with pytest.raises(CaptureFileError, match="interface 0, described are 0"):
        read(content)


@pytest.mark.parametrize("order", ORDERS)
def test_simple_packets_have_no_time_and_no_padding(order: str) -> None:
    simple = pcapng_block(order, 3, struct.pack(f"{order}I", len(FOUR) + 1) + FOUR + b"x")
    (found,) = read(pcapng([], order=order) + simple)
    assert (found.data, found.time_ns, found.length) == (FOUR + b"x", 0, len(FOUR) + 1)


@pytest.mark.parametrize("order", ORDERS)
def test_simple_packets_are_cut_at_the_snap_length_of_their_interface(order: str) -> None:
    interface = pcapng_block(order, 1, struct.pack(f"{order}HHI", RAW, 0, 21))
    simple = pcapng_block(order, 3, struct.pack(f"{order}I", 1500) + FOUR[:21])
    (found,) = read(pcapng_section(order) + interface + simple)
    assert (found.data, found.length) == (FOUR[:21], 1500)


@pytest.mark.parametrize("order", ORDERS)
def test_packets_of_the_obsolete_kind_are_read(order: str) -> None:
    old = struct.pack(f"{order}HHIIII", 0, 0, 0, 77, len(FOUR), len(FOUR)) + FOUR
    (found,) = read(pcapng([], order=order) + pcapng_block(order, 2, old))
    assert (found.data, found.time_ns) == (FOUR, 77_000)


def test_blocks_of_other_kinds_are_passed_over() -> None:
    other = pcapng_block("<", 5, bytes(20)) + pcapng_block("<", 0x80000001, b"") + pcapng_block("<", 10, b"secrets!")
    content = pcapng([Captured(FOUR)]) + other + pcapng_packet("<", Captured(SIX))
    assert packets_of(read(content)) == [FOUR, SIX]


# --- link types


LINKS = [
    pytest.param(RAW, b"", id="raw"),
    pytest.param(12, b"", id="raw as OpenBSD has it"),
    pytest.param(14, b"", id="raw as BSD/OS has it"),
    pytest.param(228, b"", id="ipv4"),
    pytest.param(229, b"", id="ipv6"),
    pytest.param(NULL, b"\x02\0\0\0", id="null"),
    pytest.param(108, b"\0\0\0\x02", id="loop"),
    pytest.param(ETHERNET, MACS + IPV4, id="ethernet, ipv4"),
    pytest.param(ETHERNET, MACS + IPV6, id="ethernet, ipv6"),
    pytest.param(ETHERNET, MACS + VLAN + b"\x00\x05" + IPV4, id="ethernet, vlan"),
    pytest.param(ETHERNET, MACS + SERVICE_VLAN + b"\0\x07" + VLAN + b"\0\x05" + IPV6, id="ethernet, two vlans"),
    pytest.param(ETHERNET, MACS + b"\x91\x00\0\x07" + IPV4, id="ethernet, vlan of an old kind"),
    pytest.param(SLL, bytes(14) + IPV4, id="cooked"),
    pytest.param(SLL, bytes(14) + VLAN + b"\0\x05" + IPV6, id="cooked, vlan"),
    pytest.param(SLL2, IPV4 + bytes(18), id="cooked, version 2, ipv4"),
    pytest.param(SLL2, IPV6 + bytes(18), id="cooked, version 2, ipv6"),
    pytest.param(SLL, bytes(14) + SERVICE_VLAN + b"\0\x07" + VLAN + b"\0\x05" + IPV4, id="cooked, two vlans"),
    pytest.param(SLL2, VLAN + bytes(18) + b"\0\x05" + IPV4, id="cooked, version 2, vlan"),
    pytest.param(
        SLL2, SERVICE_VLAN + bytes(18) + b"\0\x07" + VLAN + b"\0\x05" + IPV6, id="cooked, version 2, two vlans"
    ),
]


@pytest.mark.parametrize("make", [pcap, pcapng])
@pytest.mark.parametrize(("link", "header"), LINKS)
def test_the_ip_packet_lies_behind_the_header_of_its_link(make: Make, link: int, header: bytes) -> None:
    tally = Tally()
    (found,) = read(make([Captured(header + FOUR)], link=link), tally)
    assert (found.at, found.length) == (len(header), len(FOUR))
    assert tally == Tally()


@pytest.mark.parametrize(
    ("link", "data"),
    [
        pytest.param(ETHERNET, MACS + ARP + bytes(28), id="arp"),
        pytest.param(ETHERNET, MACS + VLAN + b"\0\x05" + ARP + bytes(28), id="arp in a vlan"),
        pytest.param(ETHERNET, MACS + b"\x00\x26" + bytes(38), id="a length in place of a type"),
        pytest.param(ETHERNET, MACS[:7], id="cut inside the addresses"),
        pytest.param(ETHERNET, MACS + IPV4, id="cut behind the type"),
        pytest.param(ETHERNET, MACS + VLAN * 3, id="cut inside the tags"),
        pytest.param(SLL, bytes(14) + ARP + bytes(28), id="cooked arp"),
        pytest.param(SLL2, ARP + bytes(28), id="cooked arp, version 2"),
        pytest.param(SLL2, IPV4 + bytes(17), id="cut inside the cooked header"),
        pytest.param(NULL, b"\x02\0\0\0", id="nothing behind the family"),
        pytest.param(RAW, b"", id="nothing at all"),
    ],
)
def test_a_frame_that_holds_no_ip_packet_is_counted_and_passed_over(link: int, data: bytes) -> None:
    tally = Tally()
    assert read(pcap([Captured(data), Captured(data)], link=link), tally) == []
    assert tally == Tally(not_ip=2)


def test_frames_of_an_unknown_link_type_are_counted_by_type() -> None:
    tally = Tally()
    content = (
        pcapng([Captured(FOUR)], link=RAW) + pcapng([Captured(FOUR)] * 2, link=147) + pcapng([Captured(b"")], link=9)
    )
    assert packets_of(read(content, tally)) == [FOUR]
    assert tally == Tally(other_links={147: 2, 9: 1})


# --- damaged files


@pytest.mark.parametrize(
    ("content", "beginning"),
    [
        (b"", "nothing"),
        (b"\xa1\xb2", "a1b2"),
        (b"GET / HTTP/1.1", "47455420"),
        (b"\x1f\x8b\x08\0" + bytes(20), "1f8b0800"),
    ],
)
def test_a_file_that_is_no_capture_is_named_with_its_beginning(content: bytes, beginning: str) -> None:
    with pytest.raises(CaptureFileError, match=rf"^a\.pcap: neither pcap nor pcapng \(it begins with {beginning}\)"):
        read(content)


def read_as_far_as_it_goes(content: bytes) -> tuple[list[Frame], str]:
    """The frames before the error, and what that says."""
    found: list[Frame] = []
    try:
        for frame in frames(io.BytesIO(content), "a.pcap", Tally()):
            found.append(frame)  # noqa: PERF402  # what came before an error counts
    except CaptureFileError as error:
        return found, str(error)
    return found, ""


IN_PARTS = [
    pytest.param([pcap([]), pcap([Captured(FOUR)])[24:], pcap([Captured(SIX)])[24:]], id="pcap"),
    pytest.param(
        [pcapng_section(), pcapng_interface(), pcapng_packet("<", Captured(FOUR)), pcapng_packet("<", Captured(SIX))],
        id="pcapng",
    ),
]


@pytest.mark.parametrize("parts", IN_PARTS)
def test_a_file_cut_anywhere_gives_what_is_whole_and_says_that_it_was_cut(parts: list[bytes]) -> None:
    ends = list(itertools.accumulate(map(len, parts)))
    for size in range(4, ends[-1] + 1):
        found, problem = read_as_far_as_it_goes(b"".join(parts)[:size])
        assert packets_of(found) == [FOUR, SIX][: sum(size >= end for end in ends[-2:])]
        if size in ends:
            assert not problem
        else:
            assert problem.startswith("a.pcap: byte ")
            assert problem.endswith("bytes too early")


@pytest.mark.parametrize(
    ("cut", "message"),
    [
        pytest.param(10, "byte 4: the file ends 14 bytes too early", id="inside the header"),
        pytest.param(24 + 5, "byte 29: the file ends 11 bytes too early", id="inside a packet's header"),
        pytest.param(24 + 16 + 7, "byte 40: the file ends 37 bytes too early", id="inside a packet"),
    ],
)
def test_a_cut_is_told_by_place_and_size(cut: int, message: str) -> None:
    assert len(FOUR) == 44
    assert read_as_far_as_it_goes(pcap([Captured(FOUR)])[:cut]) == ([], f"a.pcap: {message}")


BROKEN = [
    pytest.param(pcap([]) + struct.pack("<IIII", 0, 0, 0xFFFFFFFF, 60), "a packet of 4294967295 bytes", id="pcap"),
    pytest.param(pcapng([]) + struct.pack("<II", 6, 0xFFFFFFFC), "a block of 4294967292 bytes", id="a block of 4 GiB"),
    pytest.param(pcapng([]) + struct.pack("<II", 6, 8), "a block of 8 bytes", id="a block without an end"),
    pytest.param(pcapng([]) + struct.pack("<II", 6, 45) + bytes(37), "a block of 45 bytes", id="half a word"),
    pytest.param(pcapng([]) + pcapng_block("<", 6, bytes(16)), "less than 20 bytes", id="a packet block too short"),
    pytest.param(pcapng([]) + pcapng_block("<", 3, b""), "without a length", id="a simple block too short"),
    pytest.param(pcapng_section() + pcapng_block("<", 1, b"\0\0\0\0"), "less than 8", id="an interface too short"),
    pytest.param(pcapng_section() + pcapng_packet("<", Captured(FOUR)), "described are 0", id="no interface"),
    pytest.param(pcapng_section() + pcapng_block("<", 3, bytes(8)), "described are 0", id="no interface, simple"),
    pytest.param(
        pcapng([]) + pcapng_block("<", 6, struct.pack("<IIIII", 0, 0, 0, 5, 5) + b"four"),
        "a packet of 5 bytes",
        id="a packet longer than its block",
    ),
    pytest.param(b"\n\r\r\n" + struct.pack("<I", 28) + bytes(20), "byte-order magic", id="a section without order"),
    pytest.param(b"\n\r\r\n" + struct.pack("<II", 24, 0x1A2B3C4D), "header of 24 bytes", id="a section too short"),
    pytest.param(b"\n\r\r\n" + struct.pack("<II", 2**31, 0x1A2B3C4D), "header of 2147", id="a section of 2 GiB"),
]


@pytest.mark.parametrize(("content", "message"), BROKEN)
def test_a_record_that_can_not_be_right_is_named(content: bytes, message: str) -> None:
    with pytest.raises(CaptureFileError, match=rf"^a\.pcap: byte \d+: .*{message}"):
        read(content)


def attempt(content: bytes) -> None:
    """Read *content*: frames that can be right, or CaptureFileError, and nothing else."""
    try:
        for frame in frames(io.BytesIO(content), "a.pcap", Tally()):
            assert 0 <= frame.at < len(frame.data)
            assert frame.length >= len(frame.data) - frame.at
            assert 0 <= frame.time_ns < 2**63
    except CaptureFileError:
        return


CAPTURES = [
    make([Captured(header + FOUR, TIME_NS), Captured(header + SIX, TIME_NS, 99)], order=order, link=link)
    for make in (pcap, pcapng)
    for order in ORDERS
    for link, header in ((RAW, b""), (ETHERNET, MACS + VLAN + b"\0\x05" + IPV4))
] + [
    pcapng_section()
    + pcapng_interface(
        "<", RAW, pcapng_option("<", TIME_RESOLUTION, b"\x09") + pcapng_option("<", TIME_OFFSET, bytes(8))
    )
    + pcapng_block("<", 3, struct.pack("<I", len(FOUR)) + FOUR)
    + pcapng_block("<", 2, struct.pack("<HHIIII", 0, 0, 0, 77, len(SIX), len(SIX)) + SIX)
]


@given(
    st.sampled_from(CAPTURES),
    st.lists(st.tuples(st.integers(0, 400), st.one_of(st.sampled_from(b"\x00\x01\x7f\x80\xff"), st.integers(0, 255)))),
    st.integers(0, 400),
)
def test_damaged_captures_raise_nothing_but_their_own_error(
    content: bytes, changes: list[tuple[int, int]], cut: int
) -> None:
    damaged = bytearray(content)
    for place, value in changes:
        damaged[place % len(damaged)] = value
    attempt(bytes(damaged))
    attempt(bytes(damaged[:cut]))


@given(
    st.sampled_from([content[:4] for content in CAPTURES] + [pcapng_section(), pcapng([]), pcap([])]),
    st.binary(max_size=200),
)
def test_garbage_behind_a_good_beginning_raises_nothing_but_its_own_error(beginning: bytes, garbage: bytes) -> None:
    attempt(beginning + garbage)
    attempt(garbage)
