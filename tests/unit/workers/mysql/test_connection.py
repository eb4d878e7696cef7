"""What carries a conversation: PROXY headers, compression, TLS."""

from __future__ import annotations

import struct
import zlib

import pytest
import zstandard

from tests.support import mysql_packets as mysql
from tests.support.play import ENDS, LOGGED_IN, MIB, START_NS, C, S, Step, play
from workers.mysql.connection import Connection
from workers.mysql.events import AFTER_GAP, TRUNCATED, Outbox
from workers.mysql.framing import Allowance
from workers.mysql.rules import COMPRESSED, DESYNC, ENCRYPTED, USED, Rules

PROXY_1 = b"PROXY TCP4 192.168.0.1 10.0.0.2 56324 3306\r\n"
PROXY_2 = b"\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c" + struct.pack("!IIHH", 0xC0A80001, 0x0A000002, 56324, 3306)
LOCAL = b"\r\n\r\n\x00\r\nQUIT\n\x20\x00\x00\x00"
PROXIED = struct.pack("<QQH", 0, 0xFFFF_C0A8_0001, 56324) + ENDS[18:]
TEXT = b"SELECT 'compress me, compress me, compress me, compress me'"

COMPRESSING = mysql.CLIENT_CAPABILITIES | mysql.COMPRESS
GREETING = mysql.greeting(capabilities=mysql.SERVER_CAPABILITIES | mysql.COMPRESS | mysql.ZSTD)


def frame(plain: bytes, sequence: int = 0, form: str = "zlib") -> bytes:
    """page_protocol_basic_compression_packet."""
    body, length = plain, len(plain)
    if form == "zlib":
        body = zlib.compress(plain)
    elif form == "zstd":
        body = zstandard.compress(plain)
    else:
        length = 0
    return len(body).to_bytes(3, "little") + bytes((sequence,)) + length.to_bytes(3, "little") + body


def connection(*, answers: bool = True, from_start: bool = False) -> tuple[Connection, Outbox]:
    outbox = Outbox()
    return Connection(outbox, Rules(MIB, answers, Allowance(4 * MIB)), ENDS, from_start), outbox


def client(to: Connection, data: bytes, acknowledgment: int = 1) -> int:
    return to.client(data, 0, len(data), START_NS, acknowledgment)


def server(to: Connection, data: bytes) -> int:
    return to.server(data, 0, len(data), START_NS)


def texts(outbox: Outbox) -> list[bytes | None]:
    return [each.text for each in outbox.finished if each.command < 0x100]


@pytest.mark.parametrize("header", [PROXY_1, PROXY_2])
def test_behind_a_proxy_header_the_client_is_the_one_it_names(header: bytes) -> None:
    script: list[Step] = [(C, header), *LOGGED_IN, (C, mysql.query(b"SELECT 1")), (S, mysql.ok())]
    for each in play(*script).said:
        assert each.session.ends == PROXIED


def test_a_proxy_header_may_come_with_the_login() -> None:
    said = play((S, mysql.greeting()), (C, PROXY_2 + mysql.login()), (S, mysql.ok(sequence=2))).said
    assert [(each.command, each.session.ends) for each in said] == [("connect", PROXIED)]


def test_a_proxy_header_that_names_nobody_leaves_the_client_as_it_is() -> None:
    said = play((C, LOCAL), *LOGGED_IN).said
    assert [each.session.ends for each in said] == [ENDS]


def test_a_header_that_never_ends_is_not_waited_for() -> None:
    to, outbox = connection(from_start=True)
    client(to, PROXY_2[:14] + b"\xff\xff")
    for _ in range(100):
        client(to, bytes(1000))
    assert client(to, mysql.query(b"SELECT 1")) == USED
    assert texts(outbox) == []
    to.close()
    assert texts(outbox) == [b"SELECT 1"]


