from __future__ import annotations

import pytest

from tests.support import mysql_packets as mysql
from tests.support.play import LOGGED_IN, START_NS, TURN_NS, C, S, play, play_whole
from workers.mysql import handshake
from workers.mysql.rules import ENCRYPTED, USED

SELECT = mysql.query(b"SELECT 1")


def test_a_login_is_reported_with_who_logged_in_and_how_it_ended() -> None:
    played = play(
        (S, mysql.greeting(version=b"8.4.1", connection_id=0xFFFFFFFE)),
        (C, mysql.login(b"app", database=b"shop", charset=mysql.LATIN1, pairs={"program_name": "till", "_pid": "7"})),
        (S, mysql.ok(sequence=2)),
    )
    (login,) = played.said
    assert (login.command, login.text, login.status) == ("connect", None, "ok")
    assert (login.database, login.charset) == (b"shop", mysql.LATIN1)
    assert login.time_ns == START_NS + TURN_NS
    assert login.latency_ns == TURN_NS
    assert login.session == played.session
    session = played.session
    assert (session.connection_id, session.server_version, session.user) == (0xFFFFFFFE, b"8.4.1", b"app")
    assert handshake.pairs(session.attributes) == {"program_name": "till", "_pid": "7"}
    assert (session.charset, session.from_start, session.encrypted, session.compressed) == (8, True, False, False)


def test_the_bytes_of_a_login_are_counted_with_their_header() -> None:
    login = mysql.login()
    assert play((S, mysql.greeting()), (C, login), (S, mysql.ok(sequence=2))).said[0].bytes_in == len(login)


def test_a_login_of_protocol_320_is_read() -> None:
    played = play((S, mysql.greeting()), (C, mysql.login_320(b"old", database=b"shop")), (S, mysql.ok(sequence=2)))
    assert (played.said[0].command, played.said[0].status, played.said[0].database) == ("connect", "ok", b"shop")
    assert (played.session.user, played.session.charset, played.session.attributes) == (b"old", 0, b"")


def test_a_greeting_of_protocol_9_gives_version_and_connection_id() -> None:
    played = play(
        (S, mysql.greeting(version=b"3.20.32", connection_id=99, protocol=9)),
        (C, mysql.login_320(b"old")),
        (S, mysql.ok(sequence=2)),
    )
    assert (played.session.server_version, played.session.connection_id) == (b"3.20.32", 99)


def test_steps_of_the_proof_are_no_answers_and_no_commands() -> None:
    played = play(
        (S, mysql.greeting()),
        (C, mysql.login()),
        (S, mysql.packet(2, b"\xfecaching_sha2_password\0" + bytes(21))),  # AuthSwitchRequest
        (C, mysql.packet(3, b"\x03SELECT 'no'" + bytes(20))),  # AuthSwitchResponse: any bytes
        (S, mysql.packet(4, b"\x01\x04")),  # AuthMoreData: perform full authentication
        (C, mysql.packet(5, b"\x02")),
        (S, mysql.ok(sequence=6)),
        (C, SELECT),
        (S, mysql.result()),
    )
    assert played.summary() == [("connect", None, "ok"), ("query", b"SELECT 1", "result")]
    assert played.said[0].latency_ns == TURN_NS, "to the first byte of the answer"
    assert played.desyncs == 0


def test_a_refused_login_carries_the_error() -> None:
    played = play(
        (S, mysql.greeting()),
        (C, mysql.login(b"mallory")),
        (S, mysql.error(1045, b"Access denied for user 'mallory'", b"28000", sequence=2)),
    )
    assert played.summary() == [("connect", None, "error")]
    assert played.said[0].error == (1045, b"28000", b"Access denied for user 'mallory'")
    assert played.session.user == b"mallory"


def test_a_client_turned_away_before_the_login_is_reported() -> None:
    played = play((S, mysql.error(1040, b"Too many connections", None, sequence=0)))
    assert played.summary() == [("connect", None, "error")]
    assert played.said[0].error == (1040, b"", b"Too many connections")
    assert played.said[0].session.user is None


