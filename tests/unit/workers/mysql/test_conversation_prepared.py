from __future__ import annotations

import struct
from decimal import Decimal

import pytest

from tests.support import mysql_packets as mysql
from tests.support.mysql_packets import Bound
from tests.support.play import LOGGED_IN, C, S, Said, Step, after_login, play, play_whole
from workers.mysql.values import Indicator

INSERT = b"INSERT INTO t VALUES (?, ?)"
ONE = Bound(mysql.LONG, struct.pack("<i", 1))
TEXT = Bound(mysql.VAR_STRING, mysql.counted(b"text"))


def prepared(count: int, *script: Step, answers: bool = True, statement_id: int = 5) -> list[Said]:
    """What comes behind the preparation of INSERT with *count* parameters."""
    return after_login(
        (C, mysql.prepare(INSERT)), (S, mysql.prepare_ok(statement_id, count)), *script, answers=answers
    )[1:]


def executed(*values: Bound) -> tuple[object, ...] | None:
    """The parameters of one execution with *values*."""
    (execution,) = prepared(len(values), (C, mysql.execute(5, values)), (S, mysql.ok(1)))
    return execution.parameters


def test_prepare_gives_text_and_statement_id() -> None:
    (preparing,) = after_login((C, mysql.prepare(INSERT)), (S, mysql.prepare_ok(0xFFFFFF01, 2, columns=3, warnings=1)))
    assert (preparing.command, preparing.text, preparing.status) == ("stmt_prepare", INSERT, "ok")
    assert (preparing.statement_id, preparing.warnings, preparing.prepared) == (0xFFFFFF01, 1, False)


def test_a_failed_prepare_leaves_no_statement() -> None:
    preparing, execution = after_login(
        (C, mysql.prepare(b"SELEC ?")),
        (S, mysql.error(1064, b"error")),
        (C, mysql.execute(1)),
        (S, mysql.error(1243, b"Unknown prepared statement handler")),
    )
    assert (preparing.status, preparing.error[0]) == ("error", 1064)
    assert (execution.text, execution.statement_id) == (None, 1)


def test_an_execution_has_the_text_that_was_prepared_and_its_values() -> None:
    (execution,) = prepared(2, (C, mysql.execute(5, [ONE, TEXT])), (S, mysql.ok(1)))
    assert (execution.command, execution.text, execution.status) == ("stmt_execute", INSERT, "ok")
    assert (execution.text_length, execution.prepared, execution.statement_id) == (len(INSERT), True, 5)
    assert execution.parameters == (1, "text")


def test_an_execution_without_parameters_has_none() -> None:
    (execution,) = prepared(0, (C, mysql.execute(5)), (S, mysql.ok()))
    assert (execution.text, execution.parameters) == (INSERT, None)


