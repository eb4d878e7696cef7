from __future__ import annotations

import pytest

from tests.support import mysql_packets as mysql
from tests.support.play import LOGGED_IN, START_NS, TURN_NS, C, S, Step, after_login, play, play_whole
from workers.mysql import phases
from workers.mysql.rules import UNMATCHED, USED

SELECT = mysql.query(b"SELECT 1")
ORDINARY = [
    command
    for command in phases.COMMANDS
    if command.recorded and not command.name.startswith("stmt_") and command.name != "change_user"
]


@pytest.mark.parametrize("command", ORDINARY, ids=lambda command: command.name)
def test_each_command_is_reported_by_its_name(command: phases.Command) -> None:
    answer = ((S, mysql.ok(3)),) if command.answered else ()
    said = after_login((C, mysql.command(command.number, b"argument")), *answer)
    assert [(one.command, one.text) for one in said] == [(command.name, b"argument" if command.text else None)]
    assert said[0].bytes_in == 4 + 1 + len(b"argument")
    assert said[0].text_length == (8 if command.text else 0)
    assert said[0].status in ({"ok", "result"} if command.answered else {"unknown"})


def test_an_ok_gives_rows_insert_id_warnings_and_latency() -> None:
    (update,) = after_login((C, mysql.query(b"UPDATE t SET a=1")), (S, mysql.ok(70_000, 1 << 63, 0xFFFF)))
    assert (update.command, update.text, update.status) == ("query", b"UPDATE t SET a=1", "ok")
    assert (update.affected_rows, update.last_insert_id, update.warnings) == (70_000, 1 << 63, 0xFFFF)
    assert (update.time_ns, update.latency_ns) == (START_NS + 3 * TURN_NS, TURN_NS)
    assert update.flags == frozenset()
    assert update.charset == mysql.UTF8MB4


def test_an_error_gives_number_sqlstate_and_message() -> None:
    (failed,) = after_login((C, mysql.query(b"SELEC 1")), (S, mysql.error(1064, b"You have an error", b"42000")))
    assert (failed.status, failed.error) == ("error", (1064, b"42000", b"You have an error"))


def test_rows_make_a_result() -> None:
    (select,) = after_login((C, SELECT), (S, mysql.result(300)))
    assert select.status == "result"


def test_text_may_be_empty_and_may_hold_any_byte() -> None:
    every = bytes(range(256))
    said = after_login((C, mysql.query(b"")), (S, mysql.error(1065, b"Query was empty")), (C, mysql.query(every)))
    assert [one.text for one in said] == [b"", every]


def test_quit_is_reported_and_expects_no_answer() -> None:
    (quitting,) = after_login((C, mysql.command(1)))
    assert (quitting.command, quitting.status) == ("quit", "unknown")


# --- the database


@pytest.mark.parametrize(
    "moving",
    [
        mysql.command(2, b"shop"),
        mysql.query(b"USE shop"),
        mysql.query(b" \t\r\nuse\n`shop` ; "),
        mysql.query(b"Use shop;"),
    ],
    ids=repr,
)
def test_the_database_moves_when_the_server_says_ok(moving: bytes) -> None:
    move, select = after_login((C, moving), (S, mysql.ok()), (C, SELECT), (S, mysql.result()))
    assert (move.database, select.database) == (None, b"shop")


@pytest.mark.parametrize("moving", [mysql.command(2, b"shop"), mysql.query(b"USE shop")], ids=["init_db", "use"])
def test_the_database_stays_when_the_move_failed(moving: bytes) -> None:
    _, select = after_login((C, moving), (S, mysql.error(1049, b"Unknown database")), (C, SELECT), (S, mysql.result()))
    assert select.database is None


@pytest.mark.parametrize("moving", [mysql.command(2, b"shop"), mysql.query(b"USE shop")], ids=["init_db", "use"])
def test_the_database_moves_when_no_answer_is_waited_for(moving: bytes) -> None:
    _, select = after_login((C, moving), (C, SELECT), answers=False)
    assert select.database == b"shop"


def test_the_database_of_the_login_holds_until_it_moves() -> None:
    said = play(
        (S, mysql.greeting()),
        (C, mysql.login(database=b"first")),
        (S, mysql.ok(sequence=2)),
        (C, SELECT),
        (S, mysql.result()),
        (C, mysql.command(2, b"second")),
        (S, mysql.ok()),
        (C, SELECT),
        (S, mysql.result()),
    ).said
    assert [one.database for one in said] == [b"first", b"first", b"first", b"second"]