def test_a_refusal_before_the_login_that_is_cut_short_is_nothing() -> None:
    played = play((S, mysql.packet(0, b"\xff\x10") + b"\0\0\0\0"))
    assert played.said == []


def test_a_login_that_was_never_answered_has_no_status() -> None:
    assert play((S, mysql.greeting()), (C, mysql.login())).summary() == [("connect", None, "unknown")]


def test_a_login_whose_answer_was_missed_is_over_with_the_first_command() -> None:
    played = play((S, mysql.greeting()), (C, mysql.login()), (C, SELECT), (S, mysql.result()))
    assert played.summary()[-1][:2] == ("query", b"SELECT 1")


def test_after_a_request_for_tls_nothing_is_read() -> None:
    played = play(
        (S, mysql.greeting()),
        (C, mysql.ssl_request()),
        (C, b"\x16\x03\x01\x00\x05hello"),
        (S, b"\x16\x03\x03\x00\x05hello"),
        (C, SELECT),
    )
    assert played.said == []
    assert played.session.encrypted
    assert played.returned == (USED, ENCRYPTED, ENCRYPTED, ENCRYPTED, ENCRYPTED)
    assert played.desyncs == 0


@pytest.mark.parametrize("capability", [mysql.COMPRESS, mysql.ZSTD])
def test_a_login_that_agrees_on_compression_is_recognised(capability: int) -> None:
    played = play_whole(
        (S, mysql.greeting(capabilities=0xFFFFFFFF)),
        (C, mysql.login(capabilities=mysql.CLIENT_CAPABILITIES | capability)),
        (S, mysql.ok(sequence=2)),
    )
    assert played.said[0].status == "ok"
    assert played.session.compressed


@pytest.mark.parametrize("capability", [mysql.COMPRESS, mysql.ZSTD])
def test_compression_that_the_server_does_not_offer_is_not_used(capability: int) -> None:
    played = play(
        (S, mysql.greeting()),
        (C, mysql.login(capabilities=mysql.CLIENT_CAPABILITIES | capability)),
        (S, mysql.ok(sequence=2)),
        (C, SELECT),
        (S, mysql.result()),
    )
    assert not played.session.compressed
    assert played.summary()[1] == ("query", b"SELECT 1", "result")


def test_a_login_that_was_not_captured_does_not_hide_the_commands() -> None:
    played = play((S, mysql.greeting()), (C, SELECT), (S, mysql.result()))
    assert played.summary() == [("query", b"SELECT 1", "result")]
    assert played.session.user is None
    assert played.session.connection_id == 7


@pytest.mark.parametrize(
    "damaged",
    [
        pytest.param(mysql.packet(1, b"\x85\xa6"), id="only the capabilities"),
        pytest.param(mysql.packet(1, mysql.login()[4:39]), id="cut in the user name"),
        pytest.param(mysql.packet(1, b""), id="nothing"),
    ],
)
def test_a_login_that_cannot_be_read_puts_the_stream_out_of_step_until_a_command(damaged: bytes) -> None:
    played = play_whole((S, mysql.greeting()), (C, damaged), (C, SELECT), (S, mysql.result()))
    assert played.desyncs == 1
    assert played.summary() == [("query", b"SELECT 1", "result")]


@pytest.mark.parametrize(
    "damaged",
    [
        pytest.param(mysql.login(pairs={"a": "b"})[4:-2], id="attributes leave the packet"),
        pytest.param(mysql.login(proof=bytes(200))[4:-190], id="proof leaves the packet"),
        pytest.param(
            mysql.login(capabilities=mysql.PROTOCOL_41 | mysql.PLUGIN_AUTH_LENENC)[4:-15],
            id="counted proof leaves the packet",
        ),
    ],
)
def test_a_login_that_is_damaged_behind_the_user_tells_who_was_refused(damaged: bytes) -> None:
    refusal = mysql.error(1043, b"Bad handshake", b"08S01", sequence=2)
    played = play((S, mysql.greeting()), (C, mysql.packet(1, damaged)), (S, refusal))
    assert played.summary() == [("connect", None, "error")]
    assert played.session.user == b"app"


