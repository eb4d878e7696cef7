from __future__ import annotations

import pytest

from tests.support import answer_packets as answer
from tests.support import mysql_packets as mysql
from tests.support.answer_packets import MORE_RESULTS, eof, ok, prepared, progress, result, stream, text_row
from tests.support.listening import STEP_NS, Heard, Line
from tests.support.play import MIB
from workers.mysql.rules import UNMATCHED, USED

SELECT, UPDATE = b"SELECT a FROM t", b"UPDATE t SET a=1"
ROWS = [text_row(b"a" * 50), text_row(None), text_row(b"")]
RESULT = stream(result(ROWS))
TOLD = Heard("query", SELECT, "result", 3)
CHANGED = Heard("query", UPDATE, "ok", None, 4)
LOAD = b"LOAD DATA LOCAL INFILE 'x' INTO TABLE t"


def asked(line: Line, *texts: bytes) -> Line:
    for text in texts:
        line.client(mysql.query(text))
    return line


# --- the whole direction


def test_answers_are_told_as_soon_as_they_end_wherever_segments_do() -> None:
    line = asked(Line(), SELECT)
    line.server(RESULT[:-1])
    assert line.heard() == []
    line.server(RESULT[-1:])
    assert line.heard() == [TOLD]
    (told,) = line.exchanges()
    assert (told.latency_ns, told.duration_ns, told.bytes_out) == (STEP_NS, 2 * STEP_NS, len(RESULT))


def test_several_answers_in_one_segment_go_to_commands_sent_ahead_in_order() -> None:
    line = asked(Line(), SELECT, UPDATE, SELECT)
    line.server(RESULT + stream([ok(4)]) + RESULT)
    assert line.close() == [TOLD, CHANGED, TOLD]


def test_a_command_sent_when_part_of_an_answer_was_read_does_not_end_it() -> None:
    line = asked(Line(), SELECT)
    line.server(RESULT[:60])
    line.client(mysql.query(UPDATE))
    assert line.heard() == []
    line.server(RESULT[60:] + stream([ok(4)]))
    assert line.close() == [TOLD, CHANGED]


def test_a_command_sent_when_more_was_read_than_was_seen_ends_the_answer() -> None:
    line = asked(Line(), SELECT)
    line.server(RESULT[:60])
    line.client(mysql.query(UPDATE), read=line.place + 500)
    assert line.heard() == [Heard("query", SELECT, "result")]


def test_what_is_held_back_has_still_its_chance() -> None:
    line = asked(Line(), SELECT)
    line.connection.server_position(line.place, True)
    line.client(mysql.query(UPDATE), read=line.place + len(RESULT))
    assert line.heard() == []
    line.server(RESULT)
    line.server(stream([ok(4)]))
    assert line.close() == [TOLD, CHANGED]


@pytest.mark.parametrize("size", [1, 4, 10])
def test_what_nobody_asked_for_is_no_answer_and_the_next_one_is_found(size: int) -> None:
    line = Line()
    assert line.server(b"\x09" * size) == [UNMATCHED]
    asked(line, SELECT)
    assert line.server(RESULT) == [USED]
    assert line.close() == [TOLD]


def test_in_a_connection_joined_late_an_answer_is_found_where_a_segment_begins_like_one() -> None:
    line = Line(from_start=False)
    line.server(RESULT[20:])
    line.client(mysql.query(SELECT))
    assert line.server(RESULT[20:60]) == [UNMATCHED]
    line.server(b"\x01")
    line.server(RESULT, [7, 30])
    line.connection.close()
    assert line.heard() == [TOLD]


def test_an_answer_before_what_the_client_had_read_is_not_for_its_command() -> None:
    line = Line(from_start=False)
    line.client(mysql.query(SELECT), read=line.place + len(RESULT))
    assert line.server(RESULT) == [UNMATCHED]
    line.server(stream([mysql.error(1064, b"no")[4:]]))
    assert [one.status for one in line.heard()] == ["error"]


def test_what_breaks_an_answer_leaves_it_told_as_far_as_it_goes() -> None:
    line = asked(Line(), SELECT)
    line.server(RESULT[:60] + b"\xff" * 300)
    assert line.heard() == [Heard("query", SELECT, "result")]
    asked(line, UPDATE)
    line.server(stream([ok(4)]))
    assert line.close() == [Heard("query", SELECT, "result"), CHANGED]


