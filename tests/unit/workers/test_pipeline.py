from __future__ import annotations

import array

import pytest

from tests.support import mysql_packets as mysql
from tests.support.packets import ACK, FIN, RST, SYN, Connection, ipv4, tcp
from tests.support.pipeline import SECOND_NS, START_NS, STEP_NS, Capture, logged_in, texts
from workers.counters import NAMES
from workers.pipeline import Pipeline
from workers.settings import Settings

SETTINGS = Settings(ports=(3306,))
SELECT = mysql.query(b"SELECT 1")


def text(number: int) -> bytes:
    return b"SELECT %d" % number


def sent(number: int) -> bytes:
    return mysql.query(text(number))


# --- a connection


def test_a_statement_comes_out_with_all_that_is_known_of_it() -> None:
    capture, connection = Capture(SETTINGS), Connection()
    capture.feed(*logged_in(connection), connection.client(SELECT), connection.server(mysql.result()))
    login, select = capture.finish()
    assert (login.command, login.status) == ("connect", "ok")
    assert (select.sql, select.status) == (b"SELECT 1", "result")
    assert (select.time_ns, select.latency_ns) == (START_NS + 7 * STEP_NS, STEP_NS)
    assert (select.session.client, select.session.server) == ("10.0.0.1:40000", "10.0.0.2:3306")
    assert (select.session.user, select.session.from_start) == ("app", True)


@pytest.mark.parametrize("addresses", [("10.0.0.1", "10.0.0.2"), ("fd00::1", "fd00::2")])
def test_both_families_of_addresses_are_followed(addresses: tuple[str, str]) -> None:
    capture, connection = Capture(SETTINGS), Connection(client=addresses[0], server=addresses[1])
    capture.feed(*logged_in(connection), connection.client(SELECT))
    assert texts(capture.finish()) == [b"SELECT 1"]


def test_a_port_on_which_a_server_begins_to_listen_is_read_from_then_on_and_the_others_too() -> None:
    capture, known = Capture(SETTINGS), Connection()
    other = Connection(client_port=40001, server_port=3307)
    capture.feed(*logged_in(known), *logged_in(other))
    capture.pipeline.serve((3306, 3307), ())
    capture.feed(known.client(SELECT), *logged_in(other), other.client(mysql.query(b"SELECT 2")))
    assert set(texts(capture.finish())[-2:]) == {b"SELECT 1", b"SELECT 2"}


def test_the_ports_of_either_protocol_may_change_and_what_comes_of_others_is_foreign() -> None:
    capture, x = Capture(SETTINGS), Connection(client_port=40001, server_port=33060)
    capture.feed(*logged_in(Connection()))
    capture.pipeline.serve((), (33060,))
    capture.feed(*logged_in(Connection(client_port=40002)), x.client(b"\x06\0\0\0\x0c\x1a\x03SQL"))
    counted = capture.pipeline.counters()
    assert counted["packets_foreign"] == len(logged_in(Connection()))
    assert counted["connections_opened"] == 2


def test_the_age_of_a_block_may_change() -> None:
    capture, connection = Capture(SETTINGS), Connection()
    capture.feed(*logged_in(connection), connection.client(SELECT), connection.server(mysql.result()))
    opened_ns = START_NS + 9 * STEP_NS
    capture.pipeline.block_age_ns = 3_000_000_000
    assert not capture.pipeline.block_ready(opened_ns + 2_000_000_000)
    capture.pipeline.block_age_ns = 1_000_000_000
    assert capture.pipeline.block_ready(opened_ns + 2_000_000_000)


def test_sequence_numbers_may_wrap_inside_a_statement() -> None:
    capture, connection = Capture(SETTINGS), Connection(client_first=2**32 - 10, server_first=2**32 - 30)
    capture.feed(*logged_in(connection), connection.client(SELECT), connection.server(mysql.result()))
    assert [one.status for one in capture.finish()] == ["ok", "result"]