def test_a_move_holds_for_commands_sent_ahead() -> None:
    said = after_login(
        (C, mysql.query(b"USE one")), (C, SELECT), (C, mysql.query(b"USE two")), (C, SELECT), *[(S, mysql.ok())] * 4
    )
    assert [one.database for one in said] == [None, b"one", b"one", b"two"]


def test_text_that_only_resembles_use_moves_nothing() -> None:
    for text in (
        b"USER shop",
        b"SELECT 'use shop'",
        b"use",
        b"use a b",
        b"use `shop",
        b"update shop set a=1",
        b"usewhat",
    ):
        _, select = after_login((C, mysql.query(text)), (S, mysql.ok()), (C, SELECT), (S, mysql.result()))
        assert select.database is None, text


# --- query attributes


WITH_ATTRIBUTES: tuple[Step, ...] = (
    (S, mysql.greeting()),
    (C, mysql.login(capabilities=mysql.CLIENT_CAPABILITIES | mysql.QUERY_ATTRIBUTES)),
    (S, mysql.ok(sequence=2)),
)


def test_text_is_found_behind_query_attributes() -> None:
    values = [
        mysql.Bound(mysql.STRING, mysql.counted(b"v" * 300), name=b"traceparent"),
        mysql.Bound(mysql.LONGLONG, bytes(8), name=b"n" * 251),
        mysql.Bound(mysql.STRING, None, name=b"null"),
        mysql.Bound(mysql.DATETIME, b"\x04\xe8\x07\x02\x1d", name=b""),
        mysql.Bound(mysql.DOUBLE, bytes(8)),
        mysql.Bound(mysql.NULL, None),
        mysql.Bound(mysql.TINY, b"\x01"),
        mysql.Bound(mysql.SHORT, b"\x01\0"),
        mysql.Bound(mysql.FLOAT, b"\x01\0\0\0"),
    ]
    for count in range(len(values) + 1):
        sent = mysql.query_with_attributes(b"SELECT 1", values[:count])
        assert play(*WITH_ATTRIBUTES, (C, sent), (S, mysql.result())).texts()[1:] == [b"SELECT 1"], count
        assert play_whole((C, sent), (S, mysql.result()), from_start=False).texts() == [b"SELECT 1"], count


def test_text_without_query_attributes_is_left_alone_where_the_server_does_not_offer_them() -> None:
    played = play(
        (S, mysql.greeting(capabilities=mysql.SERVER_CAPABILITIES & ~mysql.QUERY_ATTRIBUTES)),
        (C, mysql.login(capabilities=mysql.CLIENT_CAPABILITIES | mysql.QUERY_ATTRIBUTES)),
        (S, mysql.ok(sequence=2)),
        (C, mysql.query(b"\0\x01SELECT 1")),
    )
    assert played.texts()[1:] == [b"\0\x01SELECT 1"]


@pytest.mark.parametrize(
    "damaged",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\xff\x01SELECT 1", id="no count"),
        pytest.param(b"\x01\xff\0\x01", id="no count of sets"),
        pytest.param(b"\xfd\x00\x00\x01\x01SELECT", id="too many"),
        pytest.param(b"\x01\x01\x00\x00SELECT", id="no types"),
        pytest.param(b"\x01\x01\x00\x01\x08\x00\x00\x01", id="value leaves the packet"),
        pytest.param(b"\x01\x01\x00\x01\xfe\x00\x00\xff", id="value without its length"),
        pytest.param(b"\x01\x01\x00\x01\xfe\x00\x05ab", id="name leaves the packet"),
    ],
)
def test_query_attributes_that_cannot_be_read_are_not_counted_as_a_statement(damaged: bytes) -> None:
    script = ((C, mysql.command(3, damaged)), (C, mysql.query_with_attributes(b"SELECT 1")), (S, mysql.result()))
    assert play_whole(*WITH_ATTRIBUTES, *script).texts()[1:] == [b"SELECT 1"]


def test_a_long_text_behind_query_attributes_is_found_by_who_joined_late() -> None:
    text = b"SELECT '" + b"x" * 3000 + b"'"
    sent = mysql.query_with_attributes(text)
    assert play_whole((C, sent[:1448]), (C, sent[1448:]), from_start=False).texts() == [text]


# --- which answer belongs to which command


