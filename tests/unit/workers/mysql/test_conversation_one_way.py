"""One direction of a connection: what the server says is not captured, so statement ids are inferred or not known."""

from __future__ import annotations

import struct
from typing import Final

import pytest

from tests.support import mysql_packets as mysql
from tests.support.mysql_packets import Bound
from tests.support.play import C, Played, S, Step, parts, play_whole, run

A, B = b"SELECT 'a', ?", b"SELECT 'b', ?, ?"
NONE: Final = b"SELECT 'nothing bound'"
ONE = Bound(mysql.LONG, struct.pack("<i", 1))
TEXT = Bound(mysql.VAR_STRING, mysql.counted(b"text"))
ANSWER: Final[Step] = (S, mysql.ok())
"""Not captured; but what the client acknowledges tells that it was there."""


def one_way(*script: bytes, answers: bool = True, keep_bytes: int = 1 << 20, from_start: bool = True) -> Played:
    """What a connection's client sends from its login on, each command answered before the next."""
    steps: list[Step] = [(S, mysql.greeting()), (C, mysql.login()), ANSWER]
    for command in script:
        steps += [(C, command), ANSWER]
    return run([part for part in parts(steps) if part[0] == C], from_start, answers, keep_bytes, 1 << 24)


def executions(played: Played) -> list[tuple[bytes | None, object, bool]]:
    """Text and values of each, and whether its id was inferred."""
    wanted = {"stmt_execute", "stmt_bulk_execute"}
    return [
        (one.text, one.parameters, "inferred_id" in one.flags)
        for one in sorted(played.said, key=lambda one: one.time_ns)
        if one.command in wanted
    ]


UNKNOWN: Final = (None, None, False)


@pytest.mark.parametrize("answers", [True, False])
def test_statements_have_their_numbers_by_their_order(answers: bool) -> None:
    played = one_way(
        mysql.prepare(A), mysql.query(b"SELECT 1"), mysql.prepare(b"SELEC ?"), mysql.prepare(B),
        mysql.execute(3, [ONE, TEXT]), mysql.execute(1, [ONE]), mysql.execute(1, [TEXT]),
        mysql.execute(1, [TEXT], types=False), answers=answers,
    )  # fmt: skip
    assert executions(played) == [
        (B, (1, "text"), True), (A, (1,), True), (A, ("text",), True), (A, ("text",), True),
    ]  # fmt: skip
    assert played.unread_parameters == 0


def test_rows_in_bulk_and_values_in_pieces_are_read_too() -> None:
    played = one_way(
        mysql.prepare(B), mysql.bulk_execute(1, [[ONE, TEXT]] * 2), mysql.long_data(1, 1, b"long"),
        mysql.execute(1, [ONE, TEXT._replace(data=b"")]), mysql.execute(1, [ONE, TEXT]),
    )  # fmt: skip
    assert executions(played) == [(B, ((1, "text"),) * 2, True), (B, (1, "long"), True), (B, (1, "text"), True)]


def test_a_statement_prepared_behind_executions_is_told_by_its_first_number() -> None:
    """MySQL may prepare the first one again for other types of values, and take a number for that."""
    played = one_way(
        mysql.prepare(A), mysql.execute(1, [ONE]), mysql.execute(1, [TEXT]), mysql.prepare(B),
        mysql.execute(3, [ONE, TEXT]), mysql.execute(1, [ONE]),
    )  # fmt: skip
    assert [text for text, *_ in executions(played)] == [A, A, B, A]


def test_where_the_values_alone_tell_statements_apart_they_do() -> None:
    played = one_way(
        mysql.query(b"CALL p()"), mysql.prepare(A), mysql.prepare(B), mysql.execute(2, [ONE, TEXT]),
        mysql.execute(1, [ONE]),
    )  # fmt: skip
    assert executions(played) == [(B, (1, "text"), True), (A, (1,), True)]


def test_where_nothing_tells_statements_apart_there_is_no_text() -> None:
    played = one_way(
        mysql.query(b"CALL p()"), mysql.prepare(A), mysql.prepare(b"SELECT 'other', ?"), mysql.execute(2, [ONE]),
        mysql.execute(1, [ONE]),
    )  # fmt: skip
    assert executions(played) == [UNKNOWN, (A, (1,), True)]


def test_an_execution_that_does_not_fit_ends_all_inference() -> None:
    played = one_way(
        mysql.prepare(A), mysql.execute(1, [ONE]), mysql.execute(1, [ONE, TEXT]), mysql.execute(1, [ONE]),
        mysql.prepare(NONE), mysql.execute(2),
    )  # fmt: skip
    assert executions(played) == [(A, (1,), True), UNKNOWN, UNKNOWN, UNKNOWN]
    assert played.unread_parameters == 1


@pytest.mark.parametrize("number", [1, 7])
def test_an_id_that_no_statement_can_have_ends_it_too(number: int) -> None:
    played = one_way(
        mysql.prepare(A), mysql.of_statement(0x19, 1), mysql.execute(number, [ONE]), mysql.prepare(A),
        mysql.execute(2, [ONE]),
    )  # fmt: skip
    assert executions(played) == [UNKNOWN, UNKNOWN]


def test_a_connection_joined_late_has_none() -> None:
    steps: list[Step] = [(C, mysql.prepare(A)), (C, mysql.execute(1, [ONE]))]
    assert executions(play_whole(*steps, from_start=False)) == [UNKNOWN]


def test_behind_a_gap_there_is_none() -> None:
    steps: list[Step] = [(C, mysql.login()), (C, mysql.prepare(A)), ("gap", 30), (C, mysql.execute(1, [ONE]))]
    assert executions(play_whole(*steps)) == [UNKNOWN]