def test_what_is_no_beginning_leaves_the_command_waiting() -> None:
    line = asked(Line(), SELECT)
    assert line.server(mysql.packet(1, b"\x03\x05")) == [UNMATCHED]
    assert line.server(mysql.packet(9, b"\0\0\0\2\0\0\0")) == [UNMATCHED]
    line.server(RESULT)
    assert line.close() == [TOLD]
    assert line.exchanges()[0].bytes_out == len(RESULT)


def test_a_loss_inside_a_row_loses_nothing() -> None:
    line = asked(Line(), SELECT)
    inside = RESULT.index(b"aaa")
    line.server(RESULT[:inside])
    line.lose(40)
    line.server(RESULT[inside + 40 :])
    assert line.heard() == [TOLD]
    assert line.exchanges()[0].bytes_out == len(RESULT)


def test_a_loss_at_the_end_of_a_packet_can_end_the_answer() -> None:
    line = asked(Line(), UPDATE)
    data = mysql.error(1064, b"message")
    line.server(data[:-3])
    line.lose(3)
    assert line.heard() == [Heard("query", UPDATE, "error", None, 0, 1064)]
    assert line.exchanges()[0].message == b"mess"


def test_a_loss_ends_what_may_have_been_answered_before_it_and_nothing_else() -> None:
    line = asked(Line(), SELECT, UPDATE)
    line.server(RESULT[:60])
    line.client(mysql.query(b"SELECT 2"), read=line.place + 1000)
    line.lose(1000)
    assert line.heard() == [Heard("query", SELECT, "result"), Heard("query", UPDATE, "unknown")]
    line.server(RESULT)
    assert line.close()[-1] == Heard("query", b"SELECT 2", "result", 3)


