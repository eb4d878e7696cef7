from __future__ import annotations

import hashlib

import pytest

from tests.support import mysql_packets as mysql
from tests.support.mysql_packets import MAX_PACKET, Bound
from tests.support.play import LOGGED_IN, C, S, after_login, play, play_whole
from workers.mysql.connection import Connection
from workers.mysql.events import TRUNCATED, Outbox
from workers.mysql.framing import Allowance
from workers.mysql.rules import Rules
from workers.mysql.statements import MOST_STATEMENTS

SELECT = mysql.query(b"SELECT 1")


def sha256(text: bytes) -> bytes:
    return hashlib.sha256(text).digest()


@pytest.mark.parametrize("size", [MAX_PACKET - 2, MAX_PACKET - 1, MAX_PACKET, 2 * MAX_PACKET - 1, 2 * MAX_PACKET + 5])
def test_a_statement_of_16_mib_and_more_comes_in_several_packets(size: int) -> None:
    text = b"SELECT '" + b"x" * (size - 9) + b"'"
    long, after = after_login((C, mysql.query(text)), (C, SELECT))
    assert long.text == text
    assert (long.text_length, long.flags) == (size, frozenset())
    assert after.text == b"SELECT 1"


@pytest.mark.parametrize("size", [999, 1000])
def test_a_text_up_to_the_limit_is_whole(size: int) -> None:
    (said,) = after_login((C, mysql.query(b"x" * size)), keep_bytes=1000)
    assert (said.text, said.flags, said.text_length) == (b"x" * size, frozenset(), size)
    assert said.text_sha256 is None


@pytest.mark.parametrize("size", [1001, 30_000, 2 * MAX_PACKET])
def test_of_a_longer_text_what_is_over_the_limit_is_cut_off_and_flagged(size: int) -> None:
    played = play(*LOGGED_IN, (C, mysql.query(b"x" * size)), (S, mysql.ok()), (C, SELECT), keep_bytes=1000)
    cut, after = played.said[1:]
    assert cut.text == b"x" * 1000
    assert (cut.text_length, cut.flags) == (size, frozenset({"truncated"}))
    assert cut.text_sha256 == sha256(b"x" * size)
    assert (after.text, after.flags) == (b"SELECT 1", frozenset())
    assert played.truncated == 1


@pytest.mark.parametrize("size", [1500, 30_000, MAX_PACKET])
def test_the_text_behind_query_attributes_is_cut_at_the_limit_too(size: int) -> None:
    value = Bound(mysql.STRING, mysql.counted(b"v" * 500), name=b"name")
    played = play(
        (S, mysql.greeting()),
        (C, mysql.login(capabilities=mysql.CLIENT_CAPABILITIES | mysql.QUERY_ATTRIBUTES)),
        (S, mysql.ok(sequence=2)),
        (C, mysql.query_with_attributes(b"x" * size, [value])),
        keep_bytes=1000,
    )
    assert played.said[1].text == b"x" * 1000
    assert (played.said[1].text_length, played.said[1].text_sha256) == (size, sha256(b"x" * size))


@pytest.mark.parametrize("size", [1500, 30_000])
def test_executions_of_a_statement_that_was_cut_are_flagged_and_have_its_hash(size: int) -> None:
    played = play(
        *LOGGED_IN,
        (C, mysql.prepare(b"x" * size)),
        (S, mysql.prepare_ok(1, 0)),
        (C, mysql.execute(1)),
        (S, mysql.ok()),
        keep_bytes=1000,
    )
    prepare, execution = played.said[1:]
    assert prepare.flags == execution.flags == {"truncated"}
    assert (execution.text, execution.text_length) == (b"x" * 1000, size)
    assert prepare.text_sha256 == execution.text_sha256 == sha256(b"x" * size)