def test_commands_sent_ahead_get_their_answers_in_order() -> None:
    said = after_login(
        (C, mysql.query(b"SELECT 1")),
        (C, mysql.query(b"BAD")),
        (C, mysql.query(b"UPDATE 3")),
        (S, mysql.result()),
        (S, mysql.error(1064, b"bad")),
        (S, mysql.ok(3)),
    )
    assert [(one.text, one.status) for one in said] == [
        (b"SELECT 1", "result"),
        (b"BAD", "error"),
        (b"UPDATE 3", "ok"),
    ]
    assert [one.latency_ns for one in said] == [TURN_NS] * 3


def test_an_answer_that_was_missed_is_not_taken_from_the_next_command() -> None:
    missed, answered = after_login(
        (C, mysql.query(b"SELECT 'missed'")),
        (S, b"\x09\0\0\x05row data of the answer"),
        (C, mysql.query(b"UPDATE 2")),
        (S, mysql.ok(2)),
    )
    assert (missed.text, missed.status, missed.latency_ns) == (b"SELECT 'missed'", "unknown", -1)
    assert (answered.text, answered.status, answered.affected_rows) == (b"UPDATE 2", "ok", 2)


def test_what_the_server_sends_without_being_asked_matches_nothing() -> None:
    played = play(
        *LOGGED_IN, (S, mysql.ok()), (C, SELECT), (S, mysql.ok(sequence=2)), (S, mysql.result()), (S, mysql.ok())
    )
    assert played.summary()[1:] == [("query", b"SELECT 1", "result")]
    assert played.returned[3:] == (UNMATCHED, USED, UNMATCHED, USED, UNMATCHED)


@pytest.mark.parametrize(
    "chance",
    [
        pytest.param(b"\x01\0\0\x01", id="a header alone"),
        pytest.param(b"\x07\0\0\x01\0", id="an OK that is cut behind its first byte"),
        pytest.param(mysql.packet(1, b"\0\xfe\x01"), id="an OK that ends inside a number"),
        pytest.param(mysql.packet(1, b"\xff\x01"), id="an error that ends inside its number"),
        pytest.param(mysql.packet(1, b"\0\x01\xfc\x01"), id="an OK that ends inside its second number"),
    ],
)
def test_a_chance_hit_leaves_the_command_waiting_as_it_was(chance: bytes) -> None:
    (select,) = after_login((C, SELECT), (S, chance), (S, mysql.result()))
    assert (select.status, select.affected_rows, select.error) == ("result", 0, (0, b"", b""))
    (waiting,) = after_login((C, SELECT), (S, chance))
    assert (waiting.status, waiting.affected_rows, waiting.latency_ns) == ("unknown", 0, -1)


def test_an_eof_ends_a_command_with_its_warnings() -> None:
    (option,) = after_login((C, mysql.command(0x1B, b"\0\0")), (S, mysql.eof(5)))
    assert (option.status, option.warnings) == ("ok", 5)


def test_an_answer_before_its_command_by_the_clock_has_latency_0() -> None:
    from workers.mysql.conversation import MySQLConversation
    from workers.mysql.events import Outbox
    from workers.mysql.framing import Allowance
    from workers.mysql.rules import Rules

    outbox = Outbox()
    conversation = MySQLConversation(outbox, Rules(1000, True, Allowance(1000)), b"", False)
    conversation.client(SELECT, 0, len(SELECT), 2000, 1)
    conversation.server(mysql.ok(), 0, len(mysql.ok()), 1000)
    assert outbox.finished[0].latency_ns == 0


def test_without_answers_statements_are_reported_at_once_and_without_status() -> None:
    said = after_login((C, SELECT), (S, mysql.result()), (C, mysql.query(b"SELECT 2")), answers=False)
    assert [(one.text, one.status, one.latency_ns) for one in said] == [
        (b"SELECT 1", "unknown", -1),
        (b"SELECT 2", "unknown", -1),
    ]


def test_without_answers_the_login_still_has_its_own() -> None:
    played = play(*LOGGED_IN, answers=False)
    assert played.summary() == [("connect", None, "ok")]


def test_a_client_that_sends_far_ahead_does_not_make_more_and_more_wait() -> None:
    script = [(C, mysql.query(b"SELECT %d" % number)) for number in range(100)]
    said = after_login(*script, (S, mysql.result()))
    assert [one.text for one in said] == [b"SELECT %d" % number for number in range(100)]
    assert sum(one.status == "result" for one in said) == 1


