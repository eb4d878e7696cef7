"""How connections open, who is heard on them, and how they end."""

from __future__ import annotations

import pytest

from tests.support import mysql_packets as mysql
from tests.support.packets import ACK, FIN, RST, SYN, Connection, ipv4, tcp
from tests.support.pipeline import Capture, logged_in, texts
from workers.settings import Settings

SETTINGS = Settings(ports=(3306,))
ONE_WAY = Settings(ports=(3306,), responses="none")
FAR = 1 << 29


def text(number: int) -> bytes:
    return b"DROP TABLE t%d" % number


def sent(number: int) -> bytes:
    return mysql.query(text(number))


def begun(settings: Settings = SETTINGS) -> tuple[Capture, Connection]:
    """A connection that is logged in."""
    capture, connection = Capture(settings), Connection()
    capture.feed(*logged_in(connection))
    return capture, connection


def elsewhere(connection: Connection, distance: int, payload: bytes = b"", flags: int = ACK) -> bytes:
    """A packet of the client at another place than where it is, which stays where it was."""
    here = connection.client_next
    connection.client_next = (here + distance) & 0xFFFFFFFF
    packet = connection.client(payload, flags=flags)
    connection.client_next = here
    return packet


# --- who leads a sniffer astray


@pytest.mark.parametrize("settings", [SETTINGS, ONE_WAY], ids=["both ways", "one way"])
@pytest.mark.parametrize("distance", [70_000, FAR, (1 << 30) - 1000])
def test_what_is_said_behind_a_segment_from_far_ahead_is_heard(settings: Settings, distance: int) -> None:
    capture, connection = begun(settings)
    capture.feed(elsewhere(connection, distance, sent(99)))
    capture.pass_time(2)
    for number in range(5):
        capture.feed(connection.client(sent(number)), connection.server(mysql.ok()))
    assert texts(capture.finish()) == [text(99), *[text(number) for number in range(5)]]
    assert capture.counted("packets_duplicate", "gaps_filled_late") == (0, 1)


def test_a_statement_in_many_segments_is_heard_there_as_well() -> None:
    capture, connection = begun()
    long = b"INSERT INTO t VALUES ('" + b"x" * 5000 + b"')"
    capture.feed(elsewhere(connection, FAR, b"\x01\x02\x03"))
    capture.pass_time(2)
    whole = mysql.query(long)
    capture.feed(*[connection.client(whole[at : at + 1000]) for at in range(0, len(whole), 1000)])
    assert texts(capture.finish()) == [long]


def test_segments_there_may_come_in_any_order() -> None:
    capture, connection = begun()
    capture.feed(elsewhere(connection, FAR, b"\x01\x02\x03"))
    capture.pass_time(2)
    packets = [connection.client(sent(number)) for number in range(4)]
    capture.feed(packets[2], packets[1], packets[3], packets[0])
    assert texts(capture.finish()) == [text(number) for number in range(4)]


def test_several_segments_from_far_ahead_hide_nothing() -> None:
    capture, connection = begun()
    for number in range(1, 12):
        capture.feed(elsewhere(connection, number * 50_000_000, b"\x01\x02\x03"))
        capture.pass_time(2)
        capture.feed(connection.client(sent(number)))
    assert texts(capture.finish()) == [text(number) for number in range(1, 12)]


def test_what_stands_where_the_far_segment_stood_is_heard() -> None:
    """The receiver threw the segment away, and takes other bytes with the same numbers later."""
    capture, connection = begun()
    before = [connection.client(sent(number)) for number in range(100)]
    hidden = sent(777)
    capture.feed(connection.client(hidden[:-1] + b"8"))
    capture.pass_time(2)
    connection.client_next -= len(hidden)
    capture.feed(*before, connection.client(hidden), connection.client(sent(1)))
    capture.pass_time(2)
    capture.feed(connection.client(sent(2)))
    found = texts(capture.finish())
    assert [text(number) for number in range(100)] == found[1:101]
    assert found[101:] == [text(777), text(1), text(2)]
    assert capture.counted("segments_disagreeing") == (1,)


