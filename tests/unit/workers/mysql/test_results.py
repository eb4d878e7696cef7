from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from tests.support import answer_packets as answer
from tests.support import mysql_packets as mysql
from tests.support.answer_packets import (
    CURSOR_EXISTS,
    DEFINITION,
    LAST_ROW_SENT,
    MORE_RESULTS,
    binary_row,
    end,
    eof,
    ok,
    prepared,
    progress,
    result,
    stream,
    text_row,
)
from workers.mysql import constants
from workers.mysql.events import FLAG_NAMES, Exchange
from workers.mysql.framing import Allowance
from workers.mysql.results import Answers

SENT_NS = 1_000_000
FIRST_NS = SENT_NS + 1000
STEP_NS = 10
QUERY, FIELD_LIST, STATISTICS, PROCESS_INFO, DEBUG = 3, 4, 9, 10, 13
BINLOG_DUMP, PREPARE, EXECUTE, FETCH, SET_OPTION, BULK = 0x12, 0x16, 0x17, 0x1C, 0x1B, 0xFA
STATUS = ("unknown", "ok", "error", "result")
FORMS = {"with an EOF": False, "with an OK for it": True}
ROWS = [text_row(b"a", None), text_row(b"", b"c" * 300), text_row(None, b"")]

both_forms = pytest.mark.parametrize("deprecated", FORMS.values(), ids=FORMS)


@dataclass(frozen=True)
class Told:
    """What an exchange was told by its answer."""

    status: str
    rows: int
    affected_rows: int
    last_insert_id: int
    warnings: int
    error: tuple[int, bytes, bytes]
    bytes_out: int
    statement_id: int
    parameter_count: int
    moves_to: bytes | None
    sets_charset: int
    flags: frozenset[str]
    answered: bool
    done: bool
    broken: bool
    wants_file: bool
    streaming: bool
    used: int
    """How many bytes of what was offered."""


def asked(command: int) -> Exchange:
    exchange = Exchange()
    exchange.command = command
    exchange.time_ns = SENT_NS
    return exchange


def told(exchange: Exchange, answers: Answers, used: int) -> Told:
    return Told(
        status=STATUS[exchange.status],
        rows=exchange.rows,
        affected_rows=exchange.affected_rows,
        last_insert_id=exchange.last_insert_id,
        warnings=exchange.warnings,
        error=(exchange.error_code, exchange.sqlstate, exchange.message),
        bytes_out=exchange.bytes_out,
        statement_id=exchange.statement_id,
        parameter_count=exchange.parameter_count,
        moves_to=exchange.moves_to,
        sets_charset=exchange.sets_charset,
        flags=frozenset(name for bit, name in enumerate(FLAG_NAMES) if exchange.flags >> bit & 1),
        answered=exchange.latency_ns >= 0,
        done=bool(answers.done),
        broken=bool(answers.broken),
        wants_file=bool(answers.wants_file),
        streaming=bool(answers.streaming),
        used=used,
    )


def feed(command: int, pieces: Sequence[bytes], capabilities: int = 0) -> Told:
    """What the pieces tell as the answer to *command*; what follows it is not taken."""
    allowance = Allowance(1 << 20)
    answers = Answers(allowance)
    answers.learn(capabilities)
    exchange = asked(command)
    answers.begin(exchange, 1)
    used = 0
    for number, piece in enumerate(pieces):
        data = b"\xee" + piece + b"\xff" * 9
        used += answers.take(data, 1, 1 + len(piece), FIRST_NS + number * STEP_NS) - 1
    found = told(exchange, answers, used)
    if answers.done:
        assert answers.take(b"\x01\0\0\x01\x01", 0, 5, FIRST_NS) == 0, "an answer that is complete takes no more"
    answers.end()
    assert allowance.used == 0, "what is read no more keeps nothing"
    return found


def tell(command: int, data: bytes, capabilities: int = 0) -> Told:
    """What the bytes tell as the answer to *command*, with the login seen and unseen, whole and byte by byte."""
    whole = feed(command, [data], capabilities)
    for size in (1, 2, 3, 4, 5, 7):
        pieces = [data[at : at + size] for at in range(0, len(data), size)]
        assert feed(command, pieces, capabilities) == whole, f"in pieces of {size}"
    return whole


def capabilities_of(deprecated: bool) -> int:
    return constants.CLIENT_PROTOCOL_41 | (constants.CLIENT_DEPRECATE_EOF if deprecated else 0)