def test_an_execution_sent_ahead_of_the_answer_has_the_hash_of_its_text_too() -> None:
    text = b"SELECT ?" + b" " * 30_000
    value = [Bound(mysql.LONG, b"\1\0\0\0")]
    played = play(
        *LOGGED_IN,
        (C, mysql.prepare(text)),
        (C, mysql.execute(0xFFFFFFFF, value)),
        (S, mysql.prepare_ok(7, 1)),
        (S, mysql.ok()),
        (C, mysql.execute(7, value)),
        (S, mysql.ok()),
        keep_bytes=1000,
    )
    assert [(one.text, one.text_sha256) for one in played.said[1:]] == [(text[:1000], sha256(text))] * 3
    assert [one.parameters for one in played.said[2:]] == [(1,), (1,)]


def test_a_files_bytes_are_not_hashed_and_its_statement_is() -> None:
    load = b"LOAD DATA LOCAL INFILE 'f' INTO TABLE t -- " + b"z" * 30_000
    played = play(
        *LOGGED_IN,
        (C, mysql.query(load)),
        (S, mysql.packet(1, b"\xfbf")),
        (C, mysql.packet(2, b"\x03" + b"row" * 20_000)),
        (C, mysql.packet(3, b"")),
        (S, mysql.ok(3, sequence=4)),
        (C, SELECT),
        keep_bytes=1000,
    )
    texts = [(one.text, one.text_sha256) for one in played.said[1:]]
    assert texts == [(load[:1000], sha256(load)), (b"SELECT 1", None)]


def test_values_over_the_limit_are_not_read_and_the_execution_is_flagged() -> None:
    blob = Bound(mysql.BLOB, mysql.counted(bytes(40_000)))
    played = play(
        *LOGGED_IN,
        (C, mysql.prepare(b"SELECT ?")),
        (S, mysql.prepare_ok(1, 1)),
        (C, mysql.execute(1, [blob])),
        (S, mysql.ok()),
        keep_bytes=1000,
    )
    execution = played.said[2]
    assert (execution.text, execution.parameters, execution.flags) == (b"SELECT ?", None, frozenset({"truncated"}))
    assert played.unread_parameters == 1


# --- the allowance that all connections share


class Worker:
    """Several connections that share an allowance."""

    def __init__(self, limit: int, keep_bytes: int = 1 << 20) -> None:
        self.allowance = Allowance(limit)
        self.outbox = Outbox()
        self._rules = Rules(keep_bytes, True, self.allowance)

    def connection(self) -> Connection:
        return Connection(self.outbox, self._rules, b"", False)


def client(conversation: Connection, data: bytes, acknowledgment: int = 1) -> int:
    return conversation.client(data, 0, len(data), 0, acknowledgment)


def server(conversation: Connection, data: bytes) -> int:
    return conversation.server(data, 0, len(data), 0)


def test_unfinished_statements_share_one_allowance() -> None:
    worker = Worker(5000)
    one, other = worker.connection(), worker.connection()
    sent = mysql.query(b"SELECT " + b"x" * 4000)
    client(one, sent[:-1])
    assert worker.allowance.used == 4000 + 7
    client(other, sent[:-1])
    assert worker.allowance.used == 5000
    for conversation in (one, other):
        client(conversation, sent[-1:])
        server(conversation, mysql.ok())
    first, cut = worker.outbox.finished
    assert (len(first.text or b""), len(cut.text or b"")) == (4006, 992)
    assert first.text_length == cut.text_length == 4007
    assert first.text_sha256 == cut.text_sha256 == sha256(sent[5:])
    assert worker.outbox.truncated == 2
    assert worker.allowance.used == 0


def test_nothing_is_kept_of_a_statement_that_is_finished() -> None:
    worker = Worker(1 << 20)
    conversation = worker.connection()
    sent = mysql.query(b"SELECT " + b"x" * 4000)
    client(conversation, sent[:1000])
    client(conversation, sent[1000:])
    server(conversation, mysql.result())
    assert worker.allowance.used == 0