@pytest.mark.parametrize("form", ["zlib", "zstd", "stored"])
def test_after_the_login_frames_are_opened_in_both_directions(form: str) -> None:
    said = play(
        (S, GREETING),
        (C, mysql.login(capabilities=COMPRESSING)),
        (S, mysql.ok(sequence=2)),
        (C, frame(mysql.query(TEXT), 0, form)),
        (S, frame(mysql.ok(affected_rows=7), 1, form)),
    ).said
    assert (said[1].text, said[1].status, said[1].affected_rows) == (TEXT, "ok", 7)


def test_a_statement_may_take_several_frames_and_a_frame_hold_several_statements() -> None:
    long = b"SELECT '" + b"x" * 70_000 + b"'"
    whole = mysql.query(long)
    said = play(
        (S, GREETING),
        (C, mysql.login(capabilities=COMPRESSING)),
        (S, mysql.ok(sequence=2)),
        (C, frame(whole[:50_000]) + frame(whole[50_000:], 1)),
        (S, frame(mysql.ok(), 2)),
        (C, frame(mysql.of_statement(0x19, 1) + mysql.query(TEXT))),
        (S, frame(mysql.ok())),
    ).said
    assert [each.text for each in said[1:] if each.text] == [long, TEXT]


def test_the_answer_to_a_command_in_several_frames_goes_on_from_the_last_of_them() -> None:
    sent = mysql.query(b"INSERT INTO t VALUES ('" + b"x" * 300 + b"')")
    played = play(
        (S, GREETING),
        (C, mysql.login(capabilities=COMPRESSING)),
        (S, mysql.ok(sequence=2)),
        (C, frame(sent[:100]) + frame(sent[100:200], 1) + frame(sent[200:], 2)),
        (S, frame(mysql.ok(5, sequence=3), 3, "stored")),
        (C, frame(mysql.query(b"SELECT 1"))),
        (S, frame(mysql.ok(6), 1, "stored")),
    )
    assert [(one.text, one.status, one.affected_rows) for one in played.said[1:]] == [
        (sent[5:], "ok", 5),
        (b"SELECT 1", "ok", 6),
    ]


def test_compression_that_one_side_alone_wants_is_not_used() -> None:
    said = play(
        (S, mysql.greeting()),  # offers none
        (C, mysql.login(capabilities=COMPRESSING)),
        (S, mysql.ok(sequence=2)),
        (C, mysql.query(TEXT)),
        (S, mysql.ok()),
    ).said
    assert said[1].text == TEXT


def test_where_the_servers_ok_is_not_seen_the_first_frame_tells_of_it() -> None:
    to, outbox = connection(answers=False, from_start=True)
    server(to, GREETING)
    client(to, mysql.login(capabilities=COMPRESSING))
    client(to, mysql.packet(3, b"proof"))
    assert client(to, frame(mysql.query(TEXT)), 2) == USED
    assert texts(outbox) == [TEXT]
    assert to.session.compressed


def test_bytes_inside_of_a_statement_in_the_clear_are_not_taken_for_a_frame() -> None:
    to, outbox = connection(answers=False, from_start=True)
    server(to, GREETING)
    client(to, mysql.login(capabilities=COMPRESSING))
    text = b"INSERT '" + frame(mysql.query(TEXT)) + b"'"
    whole = mysql.query(text)
    begin = whole.index(frame(mysql.query(TEXT)))
    client(to, whole[:begin])
    client(to, whole[begin:])
    assert texts(outbox) == [text]
    assert not to.session.compressed


def test_a_statement_that_began_in_the_clear_does_not_go_on_in_frames() -> None:
    to, outbox = connection(from_start=True)
    server(to, GREETING)
    client(to, mysql.login(capabilities=COMPRESSING))
    client(to, mysql.query(TEXT)[:-5])
    server(to, mysql.ok(sequence=2))
    client(to, frame(mysql.query(b"SELECT 2")))
    to.close()
    assert texts(outbox) == [b"SELECT 2"]