def test_a_greeting_that_cannot_be_read_leaves_the_session_unknown() -> None:
    played = play((S, mysql.packet(0, b"\x0b9.9.9\0" + bytes(40))), (C, mysql.login()), (S, mysql.ok(sequence=2)))
    assert played.session.server_version is None
    assert played.summary() == [("connect", None, "ok")]


def test_what_the_server_says_before_it_greets_with_another_sequence_id_is_nothing() -> None:
    played = play((S, mysql.packet(3, b"\x0a8.0.36\0" + bytes(40))))
    assert played.session.server_version is None


# --- COM_CHANGE_USER


def test_change_user_begins_a_session_of_the_same_connection() -> None:
    played = play(
        (S, mysql.greeting()),
        (C, mysql.login(pairs={})),
        (S, mysql.ok(sequence=2)),
        (C, mysql.query(b"SELECT 'as app'")),
        (S, mysql.result()),
        (C, mysql.change_user(b"root", database=b"mysql", charset=mysql.LATIN1, pairs={"program_name": "x"})),
        (S, mysql.ok(sequence=1)),
        (C, mysql.query(b"SELECT 'as root'")),
        (S, mysql.result()),
    )
    _, before, change, after = played.said
    assert (before.session.user, before.session.charset, before.database) == (b"app", mysql.UTF8MB4, None)
    assert (change.command, change.status, change.database, change.charset) == ("change_user", "ok", b"mysql", 8)
    assert (after.text, after.status, after.database, after.charset) == (b"SELECT 'as root'", "result", b"mysql", 8)
    assert after.session == change.session == played.session
    assert played.session.user == b"root"
    assert (played.session.connection_id, played.session.server_version) == (7, b"8.0.36")
    assert played.session.from_start
    assert handshake.pairs(played.session.attributes) == {"program_name": "x"}


def test_a_nul_inside_the_proof_of_change_user_does_not_move_the_database() -> None:
    (change,) = play(
        *LOGGED_IN, (C, mysql.change_user(b"root", proof=b"\0pro\0of\0", database=b"shop")), (S, mysql.ok())
    ).said[1:]
    assert change.database == b"shop"


def test_change_user_may_go_through_an_auth_switch() -> None:
    played = play(
        *LOGGED_IN,
        (C, mysql.change_user(b"root")),
        (S, mysql.packet(1, b"\xfemysql_native_password\0" + bytes(21))),
        (C, mysql.packet(2, bytes(20))),
        (S, mysql.ok(sequence=3)),
        (C, SELECT),
        (S, mysql.result()),
    )
    assert played.summary()[1:] == [("change_user", None, "ok"), ("query", b"SELECT 1", "result")]
    assert played.desyncs == 0


def test_a_refused_change_user_carries_the_error() -> None:
    (change,) = play(
        *LOGGED_IN, (C, mysql.change_user(b"root")), (S, mysql.error(1045, b"Access denied", b"28000"))
    ).said[1:]
    assert (change.status, change.error[0]) == ("error", 1045)


def test_change_user_that_cannot_be_read_is_not_counted_as_decoded() -> None:
    played = play_whole(*LOGGED_IN, (C, mysql.command(0x11, b"root\0\x14short")), (C, SELECT), (S, mysql.result()))
    assert played.summary()[1:] == [("query", b"SELECT 1", "result")]
    assert played.desyncs == 1


def test_change_user_forgets_prepared_statements() -> None:
    played = play(
        *LOGGED_IN,
        (C, mysql.prepare(b"SELECT 2")),
        (S, mysql.prepare_ok(1, 0)),
        (C, mysql.change_user(b"root")),
        (S, mysql.ok()),
        (C, mysql.execute(1)),
        (S, mysql.error(1243, b"Unknown prepared statement handler")),
    )
    assert played.said[-1].text is None