def test_a_connection_joined_late_is_followed() -> None:
    capture, connection = Capture(SETTINGS), Connection()
    capture.feed(connection.client(SELECT), connection.server(mysql.result()))
    (select,) = capture.finish()
    assert (select.status, select.flags) == ("result", ("joined_late",))


def test_a_connection_whose_syn_was_missed_is_opened_by_the_answer() -> None:
    capture, connection = Capture(SETTINGS), Connection()
    capture.feed(*logged_in(connection)[1:], connection.client(SELECT))
    assert {one.session.from_start for one in capture.finish()} == {True}


def test_data_in_the_syn_is_read() -> None:
    capture, connection = Capture(SETTINGS), Connection()
    capture.feed(connection.client(SELECT, flags=SYN))
    assert texts(capture.finish()) == [b"SELECT 1"]


def test_other_ports_are_foreign() -> None:
    capture, connection = Capture(SETTINGS), Connection(server_port=3307)
    capture.feed(*logged_in(connection))
    assert capture.counted("packets_foreign") == (6,)
    assert capture.finish() == []


def test_every_port_named_is_a_servers() -> None:
    capture = Capture(Settings(ports=(3306, 3307)))
    for port in (3306, 3307):
        connection = Connection(server_port=port)
        capture.feed(*logged_in(connection), connection.client(SELECT))
    assert texts(capture.finish()) == [b"SELECT 1"] * 2


@pytest.mark.parametrize("late", [False, True])
def test_a_client_whose_port_is_a_servers_too_is_told_from_it(late: bool) -> None:
    capture, connection = Capture(Settings(ports=(3306, 3307))), Connection(client_port=3307)
    opening = logged_in(connection)
    capture.feed(
        *([] if late else opening),
        connection.client(SELECT),
        connection.server(mysql.result()),
        connection.client(sent(2)),
        connection.server(mysql.ok()),
    )
    found = [one for one in capture.finish() if one.command == "query"]
    assert [(one.sql, one.status) for one in found] == [(b"SELECT 1", "result"), (b"SELECT 2", "ok")]
    assert {one.session.client for one in found} == {"10.0.0.1:3307"}


# --- where packets go


def test_packets_that_are_not_followed_are_counted_by_reason() -> None:
    capture, connection = Capture(SETTINGS), Connection()
    capture.feed(
        ipv4(b"\0" * 8, protocol=17),
        ipv4(tcp(SELECT), fragment=0x2000),
        ipv4(tcp(SELECT), length=10),
        b"",
        connection.client(),
        connection.server(),
        connection.server(mysql.ok()),
        connection.client(flags=FIN | ACK),
    )
    assert capture.packet_counters() | {"packets_used": 0} == {
        **dict.fromkeys(capture.packet_counters(), 0),
        "packets_foreign": 1,
        "packets_fragment": 1,
        "packets_malformed": 2,
        "packets_empty": 3,
        "packets_unmatched": 1,
    }
    assert capture.finish() == []


def test_packets_of_unreadable_streams_are_counted_by_reason() -> None:
    tls = Connection(client_port=1000)
    compressed = Connection(client_port=1001)
    odd = Connection(client_port=1002)
    capture = Capture(SETTINGS)
    capture.feed(*tls.open(), tls.server(mysql.greeting()), tls.client(mysql.ssl_request()))
    capture.feed(tls.client(b"\x16\x03\x01\0\x05hello"), tls.server(b"\x16\x03\x01\0\x05hello"))
    assert capture.counted("packets_encrypted") == (3,)
    capabilities = mysql.CLIENT_CAPABILITIES | mysql.COMPRESS
    capture.feed(*compressed.open(), compressed.server(mysql.greeting(capabilities=0xFFFFFFFF)))
    capture.feed(compressed.client(mysql.login(capabilities=capabilities)), compressed.server(mysql.ok(sequence=2)))
    capture.feed(*logged_in(odd), odd.client(b"\x09\0\0\0\x7fgarbage!"), odd.client(b"more garbage"))
    assert capture.counted("packets_desync", "resyncs") == (2, 1)
    found = capture.finish()
    assert {one.session.compressed for one in found} == {True, False}


