from __future__ import annotations

import hashlib

from tests.support import mysql_packets as mysql
from workers.mysql.framing import Allowance, Framing


def payloads(framing: Framing, data: bytes) -> list[bytes]:
    """All payloads that *data* completes."""
    found = []
    at = 0
    while at < len(data):
        at = framing.next(data, at, len(data))
        if framing.complete:
            found.append(framing.data[framing.begin : framing.finish])
    return found


def test_a_payload_within_one_segment_is_left_in_place() -> None:
    framing = Framing(100, Allowance(100))
    data = b"junk" + mysql.packet(7, b"hello") + b"more"
    assert framing.next(data, 4, len(data)) == 4 + 4 + 5
    assert framing.complete
    assert framing.data is data
    assert (framing.begin, framing.finish, framing.length) == (8, 13, 5)
    assert (framing.sequence, framing.last_sequence, framing.cut) == (7, 7, False)


def test_next_moves_on_by_one_payload_at_a_time() -> None:
    assert payloads(Framing(100, Allowance(100)), mysql.packet(0, b"one") + mysql.packet(1, b"")) == [b"one", b""]


def test_a_payload_in_pieces_is_put_together_and_charged_until_it_is_let_go_of() -> None:
    allowance = Allowance(100)
    framing = Framing(100, allowance)
    assert payloads(framing, b"\x05\0\0\x03he") == []
    assert framing.inside
    assert allowance.used == 2
    assert payloads(framing, b"llo") == [b"hello"]
    assert (framing.sequence, framing.length, allowance.used) == (3, 5, 5)
    framing.reset_payload()
    assert (allowance.used, framing.inside, framing.complete, framing.data) == (0, False, False, b"")


def test_sequence_ids_of_the_first_and_the_last_packet_are_known() -> None:
    framing = Framing(1 << 25, Allowance(1 << 25))
    assert payloads(framing, mysql.packets(b"x" * mysql.MAX_PACKET, 254)) == [b"x" * mysql.MAX_PACKET]
    assert (framing.sequence, framing.last_sequence, framing.length) == (254, 255, mysql.MAX_PACKET)


def test_nothing_is_kept_behind_what_was_cut_off() -> None:
    allowance = Allowance(10)
    framing = Framing(100, allowance)
    payloads(framing, b"\x10\0\0\0" + b"a" * 12)
    allowance.used -= 5  # another connection makes room
    assert payloads(framing, b"b" * 4) == [b"a" * 10]
    assert framing.cut
    assert framing.length == 16


def test_a_gap_is_bridged_inside_one_packet_only() -> None:
    framing = Framing(100, Allowance(100))
    assert not framing.gap(1)
    payloads(framing, b"\x05\0")
    assert not framing.gap(1), "inside a header"
    framing.reset()
    payloads(framing, b"\x05\0\0\0h")
    assert not framing.gap(5), "beyond the packet's end"
    assert framing.gap(2)
    assert payloads(framing, b"lo") == [b"h"]
    assert (framing.cut, framing.length) == (True, 5)


def test_a_gap_that_ends_with_its_packet_completes_the_payload() -> None:
    framing = Framing(100, Allowance(100))
    payloads(framing, b"\x05\0\0\0h")
    assert framing.gap(4)
    assert framing.complete
    assert framing.data == b"h"
    assert not framing.gap(1), "between two payloads"


def test_a_gap_that_ends_with_a_packet_of_several_does_not_complete_the_payload() -> None:
    framing = Framing(100, Allowance(100))
    payloads(framing, b"\xff\xff\xff\0h")
    assert framing.gap(mysql.MAX_PACKET - 1)
    assert not framing.complete
    assert payloads(framing, mysql.packet(1, b"rest")) == [b"h"]
    assert framing.length == mysql.MAX_PACKET + 4


def test_a_payload_that_is_given_up_is_what_there_was_of_it() -> None:
    framing = Framing(100, Allowance(100))
    assert not framing.give_up(), "nothing has begun"
    payloads(framing, b"\x05\0\0\0")
    assert not framing.give_up(), "nothing of it is there"
    payloads(framing, b"he")
    assert framing.give_up()
    assert (framing.complete, framing.cut, framing.data, framing.length) == (True, True, b"he", 5)
    assert not framing.give_up(), "it is over"
    assert payloads(framing, mysql.packet(0, b"next")) == [b"next"]