def test_prepare_is_followed_where_no_answers_are_waited_for() -> None:
    (execution,) = prepared(2, (C, mysql.execute(5, [ONE, TEXT])), answers=False)
    assert (execution.text, execution.parameters, execution.status) == (INSERT, (1, "text"), "unknown")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Bound(mysql.TINY, b"\xff"), -1),
        (Bound(mysql.TINY, b"\xff", unsigned=True), 255),
        (Bound(mysql.SHORT, b"\xff\xff"), -1),
        (Bound(mysql.SHORT, b"\xff\xff", unsigned=True), 65535),
        (Bound(mysql.YEAR, b"\xe8\x07"), 2024),
        (Bound(mysql.LONG, b"\0\0\0\x80"), -(1 << 31)),
        (Bound(mysql.LONG, b"\xff" * 4, unsigned=True), (1 << 32) - 1),
        (Bound(mysql.INT24, b"\xff\xff\xff\xff"), -1),
        (Bound(mysql.LONGLONG, b"\0" * 7 + b"\x80"), -(1 << 63)),
        (Bound(mysql.LONGLONG, b"\xff" * 8, unsigned=True), (1 << 64) - 1),
        (Bound(mysql.FLOAT, struct.pack("<f", -1.5)), -1.5),
        (Bound(mysql.DOUBLE, struct.pack("<d", 1e300)), 1e300),
        (Bound(mysql.DATE, b"\0"), "0000-00-00"),
        (Bound(mysql.DATE, b"\x04\xe8\x07\x02\x1d"), "2024-02-29"),
        (Bound(mysql.DATE, b"\x07\xe8\x07\x02\x1d\0\0\0"), "2024-02-29"),
        (Bound(mysql.DATETIME, b"\x04\xe8\x07\x02\x1d"), "2024-02-29 00:00:00"),
        (Bound(mysql.DATETIME, b"\x07\xe8\x07\x02\x1d\x17\x3b\x3b"), "2024-02-29 23:59:59"),
        (Bound(mysql.TIMESTAMP, b"\x0b\xe8\x07\x02\x1d\x17\x3b\x3b\x01\0\0\0"), "2024-02-29 23:59:59.000001"),
        (Bound(mysql.TIME, b"\0"), "00:00:00"),
        (Bound(mysql.TIME, b"\x08\0\0\0\0\0\x01\x02\x03"), "01:02:03"),
        (Bound(mysql.TIME, b"\x08\x01\x22\0\0\0\x16\x3b\x3b"), "-838:59:59"),
        (Bound(mysql.TIME, b"\x0c\x01\0\0\0\0\0\0\x01\x3f\x42\x0f\0"), "-00:00:01.999999"),
        (Bound(mysql.NEWDECIMAL, mysql.counted(b"-12.340")), Decimal("-12.340")),
        (Bound(0, mysql.counted(b"1")), Decimal(1)),
        (Bound(mysql.NEWDECIMAL, mysql.counted(b"twelve")), "twelve"),
        (Bound(mysql.VAR_STRING, mysql.counted("é".encode())), "é"),
        (Bound(mysql.STRING, mysql.counted(b"x" * 300)), "x" * 300),
        (Bound(15, mysql.counted(b"varchar")), "varchar"),
        (Bound(245, mysql.counted(b"{}")), "{}"),
        (Bound(mysql.BLOB, mysql.counted(b"\xff\0")), b"\xff\0"),
        (Bound(249, mysql.counted(b"\xff")), b"\xff"),
        (Bound(250, mysql.counted(b"\xff")), b"\xff"),
        (Bound(251, mysql.counted(b"\xff")), b"\xff"),
        (Bound(255, mysql.counted(b"\x01\x02")), b"\x01\x02"),
        (Bound(mysql.BIT, mysql.counted(b"\x05")), b"\x05"),
        (Bound(mysql.NULL, b""), None),
        (Bound(mysql.LONG, None), None),
    ],
    ids=repr,
)
def test_each_type_of_value_is_read(value: Bound, expected: object) -> None:
    assert executed(value) == (expected,)
    assert executed(TEXT, value, ONE) == ("text", expected, 1)


@pytest.mark.parametrize("count", [1, 7, 8, 9, 16, 17, 300])
def test_the_bitmap_of_nulls_has_as_many_bytes_as_it_takes(count: int) -> None:
    values = [Bound(mysql.LONG, None if number % 3 == 0 else struct.pack("<i", number)) for number in range(count)]
    assert executed(*values) == tuple(None if number % 3 == 0 else number for number in range(count))


def test_types_that_are_not_sent_again_are_remembered() -> None:
    other = Bound(mysql.LONG, struct.pack("<i", -2))
    first, second, third = prepared(
        2,
        (C, mysql.execute(5, [ONE, TEXT])),
        (S, mysql.ok()),
        (C, mysql.execute(5, [other, Bound(mysql.VAR_STRING, None)], types=False)),
        (S, mysql.ok()),
        (C, mysql.execute(5, [TEXT, ONE])),
        (S, mysql.ok()),
    )
    assert (first.parameters, second.parameters, third.parameters) == ((1, "text"), (-2, None), ("text", 1))