def test_behind_a_loss_answers_are_found_by_what_the_client_had_read() -> None:
    line = asked(Line(), SELECT)
    line.connection.server_position(line.place, True)
    begin = line.place
    for number in range(3):
        line.client(mysql.query(b"SELECT %d" % number), read=begin + (number + 1) * len(RESULT))
    line.lose(len(RESULT) // 2)
    line.server(RESULT[len(RESULT) // 2 :])
    for _ in range(3):
        line.server(RESULT)
    assert [(one.status, one.rows) for one in line.close()] == [("unknown", None)] + [("result", 3)] * 3


def test_an_answer_that_was_lost_is_not_given_the_next_ones() -> None:
    line = asked(Line(), SELECT)
    line.lose(0)
    line.server(b"\x02")  # out of step
    line.connection.server_position(line.place, True)
    line.client(mysql.query(UPDATE), read=line.place + 80)
    line.place = (line.place + 80) & 0xFFFFFFFF
    line.server(stream([ok(4)]))
    assert line.close() == [Heard("query", SELECT, "unknown"), CHANGED]


def test_a_file_is_waited_for() -> None:
    line = asked(Line(), LOAD)
    line.server(mysql.local_infile())
    assert line.client(mysql.packet(2, b"\x03SELECT 'of the file'") + mysql.packet(3, b"")) == USED
    line.server(stream([ok(4)], sequence=4))
    assert line.close() == [Heard("query", LOAD, "ok", None, 4)]


def test_a_file_asked_for_by_a_later_statement_is_no_command_either() -> None:
    text = b"SELECT a FROM t; " + LOAD
    line = asked(Line(), text)
    several = stream(result(ROWS, status=2 | MORE_RESULTS))
    sequence = 1 + len(result(ROWS))
    line.server(several + mysql.local_infile(sequence=sequence))
    assert line.client(mysql.packet(sequence + 1, b"\x03rows") + mysql.packet(sequence + 2, b"")) == USED
    line.server(stream([ok(4)], sequence=sequence + 3))
    asked(line, SELECT)
    line.server(RESULT)
    assert line.close() == [Heard("query", text, "result", 3, 4), TOLD]


def test_replication_is_not_read_until_a_command_comes() -> None:
    line = Line()
    line.client(mysql.command(0x12, bytes(10)))
    line.server(stream([b"\0" + bytes(30), b"\0" + bytes(30)]))
    assert line.server(stream([b"\0" + bytes(30)], sequence=3)) == [UNMATCHED]
    assert line.heard() == [Heard("binlog_dump", None, "result", 0)]
    asked(line, SELECT)
    line.server(RESULT)
    assert line.close()[-1] == TOLD


def test_a_change_of_database_holds_for_the_next_command_even_if_what_followed_failed() -> None:
    line = asked(Line(), b"USE shop; SELECT no")
    moved = ok(status=2 | MORE_RESULTS, changes=answer.change(1, b"shop"))
    line.server(stream([moved, mysql.error(1054, b"Unknown column")[4:]]))
    asked(line, SELECT)
    line.server(RESULT)
    assert [one.database for one in line.exchanges()] == [None, b"shop"]


def test_a_change_of_character_set_holds_for_the_next_command() -> None:
    line = asked(Line(), b"CALL to_gbk()")
    line.server(stream([ok(changes=answer.change(0, b"character_set_client", b"gbk"))]))
    asked(line, SELECT)
    line.server(RESULT)
    assert [one.charset for one in line.exchanges()] == [mysql.UTF8MB4, 28]


def test_an_execution_sent_ahead_of_the_answer_to_its_prepare_has_its_values() -> None:
    line = Line()
    line.client(mysql.prepare(b"SELECT ?"))
    line.client(mysql.execute(0xFFFFFFFF, [mysql.Bound(mysql.TINY, b"\x07")]))
    line.server(stream(prepared(9, 1, 1)) + stream(result(ROWS)))
    assert [(one.status, one.rows) for one in line.close()] == [("ok", None), ("result", 3)]
    assert [one.statement_id for one in line.exchanges()] == [9, 9]
    assert line.exchanges()[1].parameters is not None


def test_another_login_is_followed_by_answers_in_step() -> None:
    line = Line()
    line.client(mysql.change_user(b"root"))
    line.server(mysql.ok(sequence=1), [3, 2])
    asked(line, SELECT)
    line.server(RESULT, [1, 1, 1, 1, 1])
    assert line.close() == [Heard("change_user", None, "ok"), TOLD]


def test_without_room_what_waits_is_told_without_its_answer() -> None:
    line = Line(room=2000)
    asked(line, b"x" * 1000)
    line.server(RESULT[:60])
    asked(line, b"y" * 1500)
    line.server(RESULT[60:])
    assert [one.status for one in line.close()] == ["result", "unknown"]


# --- segments by themselves, timed


def timed() -> Line:
    return Line(whole=False, timed=True)


def test_the_rest_of_a_timed_answer_is_counted_and_ends_with_the_next_command() -> None:
    line = asked(timed(), SELECT)
    for at in range(0, len(RESULT), 40):
        assert line.server(RESULT[at : at + 40]) == [USED]
    assert line.heard() == []
    asked(line, UPDATE)
    assert line.heard() == [Heard("query", SELECT, "result")]
    (told,) = line.exchanges()
    assert (told.latency_ns, told.duration_ns, told.bytes_out) == (STEP_NS, 4 * STEP_NS, len(RESULT))


def test_a_timed_answer_of_one_packet_is_told_at_once() -> None:
    for data, status in ((stream([ok(4)]), "ok"), (mysql.error(1064, b"no"), "error"), (stream([eof()]), "ok")):
        line = asked(timed(), UPDATE)
        line.server(data)
        assert [one.status for one in line.heard()] == [status]
        (told,) = line.exchanges()
        assert (told.duration_ns, told.bytes_out) == (STEP_NS, len(data))


def test_a_timed_answer_ends_with_silence() -> None:
    line = asked(timed(), SELECT)
    line.server(RESULT[:60])
    (lingering,) = line.outbox.lingering
    assert lingering.quiet(line.now_ns)
    line.server(RESULT[60:])
    assert lingering.quiet(line.now_ns)
    assert line.heard() == []
    assert not lingering.quiet(line.now_ns + 1)
    assert line.heard() == [Heard("query", SELECT, "result")]
    assert not lingering.quiet(line.now_ns + 1)
    assert line.server(b"\x05\x00\x00\x09rows") == [UNMATCHED]
    asked(line, SELECT)
    line.server(RESULT)
    assert len(line.outbox.lingering) == 2
    assert line.close()[1] == Heard("query", SELECT, "result")


def test_a_timed_answer_ends_with_the_connection() -> None:
    line = asked(timed(), SELECT)
    line.server(RESULT)
    assert line.close() == [Heard("query", SELECT, "result")]
    assert line.exchanges()[0].bytes_out == len(RESULT)


def test_bytes_that_were_not_captured_count() -> None:
    line = asked(timed(), SELECT)
    line.server(RESULT[:50], missing=1000)
    line.server(b"whatever", missing=2000)
    line.close()
    assert line.exchanges()[0].bytes_out == 50 + 1000 + 8 + 2000


def test_what_lies_before_a_segment_of_a_timed_answer_counts_too() -> None:
    line = asked(timed(), SELECT)
    line.server(RESULT[:50])
    line.connection.server(b"rest", 0, 4, line.now_ns, 0, 300)
    line.connection.server(b"rest", 0, 4, line.now_ns - 5 * STEP_NS, 0, -3)
    line.close()
    assert line.exchanges()[0].bytes_out == 50 + 304 + 1
    assert line.exchanges()[0].duration_ns == STEP_NS


def test_timed_answers_to_commands_sent_ahead_are_told_apart_by_their_beginnings() -> None:
    line = asked(timed(), SELECT, UPDATE, SELECT)
    line.server(RESULT[:60])
    line.server(RESULT[60:])
    line.server(stream([ok(4)]))
    line.server(RESULT)
    assert line.close() == [Heard("query", SELECT, "result"), CHANGED, Heard("query", SELECT, "result")]
    assert [one.bytes_out for one in line.exchanges()] == [len(RESULT), 11, len(RESULT)]


@pytest.mark.parametrize("timing", [True, False])
def test_answers_of_one_packet_in_one_segment_go_to_commands_sent_ahead(timing: bool) -> None:
    line = asked(Line(whole=False, timed=timing), UPDATE, UPDATE, SELECT)
    line.server(stream([ok(4)]) * 2 + RESULT)
    assert line.close() == [CHANGED, CHANGED, Heard("query", SELECT, "result")]


def test_progress_and_a_request_for_a_file_count_to_a_timed_answer() -> None:
    line = asked(timed(), UPDATE)
    data = stream([progress(), progress(), ok(4)])
    line.server(data, [4 + len(progress())])
    assert line.heard() == [CHANGED]
    assert line.exchanges()[0].bytes_out == len(data)
    line = asked(timed(), LOAD)
    line.server(mysql.local_infile())
    line.client(mysql.packet(2, b"a") + mysql.packet(3, b""))
    line.server(stream([ok(4)], sequence=4))
    assert [one.bytes_out for one in line.exchanges()] == [len(mysql.local_infile()) + 11]


def test_a_prepared_statement_is_known_though_its_definitions_are_still_to_come() -> None:
    line = timed()
    line.client(mysql.prepare(b"SELECT ?"))
    data = stream(prepared(9, 1, 1))
    line.server(data[:16])
    line.server(data[16:])
    line.client(mysql.execute(9, [mysql.Bound(mysql.TINY, b"\x07")]))
    line.server(RESULT)
    prepare, execute = line.close()
    assert (prepare.status, execute.text) == ("ok", b"SELECT ?")
    assert [one.bytes_out for one in line.exchanges()] == [len(data), len(RESULT)]


def test_a_prepare_without_definitions_is_told_at_once() -> None:
    line = timed()
    line.client(mysql.prepare(b"DELETE FROM t"))
    line.server(stream(prepared(9, 0, 0)))
    assert line.heard() == [Heard("stmt_prepare", b"DELETE FROM t", "ok")]


def test_replication_is_told_at_once_and_not_counted() -> None:
    line = timed()
    line.client(mysql.command(0x12, bytes(10)))
    line.server(stream([b"\0" + bytes(30)]))
    assert line.heard() == [Heard("binlog_dump", None, "result")]
    assert line.outbox.lingering == []


def test_a_segment_that_is_cut_too_short_to_be_read_is_no_answer() -> None:
    line = asked(timed(), UPDATE)
    assert line.server(stream([ok(70_000)])[:7]) == [UNMATCHED]
    assert line.server(mysql.packet(1, b"\xfbfile")) == [UNMATCHED]
    line.server(stream([ok(4)]))
    assert line.close() == [CHANGED]


def test_room_is_needed_for_no_answer_that_is_read_by_segments() -> None:
    line = asked(Line(whole=False, timed=True, room=MIB), SELECT)
    used = line.allowance.used
    line.server(RESULT, [50])
    assert line.allowance.used == used
