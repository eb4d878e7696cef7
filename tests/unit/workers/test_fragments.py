from __future__ import annotations

import random

import pytest

from tests.support.carriers import fragment, fragments, in_tunnel
from tests.support.packets import extension, ipv4, ipv6, tcp
from workers.fragments import Fragments
from workers.pcapfile import Frame

SECOND_NS = 10**9
BODY = tcp(bytes(number % 251 for number in range(5000)))
V4, V6 = ipv4(BODY), ipv6(BODY)
either = pytest.mark.parametrize("packet", [V4, V6], ids=["ipv4", "ipv6"])


def frame(packet: bytes, time_ns: int = 0) -> Frame:
    return Frame(b"\xee\xee" + packet, 2, time_ns, len(packet))


def put(table: Fragments, *packets: bytes, time_ns: int = 0) -> list[bytes]:
    """What comes out when these packets come."""
    given = [table.add(frame(packet, time_ns)) for packet in packets]
    return [one.data[one.at :] for one in given if one is not None]


def plain(packet: bytes) -> bytes:
    """An IPv4 packet without the identification that fragments have."""
    return packet[:4] + b"\0\0" + packet[6:] if packet[0] >> 4 == 4 else packet


@either
def test_what_is_no_fragment_goes_through_as_it_is(packet: bytes) -> None:
    table = Fragments()
    given = frame(packet)
    assert table.add(given) is given


@either
@pytest.mark.parametrize("size", [8, 1000, 1480])
def test_fragments_in_any_order_give_the_packet(packet: bytes, size: int) -> None:
    for seed in range(5):
        pieces = fragments(packet, size)
        random.Random(seed).shuffle(pieces)
        table = Fragments()
        (whole,) = put(table, *pieces)
        assert plain(whole) == plain(packet)
        assert (table.held_bytes, table.given_up, table.disagreeing) == (0, 0, 0)


@either
def test_the_packet_has_the_time_of_the_fragment_that_completes_it(packet: bytes) -> None:
    table = Fragments()
    pieces = fragments(packet, 2000)
    assert [table.add(frame(piece, number)) for number, piece in enumerate(pieces[:-1])] == [None] * (len(pieces) - 1)
    whole = table.add(frame(pieces[-1], 77))
    assert whole is not None
    assert (whole.time_ns, whole.length) == (77, len(packet))


def test_extension_headers_before_the_fragment_header_are_kept() -> None:
    packet = ipv6(BODY, following=0, extensions=extension(6, 16))
    pieces = []
    for at in range(0, len(BODY), 1000):
        piece = BODY[at : at + 1000]
        header = bytes([6, 0]) + (at | (at + 1000 < len(BODY))).to_bytes(2, "big") + b"\0\0\0\7"
        pieces.append(ipv6(piece, following=0, extensions=extension(44, 16) + header))
    assert put(Fragments(), *pieces) == [packet]


def test_options_of_ipv4_are_those_of_the_first_fragment() -> None:
    packet = ipv4(BODY, options=b"\x01\x01\x01\0")
    pieces = [
        ipv4(BODY[at : at + 2000], options=b"\x01\x01\x01\0" if at == 0 else b"", fragment=at // 8 | more)
        for at, more in ((0, 0x2000), (2000, 0x2000), (4000, 0))
    ]
    assert put(Fragments(), *reversed(pieces)) == [packet]


@either
def test_datagrams_do_not_mix(packet: bytes) -> None:
    other = (ipv4 if packet is V4 else ipv6)(BODY[::-1])
    one, two = fragments(packet, 1000), fragments(other, 1000, identification=8)
    table = Fragments()
    mixed = [piece for pair in zip(one, two, strict=True) for piece in pair]
    assert [plain(whole) for whole in put(table, *mixed)] == [plain(packet), plain(other)]


@either
def test_of_copies_the_first_is_used_and_a_disagreement_is_counted(packet: bytes) -> None:
    table = Fragments()
    pieces = fragments(packet, 1000)
    forged = fragment(packet, b"!" * 1600, 800, more=True)
    (whole,) = put(table, pieces[0], pieces[1], forged, *pieces[2:])
    head = len(packet) - len(BODY)
    assert plain(whole)[: head + 2000] == plain(packet)[: head + 2000]
    assert whole[head + 2000 : head + 2400] == b"!" * 400
    assert table.disagreeing == 1


@either
def test_a_fragment_that_comes_again_changes_nothing(packet: bytes) -> None:
    table = Fragments()
    pieces = fragments(packet, 1000)
    (whole,) = put(table, *[piece for piece in pieces[:-1] for _ in range(2)], pieces[-1])
    assert plain(whole) == plain(packet)
    assert table.disagreeing == 0


@either
def test_a_datagram_is_given_up_after_a_while(packet: bytes) -> None:
    table = Fragments()
    pieces = fragments(packet, 1000)
    put(table, *pieces[:-1], time_ns=0)
    assert put(table, pieces[-1], time_ns=31 * SECOND_NS) == []
    assert table.given_up == 1


@either
def test_memory_is_bounded_and_the_oldest_goes_first(packet: bytes) -> None:
    table = Fragments(most_bytes=100_000)
    for number in range(2000):
        put(table, fragments(packet, 2000, identification=number)[1])
        assert table.held_bytes <= 100_000
    assert 1900 < table.given_up < 2000
    kept = fragments(packet, 2000, identification=1999)
    assert len(put(table, kept[0], kept[2])) == 1
    gone = fragments(packet, 2000, identification=0)
    assert put(table, gone[0], gone[2]) == []


@either
def test_fragments_that_cannot_be_are_left_out(packet: bytes) -> None:
    table = Fragments()
    odd = [
        fragment(packet, b"x" * 1001, 0, more=True),
        fragment(packet, b"", 8, more=True),
        fragment(packet, b"x" * 100, 0xFFF8, more=False),
    ]
    assert put(table, *odd) == []
    assert table.held_bytes == 0


def test_a_datagram_longer_than_any_can_be_is_not_given() -> None:
    table = Fragments()
    assert put(table, fragment(V4, b"x" * 65000, 0, more=True), fragment(V4, b"x" * 530, 65000, more=False)) == []


@either
def test_a_fragment_that_was_not_captured_whole_completes_nothing(packet: bytes) -> None:
    table = Fragments()
    pieces = fragments(packet, 2000)
    given = [table.add(Frame(piece[:-1], 0, 0, len(piece))) for piece in pieces]
    assert [one is not None and one.data for one in given] == [piece[:-1] for piece in pieces], "they stay as they are"
    assert table.held_bytes == 0


def test_random_bytes_do_no_harm() -> None:
    source = random.Random(5)
    table = Fragments(most_bytes=50_000)
    for _ in range(20_000):
        size = source.randrange(0, 80)
        data = bytes([source.choice([0x45, 0x60, 0x4F, 0x00])]) + source.randbytes(size)
        if source.random() < 0.5 and size > 48:
            data = data[:4] + len(data).to_bytes(2, "big") + bytes([44]) + data[7:]
        table.add(Frame(data, source.randrange(0, 3), source.randrange(0, 10**10), len(data)))
        assert table.held_bytes <= 50_000


@pytest.mark.parametrize("name", ["ipip", "vxlan"])
def test_a_tunnels_packet_in_fragments_is_put_together(name: str) -> None:
    packet = in_tunnel(name, V4)
    (whole,) = put(Fragments(), *fragments(packet, 1000))
    assert plain(whole) == plain(packet)