def test_each_statement_has_types_of_its_own() -> None:
    said = after_login(
        (C, mysql.prepare(b"SELECT ?")),
        (S, mysql.prepare_ok(1, 1)),
        (C, mysql.prepare(b"SELECT LENGTH(?)")),
        (S, mysql.prepare_ok(2, 1)),
        (C, mysql.execute(1, [ONE])),
        (S, mysql.result()),
        (C, mysql.execute(2, [TEXT])),
        (S, mysql.result()),
        (C, mysql.execute(1, [ONE], types=False)),
        (S, mysql.result()),
        (C, mysql.execute(2, [TEXT], types=False)),
        (S, mysql.result()),
    )
    assert [(one.text, one.parameters) for one in said[2:]] == [
        (b"SELECT ?", (1,)),
        (b"SELECT LENGTH(?)", ("text",)),
    ] * 2


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(mysql.execute(5, [ONE, TEXT], types=False), id="types never seen"),
        pytest.param(mysql.command(0x17, struct.pack("<IBI", 5, 0, 1)), id="no bitmap"),
        pytest.param(mysql.command(0x17, struct.pack("<IBIBB", 5, 0, 1, 0, 1)), id="no types"),
        pytest.param(mysql.command(0x17, struct.pack("<IBIBBB", 5, 0, 1, 0, 1, 8)), id="types cut short"),
        pytest.param(mysql.command(0x17, struct.pack("<I", 5) + b"\0"), id="no count of iterations"),
    ],
)
def test_values_that_cannot_be_read_leave_the_statement_itself(sent: bytes) -> None:
    played = play(*LOGGED_IN, (C, mysql.prepare(INSERT)), (S, mysql.prepare_ok(5, 2)), (C, sent), (S, mysql.ok(1)))
    execution = played.said[-1]
    assert (execution.text, execution.parameters, execution.status) == (INSERT, None, "ok")
    assert played.unread_parameters == 1


@pytest.mark.parametrize("number", [0x17, 0xFA, 0x19, 0x1A, 0x1C])
def test_a_command_too_short_for_its_statement_id_is_not_counted(number: int) -> None:
    played = play_whole(*LOGGED_IN, (C, mysql.command(number, b"\x01\0")), (C, mysql.query(b"SELECT 1")))
    assert played.texts()[1:] == [b"SELECT 1"]
    assert played.desyncs == 1


# --- query attributes


def with_attributes(count: int, *script: Step) -> list[Said]:
    """What comes behind the preparation of INSERT by a client that sends query attributes."""
    played = play(
        (S, mysql.greeting()),
        (C, mysql.login(capabilities=mysql.CLIENT_CAPABILITIES | mysql.QUERY_ATTRIBUTES)),
        (S, mysql.ok(sequence=2)),
        (C, mysql.prepare(INSERT)),
        (S, mysql.prepare_ok(5, count)),
        *script,
    )
    assert played.unread_parameters == 0
    return played.said[2:]


def test_values_are_told_from_query_attributes() -> None:
    extra = [Bound(mysql.STRING, mysql.counted(b"00-ab"), name=b"traceparent"), Bound(mysql.TINY, None, name=b"x")]
    first, second = with_attributes(
        2,
        (C, mysql.execute_with_attributes(5, [ONE, TEXT], extra)),
        (S, mysql.ok()),
        (C, mysql.execute_with_attributes(5, [Bound(mysql.LONG, None), TEXT])),
        (S, mysql.ok()),
    )
    assert (first.parameters, second.parameters) == ((1, "text"), (None, "text"))


def test_types_are_remembered_where_query_attributes_are_possible() -> None:
    _, again = with_attributes(
        2,
        (C, mysql.execute_with_attributes(5, [ONE, TEXT])),
        (S, mysql.ok()),
        (C, mysql.execute_with_attributes(5, [ONE, TEXT], types=False)),
        (S, mysql.ok()),
    )
    assert again.parameters == (1, "text")


def test_the_login_decides_whether_values_have_names_and_not_the_flag_of_the_execution() -> None:
    first, second = with_attributes(
        2,
        (C, mysql.execute_with_attributes(5, [ONE, TEXT], flags=0)),
        (S, mysql.ok()),
        (C, mysql.execute_with_attributes(5, [TEXT, ONE], flags=1)),
        (S, mysql.ok()),
    )
    assert (first.parameters, second.parameters) == ((1, "text"), ("text", 1))


def test_an_execution_without_parameters_and_attributes_is_read() -> None:
    (execution,) = with_attributes(0, (C, mysql.execute_with_attributes(5)), (S, mysql.ok()))
    assert (execution.text, execution.parameters) == (INSERT, None)


def test_query_attributes_of_an_execution_without_parameters_are_not_its_values() -> None:
    extra = [Bound(mysql.STRING, mysql.counted(b"00-ab"), name=b"traceparent")]
    (execution,) = with_attributes(0, (C, mysql.execute_with_attributes(5, (), extra)), (S, mysql.ok()))
    assert not execution.parameters