def test_a_packet_that_was_cut_by_the_capture_leaves_a_gap() -> None:
    capture, connection = Capture(SETTINGS), Connection()
    long = connection.client(mysql.query(b"SELECT " + b"x" * 1000))
    capture.feed(long, cut=200)
    capture.feed(connection.server(mysql.result()), connection.client(SELECT))
    cut, whole = capture.finish()
    assert cut.sql is not None
    assert cut.original_length == 1007
    assert (len(cut.sql), cut.flags) == (200 - 40 - 5, ("truncated", "after_gap", "joined_late"))
    assert whole.sql == b"SELECT 1"
    assert capture.counted("frames_snapped", "gaps", "gap_bytes", "statements_truncated") == (1, 1, 1052 - 200, 1)


# --- order


def test_segments_that_come_early_are_put_in_order() -> None:
    capture, connection = Capture(SETTINGS), Connection()
    capture.feed(*logged_in(connection))
    packets = [connection.client(sent(number)) for number in range(4)]
    capture.feed(packets[2], packets[3], packets[1], packets[0])
    assert texts(capture.finish()) == [text(number) for number in range(4)]
    assert capture.counted("segments_held", "gaps") == (3, 0)


def test_answers_find_their_commands_where_these_came_early() -> None:
    capture, connection = Capture(SETTINGS), Connection()
    capture.feed(*logged_in(connection))
    first = connection.client(sent(1))
    missed = connection.server(mysql.result())
    second = connection.client(sent(2))
    capture.feed(second, first, connection.server(mysql.ok(7)))
    assert missed
    one, two = capture.finish()[1:]
    assert (one.sql, one.status) == (b"SELECT 1", "unknown")
    assert (two.sql, two.status, two.affected_rows) == (b"SELECT 2", "ok", 7)


def test_answers_find_their_commands_behind_a_hole_that_was_given_up() -> None:
    capture, connection, other = Capture(SETTINGS), Connection(), Connection(client_port=5)
    capture.feed(*logged_in(connection))
    capture.feed(connection.client(sent(1)))
    connection.server(mysql.result())
    connection.client(sent(2))
    connection.server(mysql.result())
    capture.feed(connection.client(sent(3)), other.client(SELECT))
    capture.pass_time(2)
    capture.feed(connection.server(mysql.ok(7)))
    assert [(one.sql, one.status) for one in capture.finish()[1:]] == [
        (b"SELECT 1", "unknown"),
        (b"SELECT 3", "ok"),
        (b"SELECT 1", "unknown"),
    ]


def test_an_early_segment_that_comes_again_is_held_once() -> None:
    capture, connection = Capture(SETTINGS), Connection()
    capture.feed(*logged_in(connection))
    first, early = connection.client(sent(0)), connection.client(sent(1))
    capture.feed(early, early, first)
    assert texts(capture.finish()) == [text(0), text(1)]
    assert capture.counted("packets_duplicate") == (1,)


def test_an_early_segment_that_was_cut_by_the_capture_leaves_a_gap() -> None:
    capture, connection = Capture(SETTINGS), Connection()
    capture.feed(*logged_in(connection))
    first, early = connection.client(sent(0)), connection.client(mysql.query(b"SELECT " + b"x" * 1000))
    capture.feed(early, cut=100)
    capture.feed(first, connection.client(sent(2)))
    found = capture.finish()[1:]
    assert [(one.sql or b"")[:8] for one in found] == [text(0), b"SELECT x", text(2)]
    assert found[1].flags == ("truncated", "after_gap")


def test_what_is_sent_again_is_counted_and_not_read_twice() -> None:
    capture, connection = Capture(SETTINGS), Connection()
    opening = logged_in(connection)
    statement = connection.client(SELECT)
    answer = connection.server(mysql.result())
    capture.feed(*opening, opening[0], statement, statement, answer, answer)
    assert texts(capture.finish()) == [b"SELECT 1"]
    assert capture.counted("packets_duplicate") == (3,)


