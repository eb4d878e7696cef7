from __future__ import annotations

import zlib

import lz4.frame  # type: ignore[import-untyped]  # nobody has written its types down
import pytest
import zstandard

from tests.support import x_packets as x
from tests.support.play import ENDS, GAP, MIB, START_NS, TURN_NS, C, S
from tests.support.x_play import LOGGED_IN, after_login, play, play_whole
from workers.mysql.events import OK as OK_STATUS
from workers.mysql.events import RESULT, Outbox
from workers.mysql.framing import Allowance
from workers.mysql.rules import COMPRESSED, DESYNC, ENCRYPTED, UNMATCHED, USED, Rules
from workers.mysqlx import phases
from workers.mysqlx.conversation import XConversation

OK = (S, x.ok())
DONE = (S, x.executed())
NAME = x.part(1, x.collection(b"c"))
REQUESTS = [
    (x.message(x.CLOSE), "x_connection_close", None),
    (x.message(x.RESET), "x_session_reset", None),
    (x.message(x.SESSION_CLOSE), "x_session_close", None),
    (x.query(b"DO 1"), "query", b"DO 1"),
    (x.query(b"DO 1", namespace=None), "query", b"DO 1"),
    (x.query(b"ping", namespace=b"mysqlx"), "x_admin", b"ping"),
    (x.find(b"c"), "x_find", b"find shop.c"),
    (x.find(b"c", schema=None), "x_find", b"find c"),
    (x.insert(b"c", b"{}"), "x_insert", b"insert shop.c"),
    (x.message(x.UPDATE, x.part(2, x.collection(b"c"))), "x_update", b"update shop.c"),
    (x.message(x.DELETE, NAME), "x_delete", b"delete shop.c"),
    (x.message(x.EXPECT_OPEN, x.number(1, 1)), "x_expect_open", None),
    (x.message(x.EXPECT_CLOSE), "x_expect_close", None),
    (x.message(x.CREATE_VIEW, NAME), "x_create_view", b"create_view shop.c"),
    (x.message(x.MODIFY_VIEW, NAME), "x_modify_view", b"modify_view shop.c"),
    (x.message(x.DROP_VIEW, NAME), "x_drop_view", b"drop_view shop.c"),
    (x.prepare(1, b"DO ?"), "x_prepare", b"DO ?"),
    (x.execute(1), "x_execute", None),
    (x.deallocate(1), "x_deallocate", None),
    (x.cursor_open(1, 1), "x_cursor_open", None),
    (x.message(x.CURSOR_CLOSE, x.number(1, 1)), "x_cursor_close", None),
    (x.message(x.CURSOR_FETCH, x.number(1, 1)), "x_cursor_fetch", None),
]