def test_a_server_that_is_heard_is_believed() -> None:
    steps: list[Step] = [
        (S, mysql.greeting()), (C, mysql.login()), (S, mysql.ok(sequence=2)), (C, mysql.prepare(A)),
        (C, mysql.execute(1, [ONE])),
    ]  # fmt: skip
    assert executions(play_whole(*steps)) == [UNKNOWN]
    steps = [
        (C, mysql.login()), (S, mysql.ok(sequence=2)), (C, mysql.prepare(A)), (S, mysql.prepare_ok(4, 1)),
        (C, mysql.execute(1, [ONE])), (C, mysql.execute(4, [ONE])),
    ]  # fmt: skip
    assert executions(play_whole(*steps)) == [UNKNOWN, (A, (1,), False)]


def test_the_numbers_go_on_behind_a_reset_and_another_user() -> None:
    played = one_way(
        mysql.prepare(A), mysql.command(0x1F), mysql.prepare(B), mysql.execute(2, [ONE, TEXT]),
        mysql.change_user(b"root", proof=b"\0" * 20), mysql.prepare(A), mysql.execute(3, [ONE]),
    )  # fmt: skip
    assert executions(played) == [(B, (1, "text"), True), (A, (1,), True)]


def test_an_execution_whose_end_was_not_kept_has_no_text() -> None:
    many = Bound(mysql.BLOB, mysql.counted(bytes(40_000)))
    played = one_way(mysql.prepare(A), mysql.execute(1, [many]), mysql.execute(1, [ONE]), keep_bytes=1000)
    assert executions(played) == [UNKNOWN, (A, (1,), True)]
    assert played.truncated == 1


def test_a_text_that_was_not_kept_whole_is_not_joined() -> None:
    cut = b"SELECT ? /*" + b"x" * 2000
    played = one_way(mysql.prepare(cut), mysql.prepare(A), mysql.execute(1, [ONE]), mysql.execute(2, [ONE]),
                     keep_bytes=1000)  # fmt: skip
    assert executions(played) == [UNKNOWN, (A, (1,), True)]


def test_without_room_for_texts_nothing_is_inferred() -> None:
    steps: list[Step] = [(C, mysql.login()), (C, mysql.prepare(A + b" " * 3000)), (C, mysql.execute(1, [ONE]))]
    played = run(parts(steps), True, False, 1 << 20, 4000)
    assert executions(played) == [UNKNOWN]
    assert played.forgotten_statements == 1


def test_a_client_that_could_send_query_attributes_may_send_none() -> None:
    """It says so to servers that know none too."""
    login = mysql.login(capabilities=mysql.CLIENT_CAPABILITIES | mysql.QUERY_ATTRIBUTES)
    script: list[Step] = [
        (C, login), (C, mysql.query(b"SELECT 1")), (C, mysql.query_with_attributes(b"SELECT 2")), (C, mysql.prepare(A)),
        (C, mysql.execute(1, [ONE])), (C, mysql.execute_with_attributes(1, [TEXT])),
    ]  # fmt: skip
    played = run(parts(script), True, False, 1 << 20, 1 << 24)
    assert [text for text in played.texts() if text and text.startswith(b"SELECT ")][:2] == [b"SELECT 1", b"SELECT 2"]
    assert executions(played) == [(A, (1,), True), (A, ("text",), True)]


# --- the statement prepared last


@pytest.mark.parametrize("answers", [True, False])
def test_an_execution_of_the_last_statement_has_its_text_and_values(answers: bool) -> None:
    played = one_way(
        mysql.prepare(A), mysql.execute(0xFFFFFFFF, [ONE]), mysql.prepare(B),
        mysql.bulk_execute(0xFFFFFFFF, [[ONE, TEXT]] * 2), mysql.prepare(NONE), mysql.execute(0xFFFFFFFF),
        answers=answers,
    )  # fmt: skip
    assert executions(played) == [(A, (1,), False), (B, ((1, "text"),) * 2, False), (NONE, None, False)]
    assert played.unread_parameters == 0


@pytest.mark.parametrize("answers", [True, False])
@pytest.mark.parametrize("pipelined", [True, False])
def test_values_that_do_not_fit_the_last_statement_are_not_read(answers: bool, pipelined: bool) -> None:
    script: list[Step] = [(C, mysql.login()), (C, mysql.prepare(A)), (C, mysql.execute(0xFFFFFFFF, [ONE, TEXT]))]
    if pipelined:
        played = run(parts(script), True, answers, 1 << 20, 1 << 24)
    else:
        played = one_way(mysql.prepare(A), mysql.execute(0xFFFFFFFF, [ONE, TEXT]), answers=answers)
    assert executions(played) == [(A, None, False)]
    assert played.unread_parameters == 1


def test_statements_prepared_and_executed_ahead_all_have_their_values() -> None:
    script: list[Step] = [(C, mysql.login())]
    for text in (A, A, A):
        script += [(C, mysql.prepare(text)), (C, mysql.execute(0xFFFFFFFF, [ONE]))]
    assert executions(run(parts(script), True, True, 1 << 20, 1 << 24)) == [(A, (1,), False)] * 3


def test_of_a_prepare_that_is_known_to_have_failed_nothing_is_the_last() -> None:
    script: list[Step] = [
        (C, mysql.login()), (S, mysql.ok(sequence=2)), (C, mysql.prepare(A)), (S, mysql.error(1064, b"error")),
        (C, mysql.execute(0xFFFFFFFF)),
    ]  # fmt: skip
    assert executions(play_whole(*script)) == [UNKNOWN]