def test_commands_that_wait_for_their_answers_are_charged() -> None:
    worker = Worker(10_000)
    conversation = worker.connection()
    for _ in range(20):
        client(conversation, mysql.query(b"SELECT " + b"x" * 3000))
        assert worker.allowance.used <= 10_000
    assert worker.allowance.used > 6000
    assert len(worker.outbox.finished) == 18
    conversation.close()
    assert worker.allowance.used == 0
    assert len(worker.outbox.finished) == 20


def test_a_command_larger_than_the_allowance_is_reported_without_waiting() -> None:
    worker = Worker(1000)
    client(worker.connection(), mysql.query(b"SELECT " + b"x" * 3000))
    assert len(worker.outbox.finished) == 1
    assert worker.allowance.used == 0


def test_long_data_is_charged_and_let_go_of() -> None:
    worker = Worker(10_000)
    conversation = worker.connection()
    for statement_id, ending in enumerate((mysql.of_statement(0x1A, 0), mysql.of_statement(0x19, 1), b""), 0):
        client(conversation, mysql.prepare(b"SELECT ?"))
        server(conversation, mysql.prepare_ok(statement_id, 1))
        before = worker.allowance.used
        for _ in range(20):
            client(conversation, mysql.long_data(statement_id, 0, bytes(1000)))
            assert worker.allowance.used <= 10_000
        assert worker.allowance.used > 6000
        if ending:
            client(conversation, ending)
            server(conversation, mysql.ok())
            assert worker.allowance.used == before
    conversation.close()
    assert worker.allowance.used == 0


def test_of_long_data_nothing_behind_a_hole_is_kept_and_the_execution_is_flagged() -> None:
    worker = Worker(1 << 20, keep_bytes=100)
    conversation = worker.connection()
    client(conversation, mysql.prepare(b"SELECT ?"))
    server(conversation, mysql.prepare_ok(1, 1))
    for piece in (b"A" * 60, b"B" * 60, b"C" * 30):
        client(conversation, mysql.long_data(1, 0, piece))
    bound = (mysql.Bound(mysql.BLOB, b""),)
    for acknowledgment in (2, 3):
        client(conversation, mysql.execute(1, bound), acknowledgment)
        server(conversation, mysql.ok(sequence=1))
    executions = [each for each in worker.outbox.finished if each.text == b"SELECT ?" and each.command == 0x17]
    assert [each.flags & TRUNCATED for each in executions] == [TRUNCATED, 0]
    assert b"A" * 60 in (executions[0].parameters or b"")
    assert b"C" not in (executions[0].parameters or b"")
    assert worker.outbox.truncated == 1


def test_a_refused_statement_is_not_remembered() -> None:
    worker = Worker(1 << 20)
    conversation = worker.connection()
    client(conversation, mysql.prepare(b"SELEKT ?"))
    client(conversation, mysql.execute(0xFFFFFFFF, (mysql.Bound(mysql.BLOB, b"x" * 1000),)))
    before = worker.allowance.used
    assert before > 1000, "what was sent ahead is charged for"
    server(conversation, mysql.error(1064, b"syntax"))
    server(conversation, mysql.error(1243, b"unknown statement"))
    assert worker.allowance.used == 0
    client(conversation, mysql.execute(0xFFFFFFFF), 9)
    server(conversation, mysql.error(1243, b"unknown statement"))
    assert worker.outbox.finished[-1].text is None


def test_long_data_of_a_statement_that_was_never_answered_is_let_go_of() -> None:
    worker = Worker(10_000)
    conversation = worker.connection()
    client(conversation, mysql.prepare(b"SELECT ?"))
    client(conversation, mysql.long_data(0xFFFFFFFF, 0, bytes(1000)))
    client(conversation, mysql.prepare(b"SELECT ?, 2"))
    client(conversation, mysql.long_data(0xFFFFFFFF, 0, bytes(1000)))
    conversation.close()
    assert worker.allowance.used == 0