@pytest.mark.parametrize(
    ("sent", "command", "text"), REQUESTS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_each_request_is_reported_by_its_name_and_text(sent: bytes, command: str, text: bytes | None) -> None:
    effect = next(each.ends for each in phases.MESSAGES if each.number == sent[4]) == phases.EFFECT
    (said,) = after_login((C, sent), DONE if effect else OK)
    assert (said.command, said.text, said.status) == (command, text, "ok")
    assert said.bytes_in == len(sent)
    assert said.database == b"shop"


def test_an_answer_gives_rows_insert_id_warnings_and_latency() -> None:
    (said,) = after_login((C, x.query(b"INSERT")), (S, x.executed(3, 1 << 40, x.warning(), x.warning())))
    assert (said.affected_rows, said.last_insert_id, said.warnings, said.status) == (3, 1 << 40, 2, "ok")
    assert (said.time_ns, said.latency_ns) == (START_NS + 4 * TURN_NS, TURN_NS)


def test_an_error_gives_number_sqlstate_and_message() -> None:
    (said,) = after_login((C, x.query(b"SELEC")), (S, x.error(1064, b"You have an error", b"42000")))
    assert (said.status, said.error) == ("error", (1064, b"42000", b"You have an error"))


def test_rows_make_a_result_that_is_reported_before_its_end_was_seen() -> None:
    result = x.result(b"a", b"b" * 5000)
    (said,) = after_login((C, x.query(b"SELECT 1")), (S, result[:3000]), (S, result[3000:]))
    assert said.status == "result"


def test_an_answer_that_is_seen_whole_gives_its_rows_bytes_and_end() -> None:
    result, done = x.result(b"a", b"b"), x.executed(1)
    said = after_login((C, x.query(b"SELECT 1")), (S, result), (C, x.query(b"DO 1")), (S, done[:20]), (S, done[20:]))
    assert [(each.rows, each.bytes_out, each.duration_ns) for each in said] == [
        (2, len(result), TURN_NS),
        (-1, len(done), TURN_NS),
    ]


def test_of_an_answer_that_is_reported_before_its_end_rows_are_not_known() -> None:
    result = x.result(b"a", b"b")
    (said,) = after_login((C, x.query(b"SELECT 1")), (S, result[:-5]), (S, result[-5:]))
    assert (said.rows, said.bytes_out, said.duration_ns) == (-1, 0, -1)


def test_a_cursors_requests_name_the_statement_that_it_is_for() -> None:
    suspended = x.columns() + x.row(b"a") + x.message(15) + x.message(17)
    said = after_login(
        (C, x.prepare(7, b"SELECT ?")),
        OK,
        (C, x.cursor_open(3, 7, 1)),
        (S, suspended),
        (C, x.message(x.CURSOR_FETCH, x.number(1, 3) + x.number(5, 10))),
        (S, x.row(b"b") + x.message(14) + x.message(17)),
        (C, x.message(x.CURSOR_CLOSE, x.number(1, 3))),
        OK,
        (C, x.message(x.CURSOR_FETCH, x.number(1, 3))),
        (S, x.error(5111, b"Cursor not found")),
    )
    assert [(each.command, each.statement_id, each.status, each.rows) for each in said] == [
        ("x_prepare", 7, "ok", -1),
        ("x_cursor_open", 7, "result", 1),
        ("x_cursor_fetch", 7, "result", 1),
        ("x_cursor_close", 7, "ok", -1),
        ("x_cursor_fetch", 0, "error", -1),
    ]


def test_arguments_are_typed_values() -> None:
    sent = (1, -5, 2**64 - 1, "é", b"\0\xff", 1.5, None, True)
    nested: x.Nested = {"a": [1, -2, None, {"b": "c\n"}], "f": 0.5, "t": False}
    (said,) = after_login((C, x.query(b"DO ?", *sent, nested)), DONE)
    assert said.parameters == (*sent, '{"a": [1, -2, null, {"b": "c\\n"}], "f": 0.5, "t": false}')


def test_a_prepared_text_is_joined_to_executions_sent_ahead_of_its_answer() -> None:
    said = after_login(
        (C, x.prepare(7, b"SELECT ?") + x.execute(7, "a")),
        (S, x.ok() + x.result(b"a")),
        (C, x.cursor_open(1, 7, 2)),
        (S, x.result()),
        (C, x.deallocate(7)),
        OK,
        (C, x.execute(7)),
        (S, x.error(5110, b"Statement not found")),
    )
    assert [each[:4] for each in said] == [
        ("x_prepare", b"SELECT ?", "ok", None),
        ("x_execute", b"SELECT ?", "result", ("a",)),
        ("x_cursor_open", b"SELECT ?", "result", (2,)),
        ("x_deallocate", None, "ok", None),
        ("x_execute", None, "error", None),
    ]
    assert {each.statement_id for each in said} == {7}


def test_a_statement_that_could_not_be_prepared_is_not_joined() -> None:
    said = after_login(
        (C, x.prepare(1, b"SELEC")), (S, x.error(1064, b"no")), (C, x.execute(1)), (S, x.error(1, b"no"))
    )
    assert [each.text for each in said] == [b"SELEC", None]


def test_a_refused_statement_does_not_take_with_it_what_was_prepared_behind_it_under_its_id() -> None:
    said = after_login(
        (C, x.prepare(1, b"SELEC") + x.prepare(1, b"DO 2")),
        (S, x.error(1064, b"no") + x.ok()),
        (C, x.execute(1)),
        DONE,
    )
    assert [each[:3] for each in said] == [
        ("x_prepare", b"SELEC", "error"),
        ("x_prepare", b"DO 2", "ok"),
        ("x_execute", b"DO 2", "ok"),
    ]


@pytest.mark.parametrize("reset", [x.message(x.RESET), x.message(x.RESET, x.number(1, 1))], ids=["whole", "keep open"])
def test_a_reset_forgets_what_was_prepared(reset: bytes) -> None:
    said = after_login((C, x.prepare(1, b"DO 1")), OK, (C, reset), OK, (C, x.execute(1)))
    assert said[-1].text is None


def test_a_prepared_find_is_its_kind_and_collection() -> None:
    inside = x.number(1, 0) + x.part(2, x.part(2, x.collection(b"c")))
    said = after_login((C, x.message(x.PREPARE, x.number(1, 1) + x.part(2, inside))), OK, (C, x.execute(1, 5)), DONE)
    assert [each[:4] for each in said] == [
        ("x_prepare", b"find shop.c", "ok", None),
        ("x_execute", b"find shop.c", "ok", (5,)),
    ]


def test_requests_sent_ahead_are_answered_in_order() -> None:
    said = after_login(
        (C, x.query(b"INSERT 1") + x.query(b"SELECT 2") + x.find(b"c") + x.query(b"DO 4")),
        (S, x.executed(1) + x.result(b"r")),
        (S, x.error(1146, b"no such table")),
        (S, x.executed(4)),
    )
    assert [(each.status, each.affected_rows) for each in said] == [("ok", 1), ("result", 0), ("error", 0), ("ok", 4)]


def test_an_answer_of_another_kind_belongs_to_the_request_that_it_can_answer() -> None:
    said = after_login((C, x.prepare(1, b"DO 1") + x.execute(1)), (S, x.executed(2)))
    assert [each[:3] for each in said] == [("x_prepare", b"DO 1", "unknown"), ("x_execute", b"DO 1", "ok")]


def test_who_has_read_on_has_its_answer_though_it_was_not_seen() -> None:
    said = after_login((C, x.query(b"A")), (S, b"\xff" * 40), (C, x.query(b"B")), (S, x.executed(2)))
    assert [(each.text, each.status, each.affected_rows) for each in said] == [(b"A", "unknown", 0), (b"B", "ok", 2)]


def test_use_and_the_servers_word_move_to_a_database() -> None:
    said = after_login(
        (C, x.query(b"USE `other`")),
        DONE,
        (C, x.query(b"DO 1")),
        DONE,
        (C, x.query(b"/* */ use third")),
        (S, x.executed(0, 0, x.changed(1, "third"))),
        (C, x.query(b"USE nowhere")),
        (S, x.error(1049, b"Unknown database")),
        (C, x.query(b"DO 2")),
    )
    assert [each.database for each in said] == [b"shop", b"other", b"other", b"third", b"third"]


def test_global_notices_answer_nothing() -> None:
    (said,) = after_login((C, x.query(b"DO 1")), (S, x.notice(1, b"", local=False)), DONE)
    assert said.warnings == 0
    assert said.latency_ns == TURN_NS


def test_without_answers_requests_are_reported_at_once_and_texts_still_joined() -> None:
    said = after_login((C, x.prepare(1, b"DO 1") + x.execute(1)), answers=False)
    assert [each[:3] for each in said] == [("x_prepare", b"DO 1", "unknown"), ("x_execute", b"DO 1", "unknown")]


# --- the login


@pytest.mark.parametrize("mechanism", [b"MYSQL41", b"SHA256_MEMORY"])
def test_a_challenged_login_gives_user_schema_and_connection_id_and_keeps_no_proof(mechanism: bytes) -> None:
    played = play(
        (C, x.start(mechanism)), (S, x.challenge()), (C, x.proof()), (S, x.changed(11, 42) + x.authenticated())
    )
    (said,) = played.said
    assert said[:3] == ("connect", None, "ok")
    assert (said.user, said.database, said.bytes_in) == (b"app", b"shop", len(x.start(mechanism) + x.proof()))
    assert played.session.connection_id == 42


def test_a_plain_login_gives_user_and_schema_at_once() -> None:
    (said,) = play((C, x.start(b"PLAIN", b"shop\0app\0secret")), (S, x.error(1045, b"Access denied"))).said
    assert (said.user, said.database, said.status, said.error[0]) == (b"app", b"shop", "error", 1045)
    assert "secret" not in repr(said)


def test_a_login_without_schema_has_no_database() -> None:
    (said,) = play((C, x.start(b"PLAIN", b"\0app\0secret"))).said
    assert (said.user, said.database, said.status) == (b"app", None, "unknown")


@pytest.mark.parametrize("auth_data", [b"", b"no NUL", b"one\0secret", b"\0" + b"u" * 1000 + b"\0secret"])
def test_what_is_no_login_in_clear_gives_no_user(auth_data: bytes) -> None:
    (said,) = play((C, x.start(b"OTHER", auth_data)), (S, x.authenticated())).said
    assert (said.user, said.database, said.status) == (None, None, "ok")


def test_another_login_is_another_session() -> None:
    again = ((C, x.message(x.RESET)), OK, (C, x.start()), (S, x.challenge()), (C, x.proof(b"other", b"")))
    played = play(*LOGGED_IN, (C, x.query(b"DO 1")), DONE, *again, (S, x.authenticated()))
    assert [(each.command, each.user) for each in played.said] == [
        ("connect", b"app"),
        ("query", b"app"),
        ("x_session_reset", b"app"),
        ("connect", b"other"),
    ]


def test_connection_attributes_are_kept_in_the_form_of_the_classic_login() -> None:
    played = play((C, x.capabilities(session_connect_attrs={"program_name": "shop", "_pid": "7"})), OK, *LOGGED_IN)
    assert played.session.attributes == b"\x0cprogram_name\x04shop\x04_pid\x017"


# --- TLS


HELLO = b"\x16\x03\x01\x02\x05\x01" + b"\x05" * 600  # as a message: one of type 5, of 33 MiB


@pytest.mark.parametrize("answer", [(OK,), ()], ids=["granted", "answer not seen"])
def test_tls_makes_the_session_encrypted(answer: tuple[tuple[str, bytes], ...]) -> None:
    played = play(
        (C, x.message(x.CAPABILITIES_GET)), (S, x.message(2)), (C, x.capabilities(tls=True)), *answer, (C, HELLO)
    )
    assert played.session.encrypted
    assert played.said == []
    assert played.desyncs == 0
    assert ENCRYPTED in played.returned


def test_tls_that_is_refused_leaves_the_session_in_clear() -> None:
    played = play((C, x.capabilities(tls=True)), (S, x.error(5001, b"no")), *LOGGED_IN)
    assert not played.session.encrypted
    assert played.said[0].user == b"app"


def test_a_connection_joined_under_tls_is_encrypted() -> None:
    played = play_whole((C, b"\x17\x03\x03\x00\x40" + b"\xaa" * 64), from_start=False)
    assert played.session.encrypted
    assert played.returned == (ENCRYPTED,)


# --- compression


def deflated(*messages: bytes) -> list[bytes]:
    state = zlib.compressobj()
    return [x.compression(state.compress(each) + state.flush(zlib.Z_SYNC_FLUSH), len(each)) for each in messages]


def zstd(*messages: bytes) -> list[bytes]:
    state = zstandard.ZstdCompressor().compressobj()
    flush = zstandard.COMPRESSOBJ_FLUSH_BLOCK
    return [x.compression(state.compress(each) + state.flush(flush), len(each)) for each in messages]


def zstd_frames(*messages: bytes) -> list[bytes]:
    return [x.compression(zstandard.ZstdCompressor().compress(each), len(each)) for each in messages]


def lz4_frames(*messages: bytes) -> list[bytes]:
    return [x.compression(lz4.frame.compress(each), len(each)) for each in messages]


WAYS = [
    ("deflate_stream", deflated),
    ("zstd_stream", zstd),
    ("ZSTD_STREAM", zstd_frames),
    ("lz4_message", lz4_frames),
]


@pytest.mark.parametrize(("algorithm", "compress"), WAYS, ids=["deflate", "zstd", "zstd in frames", "lz4"])
def test_compressed_requests_and_answers_are_read(algorithm: str, compress: object) -> None:
    assert callable(compress)
    one, two = compress(x.query(b"INSERT " + b"x" * 90_000) + x.query(b"DO 2"), x.find(b"c"))
    first, second = compress(x.executed(1) + x.executed(2), x.result(b"r" * 2000))
    server = [answer[:4] + b"\x13" + answer[5:] for answer in (first, second)]
    negotiated = ((C, x.capabilities(compression={"algorithm": algorithm})), OK)
    played = play(*negotiated, *LOGGED_IN, (C, one), (S, server[0]), (C, two), (S, server[1]))
    assert [(each.command, each.text_length, each.status, each.affected_rows) for each in played.said[1:]] == [
        ("query", 90_007, "ok", 1),
        ("query", 4, "ok", 2),
        ("x_find", 11, "result", 0),
    ]
    assert played.session.compressed
    assert set(played.returned) == {USED}


def test_what_is_compressed_otherwise_is_counted_and_the_clear_rest_read() -> None:
    negotiated = ((C, x.capabilities(compression={"algorithm": "brotli_stream"})), OK)
    hidden = x.compression(b"\x11" * 40, 90)
    answer = x.message(x.SERVER_COMPRESSION, x.number(1, 90) + x.number(2, 11) + x.part(4, b"\x11" * 40))
    played = play_whole(
        *negotiated,
        *LOGGED_IN,
        (C, hidden),
        (S, answer + x.message(17)),
        (C, x.query(b"DO 1")),
        (S, answer + x.message(17)),
    )
    assert played.summary()[1:] == [("query", b"DO 1", "unknown")]
    assert played.session.compressed
    assert COMPRESSED in played.returned


def test_a_compressed_result_that_cannot_be_read_is_known_to_be_one() -> None:
    negotiated = ((C, x.capabilities(compression={"algorithm": "lz4_message"})), OK)
    answer = x.message(x.SERVER_COMPRESSION, x.number(1, 90) + x.number(2, 13) + x.part(4, b"\x11" * 40))
    played = play(*negotiated, *LOGGED_IN, (C, x.query(b"SELECT 1")), (S, answer + x.message(17)))
    assert played.said[1].status == "result"


def test_damage_ends_what_can_be_inflated_and_nothing_else() -> None:
    one, two = deflated(x.query(b"DO 1"), x.query(b"DO 2"))
    negotiated = ((C, x.capabilities(compression={"algorithm": "deflate_stream"})), OK)
    broken = one[:-6] + b"\xff" * 6
    played = play_whole(*negotiated, *LOGGED_IN, (C, broken), DONE, (C, two), DONE, (C, x.query(b"DO 3")), DONE)
    assert played.summary()[1:][-1] == ("query", b"DO 3", "ok")
    assert played.desyncs == 0


def test_behind_what_could_not_be_read_each_lz4_message_is_read_by_itself() -> None:
    negotiated = ((C, x.capabilities(compression={"algorithm": "lz4_message"})), OK)
    one, two, three = lz4_frames(x.query(b"DO 1"), x.query(b"DO 2"), x.executed(2))
    answered = (S, three[:4] + b"\x13" + three[5:])
    played = play_whole(*negotiated, *LOGGED_IN, (C, one[:-6] + b"\xff" * 6), DONE, (C, two), answered)
    assert [(*each[:3], each.affected_rows) for each in played.said[1:]] == [("query", b"DO 2", "ok", 2)]


def test_a_compressed_connection_that_was_joined_late_is_read_where_each_message_stands_for_itself() -> None:
    (sent,), (answer,) = lz4_frames(x.query(b"DO 1")), lz4_frames(x.executed(3))
    played = play_whole((C, sent), (S, answer[:4] + b"\x13" + answer[5:]), from_start=False)
    assert [(*each[:3], each.affected_rows) for each in played.said] == [("query", b"DO 1", "ok", 3)]


def test_what_is_compressed_twice_is_not_read() -> None:
    negotiated = ((C, x.capabilities(compression={"algorithm": "lz4_message"})), OK)
    (once,) = lz4_frames(x.query(b"DO 1"))
    (twice,) = lz4_frames(once)
    played = play_whole(*negotiated, *LOGGED_IN, (C, twice), DONE, (C, x.query(b"DO 2")), DONE)
    assert [each.text for each in played.said[1:]] == [b"DO 2"]
    assert COMPRESSED in played.returned


def test_a_message_that_inflates_beyond_all_measure_is_given_up() -> None:
    state = zlib.compressobj()
    bomb = state.compress(x.query(b" " * (80 << 20))) + state.flush(zlib.Z_SYNC_FLUSH)
    negotiated = ((C, x.capabilities(compression={"algorithm": "deflate_stream"})), OK)
    played = play_whole(*negotiated, *LOGGED_IN, (C, x.compression(bomb, 1)), (C, x.query(b"DO 1")))
    assert played.summary()[1:] == [("query", b"DO 1", "unknown")]
    assert COMPRESSED in played.returned


# --- loss and limits


def test_a_long_text_is_cut_and_its_length_known() -> None:
    text = b"SELECT '" + b"x" * 100_000 + b"'"
    (said,) = after_login((C, x.query(text, 1)), DONE, keep_bytes=1000)
    assert (said.text, said.text_length, said.status) == (text[:1000], len(text), "ok")
    assert said.flags == {"truncated"}


def test_a_gap_inside_a_text_cuts_it_and_the_next_request_is_whole() -> None:
    sent = x.query(b"SELECT '" + b"x" * 1000 + b"'")
    played = play_whole(*LOGGED_IN, (C, sent[:500]), (GAP, 100), (C, sent[600:]), DONE, (C, x.query(b"DO 2")), DONE)
    cut, whole = played.said[1:]
    assert cut.flags == {"truncated", "after_gap"}
    assert (cut.text, cut.text_length, cut.status) == (sent[8:500], 1009, "ok")
    assert (whole.text, whole.status, whole.flags) == (b"DO 2", "ok", frozenset())
    assert played.desyncs == 0


def test_behind_a_gap_between_requests_the_next_one_that_can_be_trusted_is_found() -> None:
    sent = x.query(b"DO 2")
    played = play_whole(
        *LOGGED_IN, (C, x.query(b"DO 1")), DONE, (GAP, 1000), (C, b"SELECT garbage"), (C, sent), (S, x.executed(2))
    )
    assert [each[:3] for each in played.said[1:]] == [("query", b"DO 1", "ok"), ("query", b"DO 2", "unknown")]
    assert [each.flags for each in played.said[1:]] == [frozenset(), {"after_gap"}]
    assert played.desyncs == 1
    assert DESYNC in played.returned


def test_a_connection_joined_late_is_read_from_its_next_request() -> None:
    played = play_whole((S, b"x" * 50), (C, b"ELECT 1"), (C, x.query(b"DO 2")), DONE, from_start=False)
    (said,) = played.said
    assert said[:3] == ("query", b"DO 2", "ok")
    assert said.flags == {"joined_late"}
    assert played.returned == (UNMATCHED, DESYNC, USED, USED)


def test_what_no_message_begins_with_puts_the_stream_out_of_step() -> None:
    played = play_whole(*LOGGED_IN, (C, b"GET / HTTP/1.1\r\n\r\n"), (C, x.query(b"DO 2")))
    assert (played.desyncs, played.said[-1].text) == (1, b"DO 2")


def test_a_malformed_message_is_reported_and_the_next_one_read() -> None:
    said = after_login(
        (C, x.message(x.STMT_EXECUTE, b"\x0a\xff\xff\x01x") + x.query(b"DO 2")), (S, x.error(5000, b"no"))
    )
    assert [each[:3] for each in said] == [("query", None, "error"), ("query", b"DO 2", "unknown")]


def test_what_waits_beyond_the_limit_is_reported_without_answers() -> None:
    played = play_whole(*LOGGED_IN, (C, b"".join(x.query(b"DO %d" % each) for each in range(1000))), (S, x.executed(1)))
    assert [each.text for each in played.said[1:]] == [b"DO %d" % each for each in range(1000)]
    assert {each.status for each in played.said[1:]} == {"unknown"}


def test_prepared_statements_beyond_the_allowance_are_forgotten_and_counted() -> None:
    sent = [step for each in range(40) for step in ((C, x.prepare(each, b"DO %d" % each + b" " * 1000)), OK)]
    played = play(*LOGGED_IN, *sent, (C, x.execute(0)), DONE, (C, x.execute(39)), DONE, allowance_bytes=40_000)
    assert played.forgotten_statements > 0
    assert (played.said[-2].text, played.said[-1].text) == (None, b"DO 39" + b" " * 1000)


# --- where segments of the server are missing


def conversation(sequence: int = 1000) -> tuple[XConversation, Outbox]:
    """One that is logged in; the server's next byte has that sequence number."""
    outbox = Outbox()
    made = XConversation(outbox, Rules(MIB, True, Allowance(MIB)), ENDS, True)
    for side, data in LOGGED_IN:
        assert isinstance(data, bytes)
        if side == C:
            made.client(data, 0, len(data), START_NS, 1)
        else:
            made.server(data, 0, len(data), START_NS)
    made.server(b"", 0, 0, START_NS, 0, sequence)
    outbox.finished.clear()
    return made, outbox


def say(to: XConversation, data: bytes, acknowledgment: int) -> None:
    to.client(data, 0, len(data), START_NS, acknowledgment)


def answer(to: XConversation, data: bytes, sequence: int) -> int:
    return to.server(data, 0, len(data), START_NS, 0, sequence)


def test_a_lost_answer_is_never_taken_from_the_next_request() -> None:
    made, outbox = conversation()
    say(made, x.query(b"A") + x.query(b"B"), 1000)
    first, second = x.executed(1), x.executed(2)
    answer(made, second, 1000 + len(first))
    made.close()
    assert [(each.text, each.status, each.affected_rows) for each in outbox.finished] == [(b"A", 0, 0), (b"B", 0, 0)]


def test_what_was_lost_before_a_request_was_sent_does_not_matter_to_it() -> None:
    made, outbox = conversation()
    say(made, x.query(b"SELECT 1"), 1000)
    answer(made, x.columns() + x.row(b"a" * 5000)[:1000], 1000)
    say(made, x.query(b"B"), 90_000)
    assert answer(made, x.executed(2), 90_000) == USED
    assert [(each.text, each.status, each.affected_rows) for each in outbox.finished] == [
        (b"SELECT 1", RESULT, 0),
        (b"B", OK_STATUS, 2),
    ]


def test_bytes_that_are_sent_again_are_passed_over() -> None:
    made, outbox = conversation()
    say(made, x.query(b"A") + x.query(b"B"), 1000)
    first, second = x.executed(1), x.executed(2)
    answer(made, first, 1000)
    answer(made, first + second, 1000)
    assert [(each.text, each.affected_rows) for each in outbox.finished] == [(b"A", 1), (b"B", 2)]


def test_sequence_numbers_go_on_behind_the_largest() -> None:
    made, outbox = conversation(0xFFFFFFF0)
    say(made, x.query(b"A") + x.query(b"B"), 0xFFFFFFF0)
    first = x.executed(1)
    made.server(first, 0, len(first), START_NS)
    answer(made, x.executed(2), (0xFFFFFFF0 + len(first)) & 0xFFFFFFFF)
    assert [each.affected_rows for each in outbox.finished] == [1, 2]