@pytest.mark.parametrize("form", ["zlib", "zstd", "stored"])
def test_compression_is_recognised_in_a_connection_joined_late(form: str) -> None:
    to, outbox = connection(answers=False)
    assert client(to, frame(mysql.query(TEXT), 0, form)) == USED
    assert client(to, frame(mysql.query(TEXT), 0, form), 2) == USED
    assert texts(outbox) == [TEXT, TEXT]
    assert to.session.compressed


def test_a_frame_that_does_not_open_costs_what_is_in_it_and_no_more() -> None:
    to, outbox = connection(answers=False)
    client(to, frame(mysql.query(TEXT)))
    damaged = bytearray(frame(mysql.query(TEXT)))
    damaged[20] ^= 0xFF
    assert client(to, bytes(damaged), 2) == COMPRESSED
    assert client(to, frame(mysql.query(b"SELECT 2")), 3) == USED
    assert texts(outbox) == [TEXT, b"SELECT 2"]


def test_after_a_gap_the_next_frame_that_can_be_trusted_is_used() -> None:
    to, outbox = connection(answers=False)
    client(to, frame(mysql.query(TEXT)))
    to.gap(1000, START_NS, 1)
    assert client(to, b"\x00\x00 the rest of a frame") == DESYNC
    assert client(to, frame(mysql.query(b"SELECT 2")), 2) == USED
    assert client(to, frame(mysql.query(b"SELECT 3")), 3) == USED
    assert texts(outbox) == [TEXT, b"SELECT 2", b"SELECT 3"]
    assert [bool(one.flags & AFTER_GAP) for one in outbox.finished] == [False, True, False]


def test_of_a_statement_that_a_gap_cuts_in_its_frames_the_beginning_is_kept_and_flagged() -> None:
    to, outbox = connection(answers=False)
    client(to, frame(mysql.query(TEXT)))
    long = mysql.query(b"SELECT '" + b"x" * 5000 + b"'")
    client(to, frame(long[:3000]), 2)
    to.gap(1000, START_NS, 1)
    client(to, frame(mysql.query(b"SELECT 2")), 3)
    assert texts(outbox) == [TEXT, long[5:3000], b"SELECT 2"]
    cut, following = outbox.finished[1:]
    assert cut.flags & (TRUNCATED | AFTER_GAP) == TRUNCATED | AFTER_GAP
    assert following.flags & (TRUNCATED | AFTER_GAP) == AFTER_GAP


def test_behind_a_request_for_tls_nothing_is_read() -> None:
    to, outbox = connection(from_start=True)
    server(to, mysql.greeting())
    client(to, mysql.ssl_request())
    assert to.session.encrypted
    assert client(to, mysql.query(TEXT)) == ENCRYPTED
    assert server(to, mysql.ok()) == ENCRYPTED
    to.gap(10, START_NS, 1)
    to.close()
    assert outbox.finished == []


def test_tls_is_recognised_in_a_connection_joined_late() -> None:
    to, outbox = connection()
    assert client(to, b"\x17\x03\x03\x00\x20" + bytes(32)) == ENCRYPTED
    assert to.session.encrypted
    assert client(to, mysql.query(TEXT)) == ENCRYPTED
    assert outbox.decoded == 0


def test_statements_of_the_same_short_text_prepared_ahead_leave_nothing_behind() -> None:
    allowance = Allowance(4 * MIB)
    to = Connection(Outbox(), Rules(MIB, True, allowance), ENDS, True)
    server(to, GREETING)
    client(to, mysql.login())
    server(to, mysql.ok(sequence=2))
    client(to, mysql.prepare(b"x") + mysql.prepare(b"x"))
    server(to, mysql.prepare_ok(1, 0))
    server(to, mysql.prepare_ok(2, 0))
    to.close()
    assert (allowance.used, allowance.remembered) == (0, 0)