def test_prepared_statements_take_half_the_allowance_and_the_oldest_go() -> None:
    worker = Worker(20_000)
    conversation = worker.connection()
    for number in range(20):
        client(conversation, mysql.prepare(b"SELECT ? /* %04d" % number + b"x" * 1000 + b"*/"), number)
        server(conversation, mysql.prepare_ok(number, 1))
        assert worker.allowance.remembered <= 10_000
    assert worker.outbox.forgotten_statements == 14
    client(conversation, mysql.execute(0), 100)
    server(conversation, mysql.ok())
    client(conversation, mysql.execute(19), 101)
    server(conversation, mysql.ok())
    assert [bool(exchange.text) for exchange in worker.outbox.finished[-2:]] == [False, True]
    conversation.close()
    assert worker.allowance.remembered == 0


def test_a_statement_too_large_to_remember_is_forgotten_at_once() -> None:
    worker = Worker(2000)
    conversation = worker.connection()
    client(conversation, mysql.prepare(b"x" * 900))
    server(conversation, mysql.prepare_ok(1, 0))
    assert worker.outbox.forgotten_statements == 1
    assert worker.allowance.remembered == 0


def test_a_statement_prepared_again_under_its_id_takes_its_place() -> None:
    worker = Worker(1 << 20)
    conversation = worker.connection()
    for number in range(3):
        client(conversation, mysql.prepare(b"SELECT %d" % number), number)
        server(conversation, mysql.prepare_ok(1, 0))
    client(conversation, mysql.execute(1), 9)
    server(conversation, mysql.ok())
    assert worker.outbox.finished[-1].text == b"SELECT 2"
    assert worker.allowance.remembered < 2000


def test_an_id_that_no_server_gives_is_not_remembered() -> None:
    worker = Worker(1 << 20)
    conversation = worker.connection()
    for number in range(3):
        client(conversation, mysql.prepare(b"SELECT %d" % number), number)
        server(conversation, mysql.prepare_ok(0xFFFFFFFF, 0))
    client(conversation, mysql.execute(0xFFFFFFFF), 9)
    server(conversation, mysql.ok())
    assert worker.outbox.finished[-1].text == b"SELECT 2", "it is the id of what was prepared last"
    conversation.close()
    assert (worker.allowance.used, worker.allowance.remembered) == (0, 0)


def test_more_statements_than_a_server_allows_are_not_remembered() -> None:
    worker = Worker(1 << 30)
    conversation = worker.connection()
    for number in range(MOST_STATEMENTS + 3):
        client(conversation, mysql.prepare(b"SELECT 1"), number)
        server(conversation, mysql.prepare_ok(number, 0))
    assert worker.outbox.forgotten_statements == 3


def test_a_name_no_database_has_does_not_become_the_database() -> None:
    _, after = after_login((C, mysql.command(2, b"x" * 300)), (S, mysql.ok()), (C, SELECT))
    assert after.database is None


def test_many_values_sent_ahead_of_an_answer_are_not_kept_until_then_but_read_by_the_text() -> None:
    many = Bound(mysql.BLOB, mysql.counted(bytes(70_000)))
    played = play_whole(
        *LOGGED_IN,
        (C, mysql.prepare(b"SELECT ?")),
        (C, mysql.execute(0xFFFFFFFF, [many])),
        (S, mysql.prepare_ok(1, 1)),
        (S, mysql.ok()),
        (C, mysql.prepare(b"SELECT '?")),
        (C, mysql.execute(0xFFFFFFFF, [many])),
    )
    first, second = (one for one in played.said if one.command == "stmt_execute")
    assert (first.text, first.parameters) == (b"SELECT ?", (bytes(70_000),))
    assert (second.text, second.parameters) == (b"SELECT '?", None)
    assert played.unread_parameters == 1
