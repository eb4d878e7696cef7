from __future__ import annotations

import struct

import pytest

from tests.support import mysql_packets as mysql
from tests.support.play import GAP, LOGGED_IN, C, S, play, play_whole
from workers.mysql.rules import DESYNC, ENCRYPTED, UNMATCHED, USED

SELECT = mysql.query(b"SELECT 1")
LONG = mysql.query(b"SELECT '" + b"x" * 100 + b"'")
GARBAGE = b"\x09\0\0\0\x7fgarbage!"


# --- gaps


def test_a_gap_inside_a_statement_flags_it_and_the_next_is_whole() -> None:
    played = play(*LOGGED_IN, (C, LONG[:30]), (GAP, 40), (C, LONG[70:]), (S, mysql.result()), (C, SELECT))
    cut, whole = played.said[1:]
    assert cut.text == LONG[5:30]
    assert cut.flags == {"truncated", "after_gap"}
    assert (cut.text_length, cut.bytes_in, cut.status) == (len(LONG) - 5, len(LONG), "result")
    assert cut.text_sha256 is None
    assert (whole.text, whole.flags) == (b"SELECT 1", frozenset())
    assert (played.desyncs, played.truncated) == (0, 1)


def test_a_gap_up_to_the_end_of_a_statement_ends_it() -> None:
    played = play(*LOGGED_IN, (C, LONG[:30]), (GAP, len(LONG) - 30), (S, mysql.result()), (C, SELECT))
    assert [(one.text, one.flags) for one in played.said[1:]] == [
        (LONG[5:30], {"truncated", "after_gap"}),
        (b"SELECT 1", frozenset()),
    ]


def test_two_gaps_inside_a_statement_keep_what_was_before_the_first() -> None:
    script = ((C, LONG[:30]), (GAP, 10), (C, LONG[40:60]), (GAP, 10), (C, LONG[70:]), (C, SELECT))
    played = play(*LOGGED_IN, *script)
    assert played.texts()[1:] == [LONG[5:30], b"SELECT 1"]


def test_whole_statements_between_the_same_bytes_are_lost_without_losing_step() -> None:
    played = play_whole(*LOGGED_IN, (GAP, 200), (C, SELECT), (S, mysql.result()))
    assert played.summary()[1:] == [("query", b"SELECT 1", "result")]
    assert played.desyncs == 1
    assert played.said[1].flags == {"after_gap"}


@pytest.mark.parametrize("size", [3, 4, 1000])
def test_behind_a_gap_that_swallows_the_end_of_a_statement_the_next_is_found(size: int) -> None:
    played = play_whole(*LOGGED_IN, (C, LONG[: len(LONG) - 2]), (GAP, size), (C, LONG[5:]), (C, SELECT), (C, SELECT))
    assert [(one.text, one.flags) for one in played.said[1:]] == [
        (LONG[5:-2], {"truncated", "after_gap"}),
        (b"SELECT 1", {"after_gap"}),
        (b"SELECT 1", frozenset()),
    ]
    assert played.said[1].text_length == len(LONG) - 5
    assert played.desyncs == 1


def test_a_gap_inside_a_header_loses_step_until_a_command_begins() -> None:
    played = play_whole(*LOGGED_IN, (C, LONG[:2]), (GAP, 10), (C, LONG[12:]), (C, SELECT))
    assert played.texts()[1:] == [b"SELECT 1"]


def test_a_command_of_which_nothing_is_left_is_not_reported() -> None:
    played = play_whole(*LOGGED_IN, (C, LONG[:4]), (GAP, 20), (C, LONG[24:]), (C, SELECT))
    assert played.texts()[1:] == [b"SELECT 1"]
    assert played.desyncs == 1


def test_a_gap_in_the_login_does_not_hide_the_commands() -> None:
    login = mysql.login()
    played = play_whole((S, mysql.greeting()), (GAP, len(login)), (S, mysql.ok(sequence=2)), (C, SELECT))
    assert played.summary() == [("query", b"SELECT 1", "unknown")]


def test_gaps_in_a_stream_that_is_out_of_step_or_encrypted_are_nothing_new() -> None:
    played = play_whole((GAP, 10), (C, b"\x17\x03\x03\0\x05hello"), (GAP, 10), from_start=False)
    assert (played.said, played.desyncs) == ([], 0)


# --- joining late


def test_a_connection_joined_late_is_read_from_the_first_command_on() -> None:
    played = play_whole((C, SELECT), (S, mysql.result()), (C, LONG), from_start=False)
    assert played.texts() == [b"SELECT 1", LONG[5:]]
    assert {one.flags for one in played.said} == {frozenset({"joined_late"})}
    assert not played.session.from_start
    assert played.desyncs == 0


def test_a_connection_joined_inside_a_statement_waits_for_a_beginning() -> None:
    played = play_whole((C, LONG[20:]), (S, mysql.ok()), (C, SELECT), (S, mysql.ok(1)), from_start=False)
    assert played.summary() == [("query", b"SELECT 1", "ok")]
    assert played.returned == (DESYNC, UNMATCHED, USED, USED)


def test_a_statement_of_several_segments_is_enough_to_join() -> None:
    for sql in (b"SELECT ", b"  (SELECT ", b"/* x */ ", b"-- x\n", b"# x\n", b"@", b"\ninsert "):
        text = sql + b"x" * 3000
        sent = mysql.query(text)
        assert play_whole((C, sent[:1448]), (C, sent[1448:]), from_start=False).texts() == [text], sql


