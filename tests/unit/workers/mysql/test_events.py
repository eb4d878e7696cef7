from __future__ import annotations

from workers.mysql import events
from workers.mysql.events import Exchange, Outbox, Session


def test_an_exchange_begins_with_nothing_known() -> None:
    exchange = Exchange()
    assert (exchange.status, exchange.latency_ns, exchange.text, exchange.parameters) == (
        events.UNKNOWN,
        -1,
        None,
        None,
    )
    assert (exchange.message, exchange.sqlstate, exchange.flags) == (b"", b"", 0)


def test_an_exchange_shows_what_it_is_about() -> None:
    exchange = Exchange()
    exchange.text = b"SELECT 1"
    assert "b'SELECT 1'" in repr(exchange)


def test_the_largest_numbers_fit() -> None:
    exchange, session = Exchange(), Session()
    for name in ("affected_rows", "last_insert_id", "text_length", "bytes_in"):
        setattr(exchange, name, (1 << 64) - 1)
        assert getattr(exchange, name) == (1 << 64) - 1
    exchange.statement_id = 0xFFFFFFFF
    assert exchange.statement_id == 0xFFFFFFFF
    session.connection_id = (1 << 64) - 1
    assert session.connection_id == (1 << 64) - 1


def test_the_text_of_a_prepared_statement_is_not_the_executions_own() -> None:
    exchange = Exchange()
    empty = exchange.own_bytes()
    exchange.text, exchange.parameters = b"x" * 1000, b"y" * 10
    assert exchange.own_bytes() == empty + 1010
    exchange.prepared = True
    assert exchange.own_bytes() == empty + 10


def test_what_a_greeting_and_a_login_tell_has_to_be_shipped_anew() -> None:
    greeted, logged_in = Session(), Session()
    greeted.packed = logged_in.packed = b"before"
    greeted.greeted(b"8.0.36", 77)
    logged_in.logs_in(b"app", b"\x01a\x01b", 45)
    assert [each.packed for each in (greeted, logged_in)] == [None, None]
    assert (greeted.server_version, greeted.connection_id) == (b"8.0.36", 77)
    assert (logged_in.user, logged_in.attributes, logged_in.charset) == (b"app", b"\x01a\x01b", 45)


def test_a_successor_is_the_same_connection_without_its_user() -> None:
    session = Session()
    session.connection_id, session.server_version, session.ends = 7, b"8.0", b"ends"
    session.user, session.attributes, session.packed, session.from_start = b"app", b"\x01a\x01b", b"packed", True
    other = session.successor()
    assert (other.connection_id, other.server_version, other.ends, other.from_start) == (7, b"8.0", b"ends", True)
    assert (other.user, other.attributes, other.packed) == (None, b"", None)


def test_each_flag_has_a_name() -> None:
    flags = (
        "TRUNCATED", "INFERRED_TEXT", "INFERRED_ID", "AFTER_GAP", "SLOW", "LOOKED_UP", "RESTORED", "JOINED_LATE",
        "NO_INDEX_USED", "NO_GOOD_INDEX_USED",
    )  # fmt: skip
    assert [getattr(events, flag) for flag in flags] == [1 << bit for bit in range(len(flags))]
    assert tuple(flag.lower() for flag in flags) == events.FLAG_NAMES


def test_an_outbox_begins_empty() -> None:
    outbox = Outbox()
    assert (outbox.finished, outbox.decoded, outbox.truncated, outbox.desyncs) == ([], 0, 0, 0)