def test_a_hole_is_given_up_when_it_is_old() -> None:
    capture, connection = Capture(SETTINGS), Connection()
    capture.feed(*logged_in(connection))
    connection.client(sent(0))
    capture.feed(connection.client(sent(1)))
    capture.pass_time(0.5)
    assert capture.counted("gaps") == (0,)
    capture.pass_time(0.6)
    assert capture.counted("gaps", "gap_bytes") == (1, len(sent(0)))
    capture.pass_time(1)
    assert texts(capture.finish()) == [text(1)]


def test_a_hole_is_given_up_when_too_much_waits_behind_it() -> None:
    capture, connection = Capture(Settings(ports=(3306,), max_flow_buffer_bytes=5000)), Connection()
    capture.feed(*logged_in(connection))
    connection.client(sent(0))
    for number in range(1, 200):
        capture.feed(connection.client(sent(number)))
    assert capture.counted("gaps") == (1,)
    assert texts(capture.finish()) == [text(number) for number in range(1, 200)]


def test_a_hole_is_given_up_when_all_connections_together_hold_too_much() -> None:
    capture = Capture(Settings(ports=(3306,), max_buffer_bytes=20_000))
    for port in range(1, 40):
        connection = Connection(client_port=port)
        capture.feed(*connection.open())
        connection.client(sent(0))
        capture.feed(connection.client(mysql.query(b"x" * 1000)))
    assert capture.counted("gaps")[0] > 15
    assert len(texts(capture.finish())) == 39


def test_copies_that_differ_are_counted() -> None:
    capture, connection = Capture(SETTINGS), Connection()
    capture.feed(*logged_in(connection))
    at = connection.client_next
    first = connection.client(sent(0))
    early = connection.client(sent(1))
    connection.client_next = at + len(sent(0))
    other = connection.client(sent(2))
    capture.feed(early, other, first)
    assert texts(capture.finish()) == [text(0), text(1)]
    assert capture.counted("segments_disagreeing") == (1,)


# --- the end of a connection


def test_a_connection_ends_with_a_fin_from_either_side() -> None:
    capture, connection = Capture(SETTINGS), Connection()
    capture.feed(*logged_in(connection), connection.client(SELECT))
    capture.feed(connection.client(flags=FIN | ACK))
    assert capture.counted("statements_packed") == (1,)
    capture.feed(connection.server(mysql.result(), flags=FIN | ACK))
    assert capture.counted("statements_packed") == (2,)
    assert capture.finish()[1].status == "result"


def test_a_reset_ends_a_connection() -> None:
    capture, connection = Capture(SETTINGS), Connection()
    capture.feed(*logged_in(connection), connection.client(SELECT), connection.server(flags=RST))
    assert capture.counted("statements_packed") == (2,)


def test_what_comes_late_after_the_end_is_no_new_connection() -> None:
    capture, connection = Capture(SETTINGS), Connection()
    statement = [*logged_in(connection), connection.client(SELECT)][-1]
    capture.feed(*logged_in(connection := Connection()), statement)
    capture.feed(connection.server(flags=RST), statement, connection.server(mysql.result()), statement)
    assert capture.counted("connections_opened", "packets_duplicate") == (1, 3)
    assert texts(capture.finish()) == [b"SELECT 1"]


def test_a_connection_is_opened_anew_by_a_syn() -> None:
    capture = Capture(SETTINGS)
    first, second = Connection(), Connection(client_first=90_000, server_first=80_000)
    capture.feed(*logged_in(first), first.client(sent(1)), first.client(flags=RST))
    capture.feed(*logged_in(second), second.client(sent(2)))
    assert texts(capture.finish()) == [text(1), text(2)]
    assert capture.counted("connections_opened") == (2,)


def test_a_connection_that_was_still_open_is_reported_when_a_syn_opens_it_anew() -> None:
    capture = Capture(SETTINGS)
    first, second = Connection(), Connection(client_first=90_000, server_first=80_000)
    capture.feed(*logged_in(first), first.client(sent(1)))
    first.client(sent(2))
    capture.feed(first.client(sent(3)), first.client(sent(0)[:6]))
    capture.feed(*logged_in(second), second.client(sent(4)))
    assert texts(capture.finish()) == [text(1), text(3), text(4)]