def test_an_execution_of_several_segments_is_enough_to_join() -> None:
    sent = mysql.execute(9, [mysql.Bound(mysql.BLOB, mysql.counted(b"\x03" * 3000))])
    played = play_whole((C, sent[:1448]), (C, sent[1448:]), (S, mysql.ok(1)), from_start=False)
    assert [(one.command, one.statement_id, one.status) for one in played.said] == [("stmt_execute", 9, "ok")]


@pytest.mark.parametrize("damage", [(9, b"\x10"), (10, b"\x02"), (13, b"\x01")])
def test_what_only_begins_as_an_execution_is_none_to_join_at(damage: tuple[int, bytes]) -> None:
    sent = bytearray(mysql.execute(9, [mysql.Bound(mysql.BLOB, mysql.counted(b"x" * 3000))]))
    at, byte = damage
    sent[at : at + 1] = byte
    assert play_whole((C, bytes(sent[:1448])), (C, bytes(sent[1448:])), from_start=False).said == []
    assert play_whole((C, bytes(sent[:13])), from_start=False).returned == (DESYNC,), "too short to tell"


def test_a_login_seen_by_who_missed_the_greeting_is_read() -> None:
    played = play_whole(
        (C, mysql.login(b"app", pairs={"program_name": "till"})),
        (S, mysql.ok(sequence=2)),
        (C, SELECT),
        (S, mysql.result()),
        from_start=False,
    )
    assert played.summary() == [("connect", None, "ok"), ("query", b"SELECT 1", "result")]
    assert (played.session.user, played.session.connection_id) == (b"app", 0)


def test_encryption_is_recognised_late_too() -> None:
    played = play_whole((C, b"\x17\x03\x03\0\x05hello"), (C, SELECT), (S, mysql.ok()), from_start=False)
    assert played.session.encrypted
    assert played.returned == (ENCRYPTED, ENCRYPTED, ENCRYPTED)


@pytest.mark.parametrize("size", range(786, 794))
def test_a_command_whose_length_looks_like_a_tls_record_is_joined_at(size: int) -> None:
    text = b"x" * (size - 1)
    assert play_whole((C, mysql.query(text)), from_start=False).texts() == [text]


@pytest.mark.parametrize(
    "segment",
    [
        pytest.param(b"\x01\0\0", id="shorter than a header"),
        pytest.param(b"\x01\0\0\0", id="a header alone"),
        pytest.param(mysql.packet(1, b"\x03SELECT 1"), id="another sequence id"),
        pytest.param(mysql.packet(0, b"\x7fSELECT 1"), id="no such command"),
        pytest.param(b"\0\0\0\0\x03", id="an empty payload"),
        pytest.param(SELECT + b"\x01", id="a command and a rest"),
        pytest.param(b"\xff\xff\x7f\0\x0eping", id="a long command without text"),
        pytest.param(b"\x10\x10\0\0\x03\xff\xfe binary", id="text that is none"),
        pytest.param(b"\x10\x10\0\0\x03 ", id="text that is white space"),
        pytest.param(struct.pack("<I", 100) + b"\x16\0", id="text cut behind its first byte"),
    ],
)
def test_what_is_no_beginning_of_a_command_is_not_joined_at(segment: bytes) -> None:
    played = play_whole((C, segment), from_start=False)
    assert played.returned == (DESYNC,)
    assert played.said == []


def test_many_commands_in_a_segment_are_joined_at() -> None:
    played = play_whole((C, SELECT * 40), from_start=False)
    assert len(played.said) == 40


# --- out of step


@pytest.mark.parametrize(
    "segment",
    [
        pytest.param(GARBAGE, id="no such command"),
        pytest.param(mysql.packet(7, b"\x03SELECT 1"), id="another sequence id"),
        pytest.param(b"\0\0\0\0\x03SELECT", id="an empty payload"),
        pytest.param(b"\0\0\0\0", id="an empty packet"),
        pytest.param(b"\x01\0\0\0" + b"\x7f", id="a short one"),
    ],
)
def test_out_of_step_the_next_command_is_looked_for(segment: bytes) -> None:
    played = play_whole(*LOGGED_IN, (C, segment), (C, SELECT), (S, mysql.result()))
    assert played.returned[3:] == (DESYNC, USED, USED)
    assert played.summary()[1:] == [("query", b"SELECT 1", "result")]
    assert played.desyncs == 1


def test_what_was_sent_before_the_stream_got_out_of_step_is_reported() -> None:
    played = play_whole(*LOGGED_IN, (C, SELECT + GARBAGE), (S, mysql.result()), (C, LONG))
    assert played.summary()[1:] == [("query", b"SELECT 1", "result"), ("query", LONG[5:], "unknown")]


def test_garbage_cut_inside_its_header_is_found_out_when_it_is_whole() -> None:
    played = play_whole(*LOGGED_IN, (C, GARBAGE[:3]), (C, GARBAGE[3:]), (C, SELECT))
    assert played.texts()[1:] == [b"SELECT 1"]
    assert played.desyncs == 1


def test_a_payload_of_another_sequence_id_cut_inside_its_header_is_found_out() -> None:
    odd = mysql.packet(7, b"\x03SELECT 1")
    played = play_whole(*LOGGED_IN, (C, odd[:3]), (C, odd[3:]), (C, SELECT))
    assert played.texts()[1:] == [b"SELECT 1"]
    assert played.desyncs == 1


def test_encryption_that_begins_out_of_step_is_recognised() -> None:
    played = play_whole(*LOGGED_IN, (C, GARBAGE), (C, b"\x16\x03\x01\0\x05hello"))
    assert played.returned[-1] == ENCRYPTED


def test_segments_of_the_server_that_are_too_short_match_nothing() -> None:
    played = play_whole(*LOGGED_IN, (C, SELECT), (S, b"\x01\0\0\x01"))
    assert played.returned[-1] == UNMATCHED