@pytest.mark.parametrize(
    "rest",
    [
        pytest.param(b"\x01\0\x01", id="fewer than the statement takes"),
        pytest.param(b"\xfe" + b"\xff" * 8, id="more than can be"),
        pytest.param(b"\xff", id="no number"),
        pytest.param(b"\x02\0\0", id="types never seen"),
        pytest.param(b"\x02\0\x01\x03\0\0\x03\0\x30", id="a name leaves the packet"),
    ],
)
def test_attributes_that_cannot_be_read_leave_the_statement_itself(rest: bytes) -> None:
    played = play(
        (S, mysql.greeting()),
        (C, mysql.login(capabilities=mysql.CLIENT_CAPABILITIES | mysql.QUERY_ATTRIBUTES)),
        (S, mysql.ok(sequence=2)),
        (C, mysql.prepare(INSERT)),
        (S, mysql.prepare_ok(5, 2)),
        (C, mysql.command(0x17, struct.pack("<IBI", 5, 8, 1) + rest)),
        (S, mysql.ok()),
    )
    assert (played.said[-1].text, played.said[-1].parameters) == (INSERT, None)
    assert played.unread_parameters == 1


# --- long data


def long_value(*pieces: bytes, value: Bound, before: Bound = ONE, after: Bound = TEXT) -> tuple[object, ...] | None:
    """The parameters of an execution whose second value comes in *pieces*."""
    sent = [(C, mysql.long_data(5, 1, piece)) for piece in pieces]
    (execution,) = after_login(
        (C, mysql.prepare(INSERT)),
        (S, mysql.prepare_ok(5, 3)),
        *sent,
        (C, mysql.execute(5, [before, value._replace(data=b""), after])),
        (S, mysql.ok()),
    )[1:]
    return execution.parameters


def test_long_data_stands_where_its_value_would() -> None:
    assert long_value(b"first ", b"second", value=TEXT) == (1, "first second", "text")
    assert long_value(b"\xff" * 70000, value=Bound(mysql.BLOB, b"")) == (1, b"\xff" * 70000, "text")
    assert long_value(b"", value=TEXT) == (1, "", "text")


def test_long_data_for_a_number_is_bytes() -> None:
    assert long_value(b"12", value=ONE) == (1, b"12", "text")


def test_long_data_beside_a_null_keeps_the_others_in_place() -> None:
    assert long_value(b"long", value=TEXT, before=Bound(mysql.LONG, None)) == (None, "long", "text")
    assert long_value(b"long", value=TEXT, after=Bound(mysql.LONG, None)) == (1, "long", None)


def test_long_data_wins_over_a_null_bit() -> None:
    (execution,) = prepared(
        2, (C, mysql.long_data(5, 0, b"long")), (C, mysql.execute(5, [Bound(mysql.BLOB, None), TEXT])), (S, mysql.ok())
    )
    assert execution.parameters == (b"long", "text")


def test_long_data_is_for_one_execution() -> None:
    first, second = prepared(
        2,
        (C, mysql.long_data(5, 1, b"long")),
        (C, mysql.execute(5, [ONE, TEXT._replace(data=b"")])),
        (S, mysql.ok()),
        (C, mysql.execute(5, [ONE, TEXT])),
        (S, mysql.ok()),
    )
    assert (first.parameters, second.parameters) == ((1, "long"), (1, "text"))


def test_reset_drops_long_data() -> None:
    reset, execution = prepared(
        2,
        (C, mysql.long_data(5, 1, b"long")),
        (C, mysql.of_statement(0x1A, 5)),
        (S, mysql.ok()),
        (C, mysql.execute(5, [ONE, TEXT])),
        (S, mysql.ok()),
    )
    assert (reset.command, reset.statement_id, reset.status) == ("stmt_reset", 5, "ok")
    assert execution.parameters == (1, "text")


def test_long_data_with_query_attributes_stands_where_its_value_would() -> None:
    (execution,) = with_attributes(
        2,
        (C, mysql.long_data(5, 1, b"long")),
        (C, mysql.execute_with_attributes(5, [ONE, TEXT._replace(data=b"")])),
        (S, mysql.ok()),
    )
    assert execution.parameters == (1, "long")


def test_long_data_for_no_statement_or_too_many_parameters_is_harmless() -> None:
    (execution,) = prepared(
        2,
        (C, mysql.long_data(77, 0, b"lost")),
        (C, mysql.long_data(5, 9, b"no such parameter")),
        (C, mysql.execute(5, [ONE, TEXT])),
        (S, mysql.ok()),
    )
    assert execution.parameters == (1, "text")