def test_a_closed_connection_is_opened_anew_by_the_answer_to_a_syn_that_was_missed() -> None:
    capture = Capture(SETTINGS)
    first, second = Connection(), Connection(client_first=90_000, server_first=80_000)
    capture.feed(*logged_in(first), first.client(flags=RST), *logged_in(second)[1:], second.client(sent(2)))
    assert texts(capture.finish()) == [text(2)]


def test_a_closed_connection_is_forgotten_though_packets_still_come() -> None:
    capture, connection = Capture(SETTINGS), Connection()
    opening = logged_in(connection)
    late = connection.client(sent(1))
    capture.feed(*opening, late, connection.client(flags=RST))
    capture.pass_time(8)
    capture.feed(late)
    assert capture.counted("packets_duplicate") == (1,)
    capture.pass_time(8)
    capture.feed(late)
    assert capture.counted("packets_duplicate", "connections_opened") == (1, 2)


def test_a_silent_connection_is_forgotten() -> None:
    capture, connection = Capture(Settings(ports=(3306,), idle_timeout_ns=60 * 10**9)), Connection()
    capture.feed(*logged_in(connection), connection.client(SELECT))
    capture.pass_time(59)
    assert capture.counted("statements_packed") == (1,)
    capture.pass_time(2)
    assert capture.counted("statements_packed") == (2,)


def test_at_the_limit_a_connection_goes_for_each_new_one() -> None:
    capture = Capture(Settings(ports=(3306,), max_flows=10))
    for port in range(1, 31):
        connection = Connection(client_port=port)
        capture.feed(*logged_in(connection), connection.client(sent(port)))
    assert capture.counted("connections_opened", "connections_evicted") == (30, 20)
    assert sorted(texts(capture.finish())) == sorted(text(port) for port in range(1, 31))  # type: ignore[type-var]


def test_closed_connections_go_before_open_ones() -> None:
    capture = Capture(Settings(ports=(3306,), max_flows=10))
    for port in range(1, 31):
        connection = Connection(client_port=port)
        capture.feed(*connection.open(), connection.client(flags=RST))
    assert capture.counted("connections_evicted") == (0,)


# --- answers


def test_without_answers_statements_are_packed_at_once() -> None:
    capture, connection = Capture(Settings(ports=(3306,), responses="none")), Connection()
    capture.feed(*logged_in(connection), connection.client(SELECT))
    assert capture.counted("statements_packed") == (2,)
    capture.feed(connection.server(mysql.result()))
    assert capture.counted("packets_unmatched") == (1,)
    login, select = capture.finish()
    assert (login.status, select.status, select.latency_ns) == ("ok", "unknown", None)


def test_without_answers_prepared_statements_are_still_known() -> None:
    capture, connection = Capture(Settings(ports=(3306,), responses="none")), Connection()
    capture.feed(*logged_in(connection), connection.client(mysql.prepare(b"SELECT ?")))
    capture.feed(connection.server(mysql.prepare_ok(1, 1)))
    capture.feed(connection.client(mysql.execute(1, [mysql.Bound(mysql.TINY, b"\x07")])))
    assert capture.finish()[-1].parameters == (7,)


def test_a_statement_over_the_limit_is_cut() -> None:
    capture, connection = Capture(Settings(ports=(3306,), max_statement_bytes=100)), Connection()
    capture.feed(*logged_in(connection), connection.client(mysql.query(b"x" * 101)))
    (cut,) = capture.finish()[1:]
    assert (cut.sql, cut.original_length, cut.flags) == (b"x" * 100, 101, ("truncated",))


# --- blocks