def test_a_segment_that_was_late_for_long_is_read_in_its_place_and_nothing_twice() -> None:
    capture, connection = begun()
    late = connection.client(sent(0))
    early = [connection.client(sent(number)) for number in (1, 2)]
    capture.feed(*early)
    capture.pass_time(2)
    capture.feed(late, *early, connection.client(sent(3)))
    capture.pass_time(2)
    capture.feed(connection.client(sent(4)), late, *early)
    assert texts(capture.finish()) == [text(1), text(2), text(0), text(3), text(4)]


def test_a_hole_inside_a_statement_is_not_gone_back_to() -> None:
    """All of it belongs to the statement, which is flagged; what came behind it stays in step."""
    capture, connection = begun()
    whole = mysql.query(b"SELECT '" + b"x" * 5000 + b"'")
    pieces = [connection.client(whole[at : at + 1000]) for at in range(0, len(whole), 1000)]
    capture.feed(*pieces[:2], *pieces[3:])
    capture.pass_time(2)
    capture.feed(pieces[2], connection.client(sent(1)))
    cut, following = capture.finish()[1:]
    assert cut.flags == ("truncated", "after_gap")
    assert (following.sql, following.flags) == (text(1), ())
    assert capture.counted("gaps_filled_late", "packets_duplicate") == (0, 1)


@pytest.mark.parametrize("settings", [SETTINGS, ONE_WAY], ids=["both ways", "one way"])
def test_a_connection_that_was_left_out_for_a_while_says_so_when_it_is_back(settings: Settings) -> None:
    """As the budget's last step and a smaller share of the connections leave it out."""
    capture, connection = begun(settings)
    capture.feed(connection.client(sent(0)), connection.server(mysql.ok()))
    for number in range(1, 5):
        connection.client(sent(number))
        connection.server(mysql.ok())
    capture.feed(connection.client(sent(5)))
    capture.pass_time(2)
    capture.feed(connection.server(mysql.ok()), connection.client(sent(6)), connection.server(mysql.ok()))
    found = capture.finish()[1:]
    assert [(one.sql, one.flags) for one in found] == [(text(0), ()), (text(5), ("after_gap",)), (text(6), ())]
    assert [one.session.user for one in found] == ["app"] * 3


def test_segments_out_of_any_window_are_stray() -> None:
    capture, connection = begun()
    capture.feed(*[elsewhere(connection, distance, sent(9)) for distance in (1 << 30, 1 << 31, 3 << 30 - 1)])
    capture.feed(connection.client(sent(1)))
    assert texts(capture.finish()) == [text(1)]
    assert capture.counted("packets_stray", "gaps") == (3, 0)


def test_a_stream_that_lost_more_than_a_window_is_followed_again() -> None:
    capture, connection = begun()
    connection.client_next = (connection.client_next + (5 << 29)) & 0xFFFFFFFF
    for number in range(40):
        capture.feed(connection.client(sent(number)))
        capture.pass_time(0.1)
    found = texts(capture.finish())
    assert found == [text(number) for number in range(40 - len(found), 40)]
    assert len(found) > 25
    assert capture.counted("gaps", "gaps_waited") == (1, 1)
    assert capture.counted("packets_stray") == (40 - len(found),)


def test_stray_segments_do_not_lead_a_stream_away_that_goes_on() -> None:
    capture, connection = begun()
    for number in range(40):
        capture.feed(connection.client(sent(number)), elsewhere(connection, 1 << 31, sent(99)))
        capture.pass_time(0.1)
    assert texts(capture.finish()) == [text(number) for number in range(40)]