def test_long_data_is_kept_up_to_the_limit() -> None:
    played = play(
        *LOGGED_IN,
        (C, mysql.prepare(b"SELECT ?")),
        (S, mysql.prepare_ok(1, 1)),
        *[(C, mysql.long_data(1, 0, bytes(400)))] * 5,
        (C, mysql.execute(1, [Bound(mysql.BLOB, b"")])),
        (S, mysql.ok()),
        keep_bytes=1000,
    )
    (kept,) = played.said[-1].parameters or ()
    assert isinstance(kept, bytes)
    assert len(kept) <= 1000
    assert played.truncated > 0


# --- other commands of a statement


def test_close_ends_a_statement() -> None:
    close, execution = prepared(
        2, (C, mysql.of_statement(0x19, 5)), (C, mysql.execute(5, [ONE, TEXT])), (S, mysql.ok())
    )
    assert (close.command, close.statement_id, close.status) == ("stmt_close", 5, "unknown")
    assert (execution.text, execution.parameters) == (None, None)


def test_fetch_names_its_statement() -> None:
    (fetch,) = prepared(
        2, (C, mysql.of_statement(0x1C, 5, b"\x0a\0\0\0")), (S, mysql.packet(1, b"\0\0\x01\x02\x03\x04"))
    )
    assert (fetch.command, fetch.statement_id, fetch.status) == ("stmt_fetch", 5, "result")
    assert (fetch.affected_rows, fetch.last_insert_id) == (0, 0)


@pytest.mark.parametrize("number", [0x19, 0x1A, 0x1C])
def test_a_command_of_a_statement_that_is_not_known_is_reported(number: int) -> None:
    (said,) = after_login((C, mysql.of_statement(number, 99)))
    assert said.statement_id == 99


def test_reset_connection_forgets_statements() -> None:
    reset, execution = prepared(
        2, (C, mysql.command(0x1F)), (S, mysql.ok()), (C, mysql.execute(5, [ONE, TEXT])), (S, mysql.error(1243, b"?"))
    )
    assert (reset.command, reset.status, execution.text) == ("reset_connection", "ok", None)


# --- rows of a bulk execution


def test_a_bulk_execution_has_the_text_that_was_prepared_and_its_rows() -> None:
    rows = [[ONE, TEXT], [Bound(mysql.LONG, None), TEXT], [ONE._replace(indicator=2), TEXT._replace(indicator=3)]]
    (bulk,) = prepared(2, (C, mysql.bulk_execute(5, rows)), (S, mysql.ok(3)))
    assert (bulk.command, bulk.text, bulk.statement_id, bulk.affected_rows) == ("stmt_bulk_execute", INSERT, 5, 3)
    assert bulk.parameters == ((1, "text"), (None, "text"), (Indicator.DEFAULT, Indicator.IGNORE))
    assert not bulk.flags


def test_types_go_from_one_execution_to_the_next_in_bulk_or_not() -> None:
    first, second, third = prepared(
        2,
        (C, mysql.bulk_execute(5, [[ONE, TEXT]], unit_results=True)),
        (S, mysql.ok()),
        (C, mysql.execute(5, [ONE, TEXT], types=False)),
        (S, mysql.ok()),
        (C, mysql.bulk_execute(5, [[ONE, TEXT]] * 2, types=False)),
        (S, mysql.ok()),
    )
    assert [first.parameters, second.parameters] == [((1, "text"),), (1, "text")]
    assert third.parameters == ((1, "text"),) * 2


def test_a_bulk_execution_sent_right_behind_its_prepare_has_its_rows() -> None:
    _, bulk = after_login(
        (C, mysql.prepare(INSERT)),
        (C, mysql.bulk_execute(0xFFFFFFFF, [[ONE, TEXT]] * 2)),
        (S, mysql.prepare_ok(5, 2)),
        (S, mysql.ok(2)),
    )
    assert (bulk.text, bulk.statement_id, bulk.parameters) == (INSERT, 5, ((1, "text"),) * 2)


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(mysql.bulk_execute(5, [[ONE, TEXT]], types=False), id="types never seen"),
        pytest.param(mysql.command(0xFA, struct.pack("<IHH", 5, 128, 3)), id="types cut short"),
        pytest.param(mysql.bulk_execute(5, [[ONE, TEXT._replace(indicator=4)]]), id="no such indicator"),
        pytest.param(mysql.bulk_execute(5, [[ONE, TEXT], [ONE]]), id="half a row"),
    ],
)
def test_rows_that_cannot_be_read_leave_the_statement_itself(sent: bytes) -> None:
    played = play(*LOGGED_IN, (C, mysql.prepare(INSERT)), (S, mysql.prepare_ok(5, 2)), (C, sent), (S, mysql.ok(1)))
    bulk = played.said[-1]
    assert (bulk.text, bulk.parameters, bulk.status, played.unread_parameters) == (INSERT, None, "ok", 1)