def test_a_block_is_ready_when_it_is_old_or_full() -> None:
    capture, connection = Capture(Settings(ports=(3306,), block_age_ns=500)), Connection()
    pipeline = capture.pipeline
    assert not pipeline.block_ready(START_NS + 10**12)
    capture.feed(*logged_in(connection))
    assert not pipeline.block_ready(capture.now_ns + 499)
    assert pipeline.block_ready(capture.now_ns + 500)
    pipeline.take_block(capture.now_ns)
    assert not pipeline.block_ready(capture.now_ns + 10**12)
    while not pipeline.full:
        packet = connection.client(mysql.query(b"x" * 30_000))
        pipeline.packet(packet, 0, len(packet), capture.now_ns, len(packet))
    assert pipeline.block_ready(0)
    pipeline.take_block(capture.now_ns)
    assert not pipeline.full


def test_a_clock_that_is_set_back_holds_up_neither_blocks_nor_what_waits_nor_what_is_to_be_forgotten() -> None:
    capture = Capture(Settings(ports=(3306,), gap_timeout_ns=SECOND_NS, idle_timeout_ns=100 * SECOND_NS))
    waiting, silent = Connection(), Connection(client="10.0.0.7")
    capture.feed(*logged_in(waiting), *logged_in(silent))
    capture.pass_time(0)
    waiting.client(sent(0))  # is never captured
    capture.feed(waiting.client(sent(1)))
    capture.now_ns -= 3600 * SECOND_NS
    assert capture.pipeline.block_ready(capture.now_ns)
    capture.pass_time(2)
    assert capture.counted("gaps") == (1,)
    capture.feed(silent.client(SELECT))
    capture.pass_time(200)
    assert capture.counted("statements_packed") == (3,)  # two logins, and what the silent one said last


def test_packets_that_make_no_statement_are_told_of_before_long() -> None:
    capture, connection = Capture(SETTINGS), Connection()
    pipeline = capture.pipeline
    assert not pipeline.block_ready(START_NS)
    capture.feed(*connection.open())
    seen_ns = capture.now_ns
    assert not pipeline.block_ready(seen_ns)
    assert not pipeline.block_open()
    assert not pipeline.block_ready(seen_ns + 10 * SECOND_NS - 1)
    assert pipeline.block_ready(seen_ns + 10 * SECOND_NS)
    capture.blocks.append(pipeline.take_block(seen_ns + 10 * SECOND_NS))
    assert not pipeline.block_ready(seen_ns + 30 * SECOND_NS)
    assert capture.heads()[0]["after"] == pipeline.counters()
    assert capture.finish() == []


def test_blocks_account_for_what_was_counted_between_them() -> None:
    capture, connection = Capture(SETTINGS), Connection()
    capture.feed(*logged_in(connection))
    capture.blocks.append(capture.pipeline.take_block(capture.now_ns))
    capture.feed(connection.client(SELECT), connection.client())
    capture.finish()
    first, last = capture.heads()
    assert (first["worker"], first["incarnation"], first["sequence"]) == (1, 2, 0)
    assert first["before"] == dict.fromkeys(NAMES, 0)
    assert last["before"] == first["after"]
    assert last["after"] == capture.pipeline.counters()
    assert (first["final"], last["final"], last["sequence"]) == (False, True, 1)


def test_the_last_block_holds_what_still_waited() -> None:
    capture, connection = Capture(SETTINGS), Connection()
    capture.feed(*logged_in(connection), connection.client(sent(1)))
    connection.client(b"lost")
    capture.feed(connection.client(sent(2)))
    assert texts(capture.finish()) == [text(1), text(2)]


def test_what_is_open_on_many_connections_at_the_end_makes_blocks_that_can_be_read() -> None:
    capture = Capture(SETTINGS)
    for number in range(300):
        connection = Connection(client=f"10.0.{number // 250}.{number % 250}")
        connection.open()
        for _ in range(60):
            packet = connection.client(SELECT)
            capture.pipeline.packet(packet, 0, len(packet), capture.now_ns, len(packet))
    capture.pipeline.finish(capture.now_ns)
    while capture.pipeline.full:
        capture.blocks.append(capture.pipeline.take_block(capture.now_ns))
    capture.blocks.append(capture.pipeline.take_block(capture.now_ns, final=True))
    assert len(capture.blocks) > 1
    assert max(len(body) for _, body in capture.blocks) < 1 << 20
    assert len(list(capture.statements())) == 300 * 60


