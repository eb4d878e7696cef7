"""What is counted of connections that use TLS, and that nothing of them is kept."""

from __future__ import annotations

import pytest

from tests.support import mysql_packets as mysql
from tests.support import x_packets as x
from tests.support.packets import ACK, FIN, RST, Connection
from tests.support.pipeline import Capture
from workers.settings import RESPONSES, Responses, Settings

REST = "connections_encrypted", "encrypted_bytes", "encrypted_answer_bytes"
HELLO = b"\x16\x03\x01\x02\x00" + b"\1" * 512
ANSWER = b"\x16\x03\x03\x00\x7a" + b"\2" * 122
RECORD = b"\x17\x03\x03\x00\x40" + b"\3" * 64
SETTINGS = Settings(ports=(3306,), x_ports=(33060,))


def asked(connection: Connection) -> list[bytes]:
    """A connection up to its SSL request."""
    return [*connection.open(), connection.server(mysql.greeting()), connection.client(mysql.ssl_request())]


def ended(connection: Connection) -> list[bytes]:
    return [connection.client(flags=FIN | ACK), connection.server(flags=FIN | ACK), connection.client()]


@pytest.mark.parametrize("responses", RESPONSES)
def test_bytes_are_those_behind_the_request_for_tls_on_each_side(responses: Responses) -> None:
    capture, connection = Capture(Settings(ports=(3306,), responses=responses)), Connection()
    capture.feed(*asked(connection), connection.client(HELLO), connection.server(ANSWER), connection.client(RECORD))
    capture.feed(connection.server(RECORD), *ended(connection))
    assert capture.finish() == []
    assert capture.counted(*REST) == (1, len(HELLO + RECORD), len(ANSWER + RECORD))
    assert capture.counted("packets_encrypted", "packets_used") == (5, 5)


def test_a_request_for_tls_alone_is_a_connection_without_bytes() -> None:
    capture = Capture(SETTINGS)
    capture.feed(*asked(Connection()))
    assert capture.counted(*REST) == (1, 0, 0)


def test_what_follows_the_request_in_its_segment_counts() -> None:
    capture, connection = Capture(SETTINGS), Connection()
    capture.feed(*connection.open(), connection.server(mysql.greeting()))
    capture.feed(connection.client(mysql.ssl_request() + HELLO), connection.server(ANSWER))
    assert capture.counted(*REST) == (1, len(HELLO), len(ANSWER))


def test_bytes_sent_again_count_once_and_those_not_captured_too() -> None:
    capture, connection = Capture(SETTINGS), Connection()
    opening = asked(connection)
    hello, lost, record = (connection.client(part) for part in (HELLO, RECORD, RECORD))
    capture.feed(*opening, hello, hello, record, record, hello)
    assert capture.counted(*REST) == (1, len(HELLO + RECORD + RECORD), 0)
    capture.feed(lost)
    assert capture.counted(*REST) == (1, len(HELLO + RECORD + RECORD), 0)
    capture.pass_time(5)
    assert capture.counted("gaps", "segments_held") == (0, 0)


def test_a_request_that_comes_late_is_found_with_all_that_waited_for_it() -> None:
    capture, connection = Capture(SETTINGS), Connection()
    opening = asked(connection)
    hello, record = connection.client(HELLO), connection.client(RECORD)
    capture.feed(*opening[:-1], record, hello, opening[-1])
    assert capture.counted("segments_held") == (2,)
    capture.feed(connection.client(RECORD))
    assert capture.counted(*REST) == (1, len(HELLO + RECORD + RECORD), 0)
    assert capture.pipeline.kept_bytes() == 0


def test_what_was_not_seen_is_counted_at_the_end_where_nothing_came_behind_it() -> None:
    capture, connection = Capture(SETTINGS), Connection()
    opening = asked(connection)
    capture.feed(*opening[:-1], connection.client(HELLO), opening[-1])
    capture.finish()
    assert capture.counted(*REST) == (1, len(HELLO), 0)