@pytest.mark.parametrize(("count", "long_data"), [(0, b""), (2, b"long")])
def test_rows_that_the_server_refuses_are_not_read(count: int, long_data: bytes) -> None:
    played = play(
        *LOGGED_IN,
        (C, mysql.prepare(INSERT)),
        (S, mysql.prepare_ok(5, count)),
        *([(C, mysql.long_data(5, 1, long_data))] if long_data else []),
        (C, mysql.bulk_execute(5, [[ONE, TEXT]])),
        (S, mysql.error(1295, b"This command is not supported in the prepared statement protocol yet")),
    )
    assert (played.said[-1].parameters, played.said[-1].status) == (None, "error")


@pytest.mark.parametrize("size", [2000, 40_000])
def test_rows_beyond_the_limit_are_cut_between_rows_and_counted(size: int) -> None:
    """Of the smaller all bytes are there, of the other only a beginning."""
    row = [ONE, Bound(mysql.VAR_STRING, mysql.counted(b"x" * 90))]
    played = play(
        *LOGGED_IN,
        (C, mysql.prepare(INSERT)),
        (S, mysql.prepare_ok(5, 2)),
        (C, mysql.bulk_execute(5, [row] * (size // 100))),
        (S, mysql.ok(size // 100)),
        keep_bytes=1000,
    )
    bulk = played.said[-1]
    assert bulk.parameters == ((1, "x" * 90),) * 10
    assert ("truncated" in bulk.flags, played.truncated, played.unread_parameters) == (True, 1, 0)
    assert bulk.affected_rows == size // 100


# --- an execution without an id


def test_an_execution_without_an_id_is_of_the_statement_prepared_last() -> None:
    (execution,) = prepared(2, (C, mysql.execute(0xFFFFFFFF, [ONE, TEXT])), (S, mysql.ok()))
    assert (execution.text, execution.parameters) == (INSERT, (1, "text"))


@pytest.mark.parametrize("answers", [True, False])
def test_an_execution_sent_right_behind_its_prepare_has_its_text(answers: bool) -> None:
    said = after_login(
        (C, mysql.prepare(b"SELECT 'older'")),
        (S, mysql.prepare_ok(4, 0)),
        (C, mysql.prepare(INSERT)),
        (C, mysql.execute(0xFFFFFFFF, [ONE, TEXT])),
        (S, mysql.prepare_ok(5, 2)),
        (S, mysql.ok(1)),
        answers=answers,
    )
    (execution,) = [one for one in said if one.command == "stmt_execute"]
    assert execution.text == INSERT


def test_an_answer_to_prepare_that_is_cut_short_matches_nothing() -> None:
    preparing, execution = after_login(
        (C, mysql.prepare(INSERT)),
        (S, mysql.packet(1, b"\0\x05\0\0\0\0\0\x02")),
        (C, mysql.execute(5, [ONE, TEXT])),
        (S, mysql.ok()),
    )
    assert preparing.status == "unknown"
    assert execution.text is None


def test_statements_prepared_ahead_get_their_own_ids() -> None:
    said = after_login(
        (C, mysql.prepare(b"SELECT ?")),
        (C, mysql.prepare(b"SELECT ?, ?")),
        (S, mysql.prepare_ok(1, 1)),
        (S, mysql.prepare_ok(2, 2)),
        (C, mysql.execute(1, [ONE])),
        (S, mysql.result()),
        (C, mysql.execute(2, [ONE, TEXT])),
        (S, mysql.result()),
    )
    assert [(one.text, one.parameters) for one in said[2:]] == [(b"SELECT ?", (1,)), (b"SELECT ?, ?", (1, "text"))]