def test_counters_are_stored_in_the_order_of_their_names() -> None:
    capture, connection = Capture(SETTINGS), Connection()
    capture.feed(*logged_in(connection))
    words = array.array("Q", bytes(8 * (len(NAMES) + 3)))
    capture.pipeline.store_counters(memoryview(words))
    assert dict(zip(NAMES, words, strict=False)) == capture.pipeline.counters()
    assert list(words[len(NAMES) :]) == [0, 0, 0]
    assert capture.counted("packets_used", "packets_empty", "statements_decoded", "connections_opened") == (5, 1, 1, 1)


def test_the_build_says_what_it_is() -> None:
    from workers import pipeline

    assert isinstance(pipeline.COMPILED, bool)
    assert not Pipeline(0, 0, SETTINGS).full


# --- the clock


@pytest.mark.parametrize("step_ns", [-3600 * SECOND_NS, 3600 * SECOND_NS])
def test_times_open_across_a_step_of_the_clock_are_left_out_and_later_ones_are_not(step_ns: int) -> None:
    capture, first, second = Capture(SETTINGS), Connection(), Connection(client_port=40001)
    capture.feed(*logged_in(first), *logged_in(second))
    capture.feed(first.client(SELECT), first.server(mysql.result()))  # before
    rows = capture.pipeline.rows
    capture.feed(second.client(sent(2)))  # open at the step
    capture.feed(first.client(sent(3)), first.server(mysql.result()))  # packed since the last look at the clock
    capture.now_ns += step_ns
    capture.pipeline.clock_stepped(rows, step_ns, capture.now_ns)
    capture.feed(second.server(mysql.result()))
    capture.feed(first.client(sent(4)), first.server(mysql.result()))  # while stamps of either clock may come
    capture.feed(first.client(sent(5)))
    capture.pipeline.clock_settled(capture.now_ns)
    capture.feed(first.server(mysql.result()))
    capture.feed(first.client(sent(6)), first.server(mysql.result()))  # after
    statements = [one for one in capture.finish() if one.command == "query"]
    opened = {one.sql: one.time_ns for one in statements}
    assert opened[text(2)] - opened[b"SELECT 1"] == 2 * STEP_NS + step_ns  # as the new clock would have had it
    assert opened[text(4)] - opened[text(2)] == 4 * STEP_NS
    found = {one.sql: (one.status, one.latency_ns) for one in statements}
    assert found == {
        b"SELECT 1": ("result", STEP_NS),
        text(2): ("result", None),
        text(3): ("result", None),
        text(4): ("result", None),
        text(5): ("result", None),
        text(6): ("result", STEP_NS),
    }
    assert capture.pipeline.counters()["durations_unknown"] == 4
    assert capture.pipeline.counters()["clock_steps"] == 1


@pytest.mark.parametrize("step_ns", [-30 * 86_400 * SECOND_NS, 30 * 86_400 * SECOND_NS])
def test_a_step_of_the_clock_ends_no_connection_and_gives_up_nothing_that_is_waited_for(step_ns: int) -> None:
    capture, connection = Capture(SETTINGS), Connection()
    capture.feed(*logged_in(connection))
    missing, following = connection.client(sent(1)), connection.client(sent(2))
    capture.feed(following)
    capture.now_ns += step_ns
    capture.pipeline.clock_stepped(0, step_ns, capture.now_ns)
    capture.pipeline.tick(capture.now_ns)
    capture.feed(missing)
    capture.pipeline.clock_settled(capture.now_ns)
    capture.pipeline.tick(capture.now_ns + 2 * SECOND_NS)
    capture.feed(connection.client(sent(3)))
    found = [one for one in capture.finish() if one.command == "query"]
    assert [one.sql for one in found] == [text(1), text(2), text(3)]
    assert {one.session.user for one in found} == {"app"}
    assert capture.pipeline.counters()["gaps"] == 0