def test_an_ok_is_a_whole_answer() -> None:
    data = stream([ok(70_000, 1 << 63, 0xFFFF)])
    found = tell(QUERY, data)
    assert (found.status, found.affected_rows, found.last_insert_id, found.warnings) == ("ok", 70_000, 1 << 63, 0xFFFF)
    assert (found.rows, found.bytes_out, found.done, found.answered) == (-1, len(data), True, True)


@pytest.mark.parametrize("code", [1064, 20_001, 0xFFFF])
@pytest.mark.parametrize("state", [b"42000", None])
def test_an_error_is_a_whole_answer_whatever_its_number_and_with_or_without_sqlstate(
    code: int, state: bytes | None
) -> None:
    found = tell(QUERY, mysql.error(code, b"You have an error", state))
    assert (found.status, found.error, found.done) == ("error", (code, state or b"", b"You have an error"), True)


@both_forms
@pytest.mark.parametrize("known", [True, False], ids=["login seen", "login not seen"])
@pytest.mark.parametrize("rows", [[], ROWS, ROWS * 200], ids=["no row", "3 rows", "600 rows"])
def test_the_rows_of_a_result_are_counted(deprecated: bool, known: bool, rows: list[bytes]) -> None:
    data = stream(result(rows, columns=2, warnings=3, deprecated=deprecated))
    found = tell(QUERY, data, capabilities_of(deprecated) if known else 0)
    assert (found.status, found.rows, found.warnings) == ("result", len(rows), 3)
    assert (found.bytes_out, found.used, found.done) == (len(data), len(data), True)


@both_forms
def test_rows_of_the_binary_protocol_begin_as_an_ok_does_and_are_rows(deprecated: bool) -> None:
    rows = [binary_row(b"\0\0\2\0\0\0"), binary_row(b"")]
    found = tell(EXECUTE, stream(result(rows, deprecated=deprecated)))
    assert (found.status, found.rows, found.done) == ("result", 2, True)


@both_forms
def test_what_follows_an_answer_is_not_taken(deprecated: bool) -> None:
    data = stream(result(ROWS, columns=2, deprecated=deprecated))
    assert feed(QUERY, [data + stream([ok()])]).used == len(data)
    assert feed(QUERY, [stream([ok()]) + data]).used == len(stream([ok()]))