def test_a_connection_joined_late_counts_from_its_first_record_on() -> None:
    capture, connection = Capture(SETTINGS), Connection()
    capture.feed(connection.server(RECORD))
    capture.feed(connection.client(RECORD), connection.server(RECORD * 2), connection.client(RECORD))
    assert capture.counted(*REST) == (1, 2 * len(RECORD), 2 * len(RECORD))


def test_a_connection_joined_late_of_which_only_the_client_is_seen_counts_both() -> None:
    capture, connection = Capture(Settings(ports=(3306,), responses="none")), Connection()
    for _ in range(3):
        capture.feed(connection.client(RECORD))
        connection.server(ANSWER)
    assert capture.counted(*REST) == (1, 3 * len(RECORD), 2 * len(ANSWER))
    capture.feed(connection.client(flags=FIN | ACK))
    assert capture.counted(*REST) == (1, 3 * len(RECORD), 3 * len(ANSWER))


def test_answers_that_are_not_captured_are_counted_by_what_the_client_acknowledges() -> None:
    capture, connection = Capture(Settings(ports=(3306,), responses="none")), Connection()
    capture.feed(*asked(connection), connection.client(HELLO))
    connection.server(ANSWER)
    capture.feed(connection.client(RECORD))
    assert capture.counted(*REST) == (1, len(HELLO + RECORD), len(ANSWER))
    connection.server(RECORD * 100)
    capture.feed(connection.server(flags=FIN | ACK))
    assert capture.counted(*REST) == (1, len(HELLO + RECORD), len(ANSWER + RECORD * 100))
    capture.feed(connection.client(flags=FIN | ACK))
    assert capture.counted(*REST) == (1, len(HELLO + RECORD), len(ANSWER + RECORD * 100)), "a FIN is no byte"


def test_connections_between_the_same_ends_are_told_apart() -> None:
    capture = Capture(SETTINGS)
    for first in (1000, 900_000):
        connection = Connection(client_first=first, server_first=first + 7)
        capture.feed(*asked(connection), connection.client(HELLO), *ended(connection))
    assert capture.counted(*REST) == (2, 2 * len(HELLO), 0)


def test_a_clear_connection_behind_one_under_tls_is_read() -> None:
    capture = Capture(SETTINGS)
    connection = Connection()
    capture.feed(*asked(connection), connection.client(HELLO), connection.client(flags=RST))
    connection = Connection(client_first=700_000, server_first=800_000)
    capture.feed(*connection.open(), connection.server(mysql.greeting()), connection.client(mysql.login()))
    capture.feed(connection.server(mysql.ok(sequence=2)), connection.client(mysql.query(b"SELECT 1")))
    assert [one.sql for one in capture.finish()][1:] == [b"SELECT 1"]
    assert capture.counted(*REST) == (1, len(HELLO), 0)


def test_segments_from_elsewhere_add_no_more_than_themselves() -> None:
    capture, connection = Capture(SETTINGS), Connection()
    capture.feed(*asked(connection), connection.client(HELLO))
    here = connection.client_next
    connection.client_next = (here + (1 << 31)) % (1 << 32)
    capture.feed(connection.client(RECORD))
    connection.client_next = here
    capture.feed(connection.client(RECORD))
    assert capture.counted(*REST) == (1, len(HELLO + RECORD + RECORD), 0)


def test_the_x_protocol_counts_from_what_the_server_granted() -> None:
    capture, connection = Capture(SETTINGS), Connection(server_port=33060)
    capture.feed(*connection.open(), connection.client(x.capabilities(tls=True)), connection.server(x.ok()))
    capture.feed(connection.client(HELLO), connection.server(ANSWER), connection.client(RECORD), *ended(connection))
    capture.finish()
    assert capture.counted(*REST) == (1, len(HELLO + RECORD), len(ANSWER))


def test_the_x_protocol_where_the_grant_was_not_seen_counts_whole_records() -> None:
    capture, connection = Capture(SETTINGS), Connection(server_port=33060)
    capture.feed(*connection.open(), connection.client(x.capabilities(tls=True)))
    connection.server(x.ok())
    capture.feed(connection.client(HELLO[:3]), connection.client(HELLO[3:]), connection.client(RECORD))
    capture.finish()
    assert capture.counted(*REST) == (1, len(HELLO + RECORD), 0)