def test_a_payload_of_several_packets_is_given_up_between_them_too() -> None:
    framing = Framing(100, Allowance(100))
    payloads(framing, b"\xff\xff\xff\0" + b"h" * mysql.MAX_PACKET + b"\x05")
    assert framing.give_up()
    assert (framing.data, framing.cut) == (b"h" * 100, True)
    assert payloads(framing, mysql.packet(0, b"next")) == [b"next"]


# --- the hash of what is longer than what is kept


def hashed(framing: Framing, *segments: bytes, start: int = 2) -> bytes | None:
    """The SHA-256 of the payload that the segments bring, from its byte *start* on."""
    for segment in segments:
        at = 0
        while at < len(segment):
            at = framing.next(segment, at, len(segment))
            if framing.full and not framing.complete:
                framing.hash_from(framing.begin + start)
    assert framing.complete
    return framing.sha256(framing.begin + start)


def test_a_payload_is_hashed_kept_or_not() -> None:
    whole = bytes(range(200))
    sent = mysql.packet(0, whole)
    expected = hashlib.sha256(whole[2:]).digest()
    assert hashed(Framing(300, Allowance(300)), sent) == expected, "in place"
    assert hashed(Framing(100, Allowance(300)), sent) == expected, "in place and cut"
    for keep in (100, 199, 200, 300):
        framing = Framing(keep, Allowance(300))
        for cut in (4, 5, 103, 104, 105, 203):
            assert hashed(framing, sent[:cut], sent[cut:]) == expected, (keep, cut)
            assert (framing.finish, framing.cut) == (min(keep, 200), keep < 200)


def test_where_what_is_kept_is_full_it_stands_there_once() -> None:
    framing = Framing(4, Allowance(100))
    sent = mysql.packet(0, b"abcdefgh")
    assert framing.next(sent, 0, 6) == 6
    assert not framing.full
    assert framing.next(sent, 6, 10) == 8, "behind what is kept"
    assert (framing.full, framing.complete) == (True, False)
    assert framing.data[framing.begin : framing.finish] == b"abcd"
    assert framing.next(sent, 8, 10) == 10
    assert not framing.full
    assert framing.next(sent, 10, 12) == 12
    assert (framing.full, framing.complete, framing.length) == (False, True, 8)


def test_there_is_no_hash_that_was_not_asked_for_or_asked_for_otherwise() -> None:
    framing = Framing(4, Allowance(100))
    assert payloads(framing, b"\x08\0\0\0ab") == []
    assert payloads(framing, b"cdefgh") == [b"abcd"]
    assert framing.sha256(0) is None
    payloads(framing, mysql.packet(0, b"abcdefgh")[:-1])
    hashed(framing, mysql.packet(0, b"abcdefgh")[-1:])
    assert framing.sha256(1) is None


def test_of_what_was_lost_there_is_no_hash() -> None:
    for before, missing, after in ((b"ab", 6, b""), (b"abcdef", 1, b"h"), (b"abcdef", 2, b"")):
        framing = Framing(4, Allowance(100))
        sent = b"\x08\0\0\0" + before
        at = 0
        while at < len(sent):
            at = framing.next(sent, at, len(sent))
            if framing.full:
                framing.hash_from(0)
        assert framing.gap(missing)
        payloads(framing, after)
        assert framing.complete
        assert framing.sha256(0) is None
        assert hashed(framing, mysql.packet(0, b"next")) == hashlib.sha256(b"xt").digest()


def test_of_what_is_given_up_there_is_no_hash_even_if_all_there_was_is_kept() -> None:
    framing = Framing(1 << 25, Allowance(1 << 25))
    payloads(framing, b"\xff\xff\xff\0" + b"h" * mysql.MAX_PACKET)
    assert framing.give_up()
    assert framing.length == framing.finish == mysql.MAX_PACKET
    assert framing.sha256(0) is None


def test_a_header_in_pieces_behind_a_payload_lost_while_it_was_full_is_not_full() -> None:
    framing = Framing(4, Allowance(100))
    sent = mysql.packet(0, b"abcdefgh")
    framing.next(sent, 0, 6)
    framing.next(sent, 6, 12)
    assert framing.full
    assert framing.gap(4)
    framing.next(sent, 0, 2)
    assert not framing.full
