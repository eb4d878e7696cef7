from __future__ import annotations

import pytest

from tests.support import mysql_packets as mysql
from workers.mysql.answers import read_answer, read_prepared
from workers.mysql.events import ERROR, OK, RESULT, UNKNOWN, Exchange


def read(payload: bytes) -> Exchange | None:
    """What an answer leaves in an exchange; None where it is none. Other bytes stand around it."""
    exchange = Exchange()
    framed = b"\xff" + payload + b"\x09" * 20
    return exchange if read_answer(exchange, framed, 1, 1 + len(payload)) else None


def test_an_ok_of_the_largest_numbers_is_read() -> None:
    exchange = read(mysql.ok((1 << 64) - 1, (1 << 64) - 1, 0xFFFF)[4:])
    assert exchange is not None
    assert (exchange.status, exchange.affected_rows) == (OK, (1 << 64) - 1)
    assert (exchange.last_insert_id, exchange.warnings) == ((1 << 64) - 1, 0xFFFF)


def test_an_ok_without_status_and_warnings_is_one_of_an_old_server() -> None:
    exchange = read(b"\0\x03\x04")
    assert exchange is not None
    assert (exchange.status, exchange.affected_rows, exchange.last_insert_id, exchange.warnings) == (OK, 3, 4, 0)


def test_an_error_of_the_largest_number_is_read() -> None:
    exchange = read(mysql.error(0xFFFF, b"message")[4:])
    assert exchange is not None
    assert (exchange.status, exchange.error_code, exchange.sqlstate, exchange.message) == (
        ERROR,
        0xFFFF,
        b"42000",
        b"message",
    )


def test_an_error_without_sqlstate_is_all_message() -> None:
    exchange = read(mysql.error(1040, b"#few", None)[4:])
    assert exchange is not None
    assert (exchange.sqlstate, exchange.message) == (b"", b"#few")


def test_the_message_of_an_error_is_kept_up_to_what_servers_write() -> None:
    exchange = read(mysql.error(1064, b"m" * 1000)[4:])
    assert exchange is not None
    assert exchange.message == b"m" * 512


def test_an_eof_has_warnings_where_it_has_room_for_them() -> None:
    with_warnings, without = read(mysql.eof(0x1234)[4:]), read(b"\xfe")
    assert with_warnings is not None
    assert without is not None
    assert (with_warnings.status, with_warnings.warnings) == (OK, 0x1234)
    assert (without.status, without.warnings) == (OK, 0)


@pytest.mark.parametrize("first", [b"\x01", b"\xfa", b"\xfc\x2c\x01", b"\xfd\0\0\x01"])
def test_a_count_of_columns_makes_a_result(first: bytes) -> None:
    exchange = read(first)
    assert exchange is not None
    assert exchange.status == RESULT


def test_what_is_no_number_is_no_answer() -> None:
    assert read(b"\xfb") is None


@pytest.mark.parametrize("payload", [b"", b"\0", b"\0\xfc\x01", b"\0\x01\xfe\x01", b"\xff", b"\xff\x01"])
def test_an_answer_that_is_cut_short_changes_nothing(payload: bytes) -> None:
    exchange = Exchange()
    with pytest.raises(IndexError):
        read_answer(exchange, b"\x09" + payload + bytes(20), 1, 1 + len(payload))
    assert (exchange.status, exchange.affected_rows, exchange.last_insert_id) == (UNKNOWN, 0, 0)
    assert (exchange.error_code, exchange.message) == (0, b"")


def test_a_prepared_statement_has_an_id_and_a_count_of_parameters() -> None:
    exchange = Exchange()
    payload = mysql.prepare_ok(0xFFFFFFFE, 0xFFFF, warnings=0xABCD)[4:]
    assert read_prepared(exchange, payload, 0, len(payload))
    assert (exchange.statement_id, exchange.parameter_count, exchange.warnings) == (0xFFFFFFFE, 0xFFFF, 0xABCD)
    assert exchange.status == OK


@pytest.mark.parametrize("payload", [b"", b"\0" * 11, b"\x01" + bytes(11)])
def test_what_is_no_answer_to_prepare_is_told_apart(payload: bytes) -> None:
    exchange = Exchange()
    assert not read_prepared(exchange, payload + bytes(20), 0, len(payload))
    assert exchange.status == UNKNOWN