def test_keep_alives_and_zero_window_probes_change_nothing() -> None:
    capture, connection = begun()
    probe = elsewhere(connection, -1)
    with_a_byte = elsewhere(connection, -1, b"\0")
    statement = sent(1)
    byte_ahead = elsewhere(connection, 0, statement[:1])
    capture.feed(probe, with_a_byte, byte_ahead, byte_ahead, with_a_byte, connection.client(statement), probe)
    assert texts(capture.finish()) == [text(1)]
    assert capture.counted("packets_duplicate", "gaps") == (3, 0)


@pytest.mark.parametrize("size", [1, 3, 4, 5, 700])
def test_what_is_sent_again_with_other_boundaries_is_read_once(size: int) -> None:
    capture, connection = begun()
    whole = b"".join(sent(number) for number in range(90))
    first = connection.client_next
    packets = []
    for step in (size, size * 2, 1448):
        connection.client_next = first
        packets += [connection.client(whole[at : at + step]) for at in range(0, len(whole), step)][: 700 // step]
    connection.client_next = first
    packets += [connection.client(whole)]
    capture.feed(*packets)
    assert texts(capture.finish()) == [text(number) for number in range(90)]


def test_a_copy_of_a_statement_that_says_something_else_is_counted() -> None:
    capture, connection = begun()
    first = connection.client_next
    capture.feed(connection.client(mysql.query(b"SELECT 1 FROM t")))
    connection.client_next = first
    capture.feed(connection.client(mysql.query(b"DROP TABLE tttt")))
    assert capture.counted("segments_disagreeing", "packets_duplicate") == (1, 1)
    assert texts(capture.finish()) == [b"SELECT 1 FROM t"]


# --- opening


def test_nobody_gets_a_conversation_by_a_syn() -> None:
    capture = Capture(SETTINGS)
    for port in range(1, 200):
        capture.feed(*Connection(client_port=port).open())
    assert capture.counted("connections_opened", "packets_used") == (0, 398)
    capture.pass_time(61)
    assert capture.counted("connections_half_open", "connections_evicted") == (199, 0)
    assert capture.finish() == []


def test_a_flood_of_syns_drives_no_connection_out() -> None:
    capture = Capture(Settings(ports=(3306,), max_flows=8))
    connections = [Connection(client_port=port) for port in range(1, 8)]
    for connection in connections:
        capture.feed(*logged_in(connection))
    capture.feed(*[Connection(client_port=port).open()[0] for port in range(100, 1100)])
    for connection in connections:
        capture.feed(connection.client(sent(1)))
    found = [one for one in capture.finish() if one.command == "query"]
    assert [one.session.user for one in found] == ["app"] * 7
    assert capture.counted("connections_evicted", "connections_half_open") == (0, 1000)


@pytest.mark.parametrize("flags", [RST, RST | ACK])
def test_a_refused_connection_leaves_nothing(flags: int) -> None:
    capture, connection = Capture(SETTINGS), Connection()
    capture.feed(connection.client(flags=SYN), connection.server(flags=flags))
    assert capture.counted("connections_half_open", "packets_used") == (1, 2)


def test_a_reset_that_does_not_belong_to_the_syn_refuses_nothing() -> None:
    capture, connection = Capture(SETTINGS), Connection()
    opening = connection.open()
    capture.feed(*opening[:2], elsewhere(connection, 100, flags=RST), opening[2])
    capture.feed(connection.server(mysql.greeting()), connection.client(mysql.login()))
    (login,) = capture.finish()
    assert login.session.from_start
    assert capture.counted("packets_stray") == (1,)


@pytest.mark.parametrize("servers_first", [True, False])
def test_both_may_open_at_once(servers_first: bool) -> None:
    capture, connection = Capture(SETTINGS), Connection()
    syn = connection.client(flags=SYN)
    counter = connection.server(flags=SYN)
    both = [elsewhere(connection, -1, flags=SYN | ACK), ipv4_syn_ack(connection)]
    capture.feed(*((counter, syn) if servers_first else (syn, counter)), *both)
    capture.feed(connection.server(mysql.greeting()), connection.client(mysql.login()))
    capture.feed(connection.server(mysql.ok(sequence=2)), connection.client(sent(1)))
    login, statement = capture.finish()
    assert (login.status, login.session.from_start) == ("ok", True)
    assert statement.sql == text(1)
    assert capture.counted("connections_opened", "packets_stray") == (1, 0)


def ipv4_syn_ack(connection: Connection) -> bytes:
    """The server's SYN again, now with its acknowledgment."""
    return ipv4(
        tcp(
            source=3306,
            target=connection.client_port,
            sequence=connection.server_next - 1,
            acknowledgment=connection.client_next,
            flags=SYN | ACK,
        ),
        source="10.0.0.2",
        target="10.0.0.1",
    )


def test_a_greeting_opens_a_connection_whose_syns_were_not_captured() -> None:
    capture, connection = Capture(SETTINGS), Connection()
    connection.open()
    capture.feed(connection.server(mysql.greeting(version=b"8.0.36")), connection.client(mysql.login()))
    (login,) = capture.finish()
    assert login.session.server_version == "8.0.36"
    assert login.session.from_start


@pytest.mark.parametrize("said", [mysql.ok(), mysql.packet(0, b"\x0a\xff\xff\xff\0rest"), mysql.packet(0, b"\x0a8.0")])
def test_what_is_no_greeting_opens_nothing(said: bytes) -> None:
    capture, connection = Capture(SETTINGS), Connection()
    capture.feed(connection.server(said))
    assert capture.counted("packets_unmatched", "connections_opened") == (1, 0)


# --- ports used again


@pytest.mark.parametrize("seen", [(0, 1, 2), (0,), (1,), (0, 2)], ids=["all", "SYN", "SYN-ACK", "one way"])
def test_ports_used_again_without_a_fin_are_another_connection(seen: tuple[int, ...]) -> None:
    capture, first = begun()
    capture.feed(first.client(sent(1)))
    second = Connection(client_first=3_000_000_000, server_first=9)
    opening = second.open()
    capture.feed(*[opening[number] for number in seen])
    greeting = second.server(mysql.greeting(connection_id=77))
    if 2 not in seen or 1 in seen:
        capture.feed(greeting)
    capture.feed(second.client(mysql.login(user=b"other")), second.server(mysql.ok(sequence=2)))
    capture.feed(second.client(sent(2)))
    found = [one for one in capture.finish() if one.command == "query"]
    assert [(one.sql, one.session.user, one.session.from_start) for one in found] == [
        (text(1), "app", True),
        (text(2), "other", True),
    ]


def test_a_syn_alone_does_not_end_a_connection_that_goes_on() -> None:
    capture, connection = begun()
    capture.feed(Connection(client_first=77).open()[0], connection.client(sent(1)), connection.server(mysql.ok()))
    found = capture.finish()[1:]
    assert [(one.sql, one.status, one.session.user) for one in found] == [(text(1), "ok", "app")]
    assert capture.counted("connections_opened") == (1,)


def test_a_forged_syn_with_forged_data_leaves_the_connection_heard() -> None:
    """One direction does not show that the server took neither; the client that goes on does."""
    capture, connection = begun(ONE_WAY)
    for number in range(3):
        forged = Connection(client_first=number * 800_000_000 + 77)
        capture.feed(forged.open()[0], forged.client(b"\x01\x02\x03"))
        capture.feed(connection.client(sent(number)), connection.client(sent(number + 10)))
    assert texts(capture.finish()) == [text(number) for number in (0, 10, 1, 11, 2, 12)]


def test_a_second_syn_while_a_connection_opens_is_told_by_the_answer() -> None:
    capture, connection = Capture(SETTINGS), Connection()
    opening = connection.open()
    forged = Connection(client_first=77).open()[0]
    capture.feed(opening[0], forged, opening[1], forged, opening[2])
    capture.feed(connection.server(mysql.greeting()), connection.client(mysql.login()))
    (login,) = capture.finish()
    assert login.session.from_start
    assert capture.counted("gaps", "connections_opened") == (0, 1)


# --- ends that come before what was said


@pytest.mark.parametrize("flags", [(FIN | ACK, FIN | ACK), (RST, None), (RST | ACK, None)])
def test_what_comes_behind_the_end_but_was_sent_before_is_read(flags: tuple[int, int | None]) -> None:
    capture, connection = begun()
    late = [connection.client(sent(number)) for number in range(3)]
    mine, theirs = flags
    capture.feed(late[2], connection.client(flags=mine))
    if theirs is not None:
        capture.feed(connection.server(flags=theirs))
    assert capture.counted("statements_packed") == (1,)
    capture.feed(late[1], late[0])
    assert capture.counted("statements_packed") == (4,), "and then it is over"
    assert texts(capture.finish()) == [text(0), text(1), text(2)]
    assert capture.counted("gaps", "packets_duplicate", "connections_opened") == (0, 0, 1)


def test_what_never_came_before_the_end_is_a_gap() -> None:
    capture, connection = begun()
    connection.client(sent(0))
    capture.feed(connection.client(flags=FIN | ACK), connection.server(flags=FIN | ACK))
    capture.pass_time(11)
    assert capture.counted("gaps", "gaps_ended", "gap_bytes") == (1, 1, len(sent(0)))
    capture.feed(connection.client(sent(9)[:0], flags=FIN | ACK))
    assert texts(capture.finish()) == []


def test_ends_that_come_twice_are_duplicates() -> None:
    capture, connection = begun()
    mine = connection.client(flags=FIN | ACK)
    theirs = connection.server(flags=FIN | ACK)
    capture.feed(mine, mine, theirs, theirs, mine)
    assert capture.counted("packets_duplicate") == (3,)


def test_data_in_a_reset_is_none_of_the_stream() -> None:
    capture, connection = begun()
    capture.feed(connection.client(mysql.query(b"the reason, in words"), flags=RST | ACK))
    assert texts(capture.finish()) == []


# --- resets that are none (RFC 5961)


@pytest.mark.parametrize("distance", [-1, -5000, 1 << 30, 1 << 31])
def test_a_reset_from_out_of_the_window_ends_nothing(distance: int) -> None:
    capture, connection = begun()
    capture.feed(elsewhere(connection, distance, flags=RST), connection.client(sent(1)))
    capture.feed(connection.server(mysql.ok(7)))
    (statement,) = capture.finish()[1:]
    assert (statement.sql, statement.affected_rows, statement.session.user) == (text(1), 7, "app")
    assert capture.counted("packets_stray", "connections_opened") == (1, 1)


@pytest.mark.parametrize("flags", [RST, FIN | ACK])
@pytest.mark.parametrize("distance", [1, 10, 60_000])
def test_an_end_ahead_ends_nothing_where_both_go_on_past_it(flags: int, distance: int) -> None:
    capture, connection = begun()
    capture.feed(elsewhere(connection, distance, flags=flags))
    for number in range(3000):
        capture.feed(connection.client(sent(number)), connection.server(mysql.ok()))
    capture.pass_time(100)
    capture.feed(connection.client(sent(1)))
    found = capture.finish()[1:]
    assert len(found) == 3001
    assert {one.session.user for one in found} == {"app"}
    assert capture.counted("connections_opened") == (1,)


def test_a_reset_of_the_server_that_it_does_not_mean_ends_nothing() -> None:
    capture, connection = begun()
    place = connection.server_next
    for distance in (-300, 50_000):
        connection.server_next = place + distance
        capture.feed(connection.server(flags=RST))
    connection.server_next = place
    capture.feed(connection.client(sent(1)), connection.server(mysql.ok(7)))
    capture.pass_time(100)
    capture.feed(connection.client(sent(2)))
    one, two = capture.finish()[1:]
    assert (one.affected_rows, two.session.user) == (7, "app")


def test_a_reset_of_the_server_behind_what_was_not_looked_at_ends_the_connection_after_a_while() -> None:
    capture, connection = begun()
    connection.server(bytes(100_000))
    capture.feed(connection.client(sent(1)), connection.server(flags=RST))
    capture.pass_time(5)
    assert capture.counted("statements_packed") == (1,)
    capture.pass_time(6)
    assert capture.counted("statements_packed") == (2,)


def test_who_goes_on_after_a_reset_was_not_reset() -> None:
    """A reset with the very number that its receiver expects can be forged too; then the statements are still heard."""
    capture, connection = begun()
    capture.feed(connection.client(flags=RST), connection.client(sent(1)), connection.client(sent(2)))
    assert texts(capture.finish()) == [text(1), text(2)]


def test_a_connection_that_goes_on_repeats_nothing() -> None:
    capture, connection = begun()
    capture.feed(connection.client(sent(1)), connection.client(flags=RST))
    connection.client_next -= len(sent(1))
    capture.feed(connection.client(sent(1) + sent(2)))
    assert texts(capture.finish()) == [text(1), text(2)]


def test_ports_used_again_whose_syns_were_not_captured_are_heard() -> None:
    capture, connection = begun()
    capture.feed(connection.client(flags=RST))
    connection.client_next = (connection.client_next + (1 << 31)) & 0xFFFFFFFF
    capture.feed(connection.client(sent(1)))
    assert texts(capture.finish()) == [text(1)]


# --- one direction


def test_of_the_servers_direction_alone_no_statement_is_made_up() -> None:
    capture, connection = Capture(SETTINGS), Connection()
    _, syn_ack, _ = connection.open()
    capture.feed(syn_ack, connection.server(mysql.greeting()))
    for number in range(20):
        connection.client(sent(number))
        capture.feed(connection.server(mysql.ok()), connection.server(mysql.result()))
    capture.feed(connection.server(flags=FIN | ACK))
    assert capture.finish() == []
    assert capture.counted("gaps", "packets_unmatched") == (0, 40)


@pytest.mark.parametrize("settings", [SETTINGS, ONE_WAY])
def test_of_the_clients_direction_alone_nothing_waits_for_the_server(settings: Settings) -> None:
    capture, connection = Capture(settings), Connection()
    syn, _, acknowledged = connection.open()
    connection.server(mysql.greeting())
    capture.feed(syn, acknowledged, connection.client(mysql.login()))
    for number in range(20):
        connection.server(mysql.ok())
        capture.feed(connection.client(sent(number)))
    assert capture.counted("statements_decoded") == (21,)
    assert texts(capture.finish()) == [text(number) for number in range(20)]


# --- why a gap was declared


def test_the_reason_of_each_gap_is_counted() -> None:
    limits = Settings(ports=(3306,), max_flow_buffer_bytes=5000, max_buffer_bytes=20_000)
    capture = Capture(limits)

    def early(port: int, *sizes: int) -> None:
        connection = Connection(client_port=port)
        capture.feed(*connection.open(), connection.client(sent(0)))
        connection.client(sent(0))
        capture.feed(*[connection.client(mysql.query(b"x" * size)) for size in sizes])

    early(1, 100)
    capture.pass_time(2)
    early(2, 3000, 3000)
    for port in range(3, 9):
        early(port, 4000)
    snapped = Connection(client_port=20)
    capture.feed(snapped.client(mysql.query(b"SELECT " + b"y" * 500)), cut=100)
    reasons = ("gaps_waited", "gaps_flow_full", "gaps_memory_full", "gaps_snapped")
    waited, flow_full, memory_full, cut = capture.counted(*reasons)
    assert (waited, flow_full, cut) == (1, 1, 1)
    assert memory_full >= 1
    capture.finish()
    assert sum(capture.counted(*reasons, "gaps_ended")) == capture.counted("gaps")[0] == 9