def test_times_reach_from_the_command_to_the_first_and_to_the_last_byte() -> None:
    exchange = asked(QUERY)
    answers = Answers(Allowance(1 << 20))
    answers.begin(exchange, 1)
    data = stream(result(ROWS, columns=2))
    for number, at in enumerate(range(0, len(data), 100)):
        answers.take(data[at : at + 100], 0, len(data[at : at + 100]), SENT_NS + 500 + number)
    assert (exchange.latency_ns, exchange.duration_ns) == (500, 500 + (len(data) - 1) // 100)


def test_a_clock_that_goes_back_makes_no_time_negative() -> None:
    exchange = asked(QUERY)
    answers = Answers(Allowance(1 << 20))
    answers.begin(exchange, 1)
    data = stream([ok()])
    answers.take(data, 0, len(data), SENT_NS - 5)
    assert (exchange.latency_ns, exchange.duration_ns) == (0, 0)


def test_a_row_may_begin_with_the_byte_of_an_eof_only_where_it_has_16_mib() -> None:
    row = b"\xfe" + (1 << 24).to_bytes(8, "little") + bytes(1 << 24)
    data = stream(result([row, text_row(b"a")]))
    whole = feed(QUERY, [data])
    assert (whole.status, whole.rows, whole.done, whole.bytes_out) == ("result", 2, True, len(data))
    assert feed(QUERY, [data[at : at + 65_000] for at in range(0, len(data), 65_000)]) == whole


def test_a_row_of_exactly_one_full_packet_is_ended_by_an_empty_one() -> None:
    row = b"\xfd" + (mysql.MAX_PACKET - 4).to_bytes(3, "little") + bytes(mysql.MAX_PACKET - 4)
    data = stream(result([row]))
    assert data.count(mysql.packet(5, b"") + mysql.packet(6, eof())) == 1
    assert feed(QUERY, [data]).rows == 1


def test_of_a_big_row_nothing_is_kept() -> None:
    allowance = Allowance(1 << 20)
    answers = Answers(allowance)
    answers.begin(asked(QUERY), 1)
    data = stream(result([text_row(b"x" * 100_000)]))[:90_000]
    for at in range(0, len(data), 1000):
        answers.take(data[at : at + 1000], 0, len(data[at : at + 1000]), FIRST_NS)
        assert allowance.used <= 1000


def test_of_a_long_error_that_comes_in_pieces_the_beginning_is_kept_and_nothing_without_room() -> None:
    data = stream([b"\xff\x28\x04#42000" + b"m" * 20_000])
    pieces = [data[at : at + 1400] for at in range(0, len(data), 1400)]
    assert feed(QUERY, pieces).error == (1064, b"42000", b"m" * 512)
    answers = Answers(Allowance(100))
    exchange = asked(QUERY)
    answers.begin(exchange, 1)
    for piece in pieces:
        answers.take(piece, 0, len(piece), FIRST_NS)
    assert (answers.broken, exchange.status) == (True, 0)


@both_forms
def test_an_error_can_end_rows(deprecated: bool) -> None:
    packets = [*result(ROWS, columns=2, deprecated=deprecated)[:-1], mysql.error(1317, b"interrupted")[4:]]
    found = tell(QUERY, stream(packets))
    assert (found.status, found.error[0], found.rows, found.done) == ("error", 1317, 3, True)


@both_forms
def test_every_result_of_several_statements_is_followed(deprecated: bool) -> None:
    packets = [
        ok(2, 7, 1, status=2 | MORE_RESULTS),
        *result(ROWS, columns=2, warnings=2, status=2 | MORE_RESULTS, deprecated=deprecated),
        *result([text_row(b"z")], status=2 | MORE_RESULTS, deprecated=deprecated),
        ok(3, 0, 4),
    ]
    found = tell(QUERY, stream(packets))
    assert (found.status, found.rows, found.affected_rows) == ("result", 4, 5)
    assert (found.last_insert_id, found.warnings, found.done) == (7, 7, True)
    assert found.bytes_out == len(stream(packets))


def test_an_error_ends_several_statements() -> None:
    found = tell(QUERY, stream([ok(2, status=2 | MORE_RESULTS), mysql.error(1146, b"no such table")[4:]]))
    assert (found.status, found.affected_rows, found.error[0], found.done) == ("error", 2, 1146, True)


@both_forms
@pytest.mark.parametrize("known", [True, False], ids=["login seen", "login not seen"])
@pytest.mark.parametrize(("parameters", "columns"), [(0, 0), (0, 2), (3, 2), (3, 0)])
def test_a_prepare_is_answered_up_to_its_last_definition(
    deprecated: bool, known: bool, parameters: int, columns: int
) -> None:
    data = stream(prepared(9, parameters, columns, deprecated=deprecated))
    found = tell(PREPARE, data, capabilities_of(deprecated) if known else 0)
    assert (found.status, found.statement_id, found.parameter_count, found.done) == ("ok", 9, parameters, True)
    if known or deprecated or parameters + columns == 0:
        assert found.used == len(data)
    else:
        assert len(data) - found.used in {0, 9}, "whether an EOF follows is known from the first one on"


def test_whether_definitions_end_with_an_eof_is_learnt_from_a_result() -> None:
    answers = Answers(Allowance(1 << 20))
    for command, payloads in ((QUERY, result(ROWS, columns=2)), (PREPARE, prepared(9, 3, 0))):
        data = stream(payloads)
        answers.begin(asked(command), 1)
        assert answers.take(data, 0, len(data), FIRST_NS) == len(data)
        assert answers.done


def test_a_prepare_can_come_without_definitions() -> None:
    data = stream([prepared(9, 3, 2)[0] + b"\0"])
    assert tell(PREPARE, data).done
    assert not tell(PREPARE, stream([prepared(9, 3, 2)[0] + b"\1"])).done


def test_a_prepare_can_fail() -> None:
    assert tell(PREPARE, mysql.error(1064, b"You have an error")).status == "error"


@both_forms
def test_a_result_can_come_without_definitions(deprecated: bool) -> None:
    tail = result(ROWS, columns=2, deprecated=deprecated)[3:]
    for columns in (b"\x02\0", b"\0\x02", mysql.integer(300) + b"\0", b"\0" + mysql.integer(300)):
        found = tell(EXECUTE, stream([columns, *tail]))
        assert (found.status, found.rows, found.done) == ("result", 3, True)


@pytest.mark.parametrize("columns", [b"\x02\1", b"\1\x02", b"\x01\x01"])
def test_a_byte_beside_the_number_of_columns_can_say_that_definitions_follow(columns: bytes) -> None:
    definitions = [DEFINITION] * max(columns)
    found = tell(EXECUTE, stream([columns, *definitions, eof(), *ROWS, eof()]))
    assert (found.rows, found.done, found.broken) == (3, True, False)


@pytest.mark.parametrize("columns", [b"\x03\x05", b"\x00\x00", b"\xfc\x01", b"\xfe" + b"\xff" * 8, b"\x01\x02\x03"])
def test_what_is_no_number_of_columns_is_no_answer(columns: bytes) -> None:
    found = tell(QUERY, stream([columns]))
    assert (found.broken, found.done, found.status) == (True, False, "unknown")


@both_forms
def test_a_cursor_has_definitions_and_no_rows(deprecated: bool) -> None:
    opened = [mysql.integer(2), DEFINITION, DEFINITION, end(status=2 | CURSOR_EXISTS, deprecated=deprecated)]
    found = tell(EXECUTE, stream(opened), capabilities_of(deprecated))
    assert (found.status, found.rows, found.done) == ("result", 0, True)


@both_forms
@pytest.mark.parametrize("rows", [0, 1, 500])
def test_a_fetch_is_answered_with_rows_at_once(deprecated: bool, rows: int) -> None:
    status = 2 | (LAST_ROW_SENT if rows == 0 else CURSOR_EXISTS)
    tail = end(1, status=status, deprecated=deprecated)
    found = tell(FETCH, stream([*[binary_row(b"abc")] * rows, tail]))
    assert (found.status, found.rows, found.warnings, found.done) == ("result", rows, 1, True)


def test_a_fetch_can_fail() -> None:
    assert tell(FETCH, mysql.error(1243, b"Unknown prepared statement handler")).rows == -1


@both_forms
@pytest.mark.parametrize("fields", [0, 4])
def test_a_field_list_is_answered_with_definitions_at_once(deprecated: bool, fields: int) -> None:
    found = tell(FIELD_LIST, stream([*[DEFINITION + b"\xfb"] * fields, end(deprecated=deprecated)]))
    assert (found.status, found.rows, found.done) == ("result", fields, True)


def test_statistics_are_a_text() -> None:
    found = tell(STATISTICS, stream([b"Uptime: 70  Threads: 1  Questions: 5"]))
    assert (found.status, found.done, found.rows) == ("ok", True, -1)


def test_process_info_is_a_result() -> None:
    assert tell(PROCESS_INFO, stream(result(ROWS, columns=2))).rows == 3


@pytest.mark.parametrize("command", [DEBUG, SET_OPTION])
@both_forms
def test_some_commands_are_answered_with_an_eof(command: int, deprecated: bool) -> None:
    found = tell(command, stream([end(2, deprecated=deprecated)]))
    assert (found.status, found.warnings, found.done, found.rows) == ("ok", 2, True, -1)


def test_a_bulk_execution_can_be_answered_with_rows() -> None:
    assert tell(BULK, stream(result(ROWS, columns=2))).rows == 3
    assert tell(BULK, stream([ok(500)])).affected_rows == 500


def test_behind_a_file_comes_the_answer_with_the_sequence_id_that_follows_the_files() -> None:
    exchange = asked(QUERY)
    answers = Answers(Allowance(1 << 20))
    answers.begin(exchange, 1)
    request = mysql.local_infile()
    answers.take(request, 0, len(request), FIRST_NS)
    assert (answers.wants_file, answers.done, exchange.latency_ns) == (True, False, -1)
    answers.sequence = 77
    answer_ = stream([ok(5)], sequence=77)
    answers.take(answer_, 0, len(answer_), FIRST_NS)
    assert (answers.wants_file, answers.done, exchange.affected_rows) == (False, True, 5)


def test_progress_is_no_answer_wherever_it_comes() -> None:
    found = tell(QUERY, stream([progress(1), progress(2), ok(3)]))
    assert (found.status, found.affected_rows, found.done, found.error) == ("ok", 3, True, (0, b"", b""))
    head, tail = result(ROWS, columns=2)[:5], result(ROWS, columns=2)[5:]
    found = tell(QUERY, stream([*head, progress(), *tail]))
    assert (found.status, found.rows, found.done) == ("result", 3, True)
    only = tell(QUERY, stream([progress()]))
    assert (only.done, only.answered) == (False, False)


def test_replication_ends_with_its_beginning() -> None:
    data = stream([b"\0" + bytes(40), b"\0" + bytes(40)])
    found = feed(BINLOG_DUMP, [data])
    assert (found.status, found.done, found.streaming, found.used) == ("result", True, True, 45)
    assert feed(BINLOG_DUMP, [mysql.error(1236, b"could not find log")]).status == "error"


@pytest.mark.parametrize("header", [0, 0xFE], ids=["an OK", "an OK for an EOF"])
def test_a_change_of_schema_and_of_character_set_is_in_the_ok(header: int) -> None:
    changes = (
        answer.change(2, b"1") + answer.change(0, b"character_set_client", b"gbk") + answer.change(1, b"shop")
        + answer.change(5, b"________") + answer.change(0, b"autocommit", b"ON", b"character_set_client", b"sjis")
    )  # fmt: skip
    last = ok(header=header, info=b"Rows matched: 1", changes=changes)
    packets = [last] if header == 0 else [*result(ROWS, columns=2, deprecated=True)[:-1], last]
    found = tell(QUERY, stream(packets))
    assert (found.moves_to, found.sets_charset, found.done) == (b"shop", 13, True)


@pytest.mark.parametrize("changes", [b"\x01\x05\x09shop", b"\x01\x05", b"\x01", b"\0\x04\x03abc", b"\x01\xff", b""])
def test_changes_that_contradict_themselves_are_passed_over(changes: bytes) -> None:
    found = tell(QUERY, stream([ok(4, changes=changes)]))
    assert (found.status, found.affected_rows, found.moves_to, found.done) == ("ok", 4, None, True)


def test_a_schema_of_no_possible_length_moves_nothing() -> None:
    assert tell(QUERY, stream([ok(changes=answer.change(1, b"s" * 300))])).moves_to is None


def test_status_flags_become_flags_of_the_exchange() -> None:
    status = answer.WAS_SLOW | answer.NO_INDEX_USED
    assert tell(QUERY, stream(result(ROWS, columns=2, status=status))).flags == {"slow", "no_index_used"}
    assert tell(QUERY, stream([ok(status=answer.NO_GOOD_INDEX_USED)])).flags == {"no_good_index_used"}


@pytest.mark.parametrize("at", range(8))
def test_a_packet_out_of_turn_breaks_the_answer(at: int) -> None:
    data = bytearray(stream(result(ROWS, columns=2)))
    place = 0
    for _ in range(at):
        place += 4 + int.from_bytes(data[place : place + 3], "little")
    data[place + 3] ^= 0x40
    found = tell(QUERY, bytes(data))
    assert (found.done, found.broken) == (False, True)


def test_an_empty_packet_breaks_the_answer() -> None:
    assert tell(QUERY, stream([b""])).broken
    assert tell(QUERY, stream([*result(ROWS, columns=2)[:5], b"", eof()])).broken


def test_an_ok_that_is_cut_short_breaks_the_answer() -> None:
    assert tell(QUERY, stream([b"\0\xfc\x01"])).broken


# --- what is lost


def lose(data: bytes, low: int, high: int) -> Told:
    """What an answer tells of which these bytes never came."""
    exchange = asked(QUERY)
    allowance = Allowance(1 << 20)
    answers = Answers(allowance)
    answers.begin(exchange, 1)
    answers.take(data[:low], 0, low, FIRST_NS)
    if answers.gap(high - low):
        answers.take(data[high:], 0, len(data) - high, FIRST_NS)
    found = told(exchange, answers, 0)
    answers.end()
    assert allowance.used == 0
    return found


def test_what_is_lost_inside_a_row_changes_nothing() -> None:
    data = stream(result([text_row(b"x" * 100), text_row(b"y" * 100)]))
    begin = data.index(b"xxx")
    whole = feed(QUERY, [data])
    for low, high in ((begin, begin + 50), (begin + 1, begin + 100), (begin + 99, begin + 100)):
        found = lose(data, low, high)
        assert (found.rows, found.status, found.done, found.bytes_out) == (2, "result", True, whole.bytes_out)


def test_what_is_lost_across_packets_leaves_what_was_told_before() -> None:
    data = stream(result([text_row(b"x" * 100), text_row(b"y" * 100)]))
    begin = data.index(b"xxx")
    for low, high in ((begin, begin + 101), (begin - 5, begin), (begin - 1, begin), (0, 5)):
        found = lose(data, low, high)
        assert (found.done, found.rows) == (False, -1)
        assert found.status == ("result" if low else "unknown")


def test_of_an_error_whose_end_is_lost_the_beginning_is_told() -> None:
    data = mysql.error(1064, b"You have an error in your SQL syntax")
    found = lose(data, 30, 40)
    assert (found.status, found.error, found.done) == ("error", (1064, b"42000", data[13:30]), True)


def test_an_ok_whose_middle_is_lost_tells_nothing_wrong() -> None:
    data = stream([ok(70_000, 1 << 40, 3)])
    found = lose(data, 8, 15)
    assert (found.done, found.broken, found.affected_rows) == (False, True, 0)


def test_without_an_open_answer_nothing_is_taken_and_nothing_is_lost() -> None:
    answers = Answers(Allowance(1 << 20))
    assert answers.take(b"\x01\0\0\x01\x01", 0, 5, 0) == 0
    assert not answers.gap(3)