def test_a_long_command_is_answered_with_the_sequence_id_behind_its_last_packet() -> None:
    text = b"SELECT '" + bytes(mysql.MAX_PACKET) + b"'"
    (select,) = after_login((C, mysql.query(text)), (S, mysql.result(sequence=2)))
    assert select.text == text
    assert select.status == "result"


# --- LOAD DATA LOCAL


@pytest.mark.parametrize(
    "text", [b"LOAD DATA LOCAL INFILE '/tmp/rows' INTO TABLE t", b"/* it */ load data local infile 'x'"]
)
def test_the_bytes_of_a_file_are_never_taken_for_commands(text: bytes) -> None:
    load, select = after_login(
        (C, mysql.query(text)),
        (S, mysql.local_infile()),
        (C, mysql.packet(2, b"\x03DROP TABLE t") + mysql.packet(3, b"\x01") + mysql.packet(4, b"")),
        (S, mysql.ok(1000, sequence=5)),
        (C, SELECT),
        (S, mysql.result()),
    )
    assert load.text == text
    assert (select.text, select.status) == (b"SELECT 1", "result")


def test_a_loaded_file_is_answered_for_when_it_is_all_there() -> None:
    (load,) = after_login(
        (C, mysql.query(b"LOAD DATA LOCAL INFILE 'x' INTO TABLE t")),
        (S, mysql.local_infile()),
        (C, mysql.packet(2, b"1\n2\n") + mysql.packet(3, b"")),
        (S, mysql.ok(2, sequence=4)),
    )
    assert (load.status, load.affected_rows) == ("ok", 2)


def test_a_file_that_could_not_be_loaded_fails_the_statement() -> None:
    (load,) = after_login(
        (C, mysql.query(b"LOAD DATA LOCAL INFILE 'x' INTO TABLE t")),
        (S, mysql.local_infile()),
        (C, mysql.packet(2, b"1\n2\n") + mysql.packet(3, b"")),
        (S, mysql.error(1062, b"Duplicate entry", sequence=4)),
    )
    assert (load.status, load.error[0]) == ("error", 1062)


def test_a_file_of_many_packets_lets_the_sequence_id_wrap() -> None:
    pieces = b"".join(mysql.packet(number & 0xFF, b"row\n") for number in range(2, 402)) + mysql.packet(402 & 0xFF, b"")
    said = after_login(
        (C, mysql.query(b"LOAD DATA LOCAL INFILE 'x' INTO TABLE t")),
        (S, mysql.local_infile()),
        (C, pieces),
        (S, mysql.ok(400, sequence=403 & 0xFF)),
        (C, SELECT),
        (S, mysql.result()),
    )
    assert [one.text for one in said] == [b"LOAD DATA LOCAL INFILE 'x' INTO TABLE t", b"SELECT 1"]


@pytest.mark.parametrize("answers", [True, False])
def test_commands_behind_a_file_whose_sequence_ids_end_at_255_are_read(answers: bool) -> None:
    pieces = b"".join(mysql.packet(number, b"row\n") for number in range(2, 255)) + mysql.packet(255, b"")
    said = after_login(
        (C, mysql.query(b"LOAD DATA LOCAL INFILE 'x' INTO TABLE t")),
        (S, mysql.local_infile()),
        (C, pieces),
        (S, mysql.ok(253, sequence=0)),
        (C, SELECT),
        (S, mysql.result()),
        (C, mysql.query(b"SELECT 2")),
        (S, mysql.result()),
        answers=answers,
    )
    assert [one.text for one in said[1:]] == [b"SELECT 1", b"SELECT 2"]
    assert [one.status for one in said] == (["ok", "result", "result"] if answers else ["unknown"] * 3)


def test_a_file_that_nobody_asked_for_matches_nothing() -> None:
    (select,) = after_login((C, SELECT), (S, mysql.local_infile()))
    assert select.status == "unknown"


@pytest.mark.parametrize("pattern", [b"", b"%"])
def test_the_text_of_a_field_list_is_the_tables_name(pattern: bytes) -> None:
    (said,) = after_login((C, mysql.command(4, b"orders\0" + pattern)), (S, mysql.eof()))
    assert (said.command, said.text, said.text_length) == ("field_list", b"orders", 6)


def test_a_field_list_without_its_nul_is_the_name_alone() -> None:
    (said,) = after_login((C, mysql.command(4, b"orders")), (S, mysql.eof()))
    assert said.text == b"orders"
