"""What leaves a worker is what the settings allow, passwords never."""

from __future__ import annotations

from tests.support import mysql_packets as mysql
from tests.support.mysql_packets import Bound
from tests.support.packets import Connection
from tests.support.pipeline import Capture, logged_in
from workers.mysql.constants import COM_INIT_DB, COM_QUERY, SERVER_STATUS_NO_BACKSLASH_ESCAPES
from workers.mysql.events import OK, Exchange
from workers.privacy import Privacy
from workers.records import Statement
from workers.settings import Literals, Selection, Settings

NOTHING = Selection()
SECRET = b"s3cret"
TEXT = Bound(mysql.VAR_STRING, mysql.counted(SECRET))


def settings(literals: Literals = "keep", omit: Selection = NOTHING) -> Settings:
    """Those of a worker that serves one port."""
    return Settings(ports=(3306,), literals=literals, omit=omit)


def recorded(options: Settings, *conversation: tuple[bytes, bytes]) -> list[Statement]:
    """What is recorded of commands and their answers, behind a login."""
    capture, both = Capture(options), Connection()
    capture.feed(*logged_in(both))
    for command, answer in conversation:
        capture.feed(both.client(command), both.server(answer))
    return [one for one in capture.finish() if one.command != "connect"]


def cleaned(options: Settings, **fields: object) -> Exchange:
    """An exchange as it leaves."""
    exchange = Exchange()
    for name, value in fields.items():
        setattr(exchange, name, value)
    if exchange.text is not None and not exchange.text_length:
        exchange.text_length = len(exchange.text)
    exchange.command = exchange.command or COM_QUERY
    assert Privacy(options).admits(exchange)
    return exchange


def test_a_masked_statement_has_no_data_but_everything_else() -> None:
    found = recorded(
        settings("mask"),
        (mysql.query(b"SELECT a FROM t WHERE b = 's3cret'"), mysql.result()),
        (mysql.query(b"INSERT INTO t VALUES ('s3cret')"), mysql.error(1062, b"Duplicate entry 's3cret' for key 'b'")),
    )
    assert [one.sql for one in found] == [b"SELECT a FROM t WHERE b = ?", b"INSERT INTO t VALUES (?)"]
    assert (found[1].status, found[1].error_code, found[1].error_message or "") == ("error", 1062, "")
    assert found[0].original_length == len(b"SELECT a FROM t WHERE b = ?")
    assert found[0].flags == ()


def test_values_and_attributes_of_a_masked_execution_are_left_out() -> None:
    conversation = (
        (mysql.prepare(b"SELECT ?, 's3cret'"), mysql.prepare_ok(1, 1)),
        (mysql.execute(1, [TEXT]), mysql.ok()),
        (mysql.execute(1, [TEXT]), mysql.ok()),
    )
    kept = recorded(settings(), *conversation)
    assert kept[1].parameters == ("s3cret",)
    found = recorded(settings("mask"), *conversation)
    assert [one.sql for one in found] == [b"SELECT ?, ?"] * 3
    assert [one.parameters for one in found] == [None] * 3
    assert [one.statement_id for one in found] == [one.statement_id for one in kept]


def test_masking_leaves_names_of_databases_alone() -> None:
    left = cleaned(settings("mask"), command=COM_INIT_DB, text=b"it's-db-1", query_attributes=b"x", message=b"y")
    assert (left.text, left.query_attributes, left.message) == (b"it's-db-1", None, b"")


def test_what_was_cut_of_a_masked_text_stays_known_and_its_hash_does_not() -> None:
    left = cleaned(settings("mask"), text=b"SELECT 's3cr", text_length=100, text_sha256=b"\1" * 32)
    assert (left.text, left.text_length, left.text_sha256) == (b"SELECT ?", 8 + 100 - 12, None)


def test_a_text_that_needs_no_change_is_left_as_it_is() -> None:
    text = b"SELECT a FROM t WHERE b = 'x'"
    left = cleaned(settings(), text=text, text_length=100, text_sha256=b"\1" * 32)
    assert left.text is text
    assert (left.text_length, left.text_sha256) == (100, b"\1" * 32)


def test_a_password_is_hidden_with_what_could_quote_it() -> None:
    left = cleaned(
        settings(), text=b"CREATE USER a IDENTIFIED BY 's3cret'", text_sha256=b"\1" * 32, message=b"near 's3cret'"
    )
    assert left.text == b"CREATE USER a IDENTIFIED BY '<secret>'"
    assert (left.text_length, left.text_sha256, left.message) == (len(left.text), None, b"")


def test_a_password_that_is_bound_is_left_out() -> None:
    found = recorded(
        settings(),
        (mysql.prepare(b"CREATE USER a IDENTIFIED BY ?"), mysql.prepare_ok(1, 1)),
        (mysql.execute(1, [TEXT]), mysql.error(1396, b"about s3cret")),
    )
    assert [one.sql for one in found] == [b"CREATE USER a IDENTIFIED BY ?"] * 2
    assert found[1].parameters is None
    assert found[1].error_code == 1396
    assert not found[1].error_message


def test_values_and_messages_that_are_statements_with_passwords_are_left_out() -> None:
    sql = b"CREATE USER a IDENTIFIED BY 's3cret'"
    left = cleaned(settings(), text=b"EXECUTE IMMEDIATE ?", parameters=sql, query_attributes=sql, message=b"at " + sql)
    assert (left.parameters, left.query_attributes, left.message) == (None, None, b"")
    left = cleaned(settings(), text=b"SELECT ?", parameters=b"password", query_attributes=b"a", message=b"no password")
    assert (left.parameters, left.query_attributes, left.message) == (b"password", b"a", b"no password")


def test_the_servers_status_tells_whether_backslashes_escape() -> None:
    text = b"SELECT 'it\\'s', 1"
    privacy = Privacy(settings("mask"))
    exchange = Exchange()
    exchange.command = COM_QUERY

    def shown(status: int, server_status: int) -> bytes | None:
        exchange.text, exchange.text_length = text, len(text)
        exchange.status, exchange.server_status = status, server_status
        privacy.admits(exchange)
        return exchange.text

    assert shown(OK, 0) == b"SELECT ?"
    assert shown(OK, 2) == b"SELECT ?, ?"
    assert shown(OK, 0) == b"SELECT ?, ?", "as it was"
    assert shown(OK, 2 | SERVER_STATUS_NO_BACKSLASH_ESCAPES) == b"SELECT ?s?"
    assert shown(0, 0) == b"SELECT ?", "nobody knows what the answer would have said"


def test_what_a_rule_leaves_out_is_counted() -> None:
    capture, both = Capture(settings(omit=Selection(commands=("ping",)))), Connection()
    capture.feed(*logged_in(both))
    capture.feed(both.client(mysql.query(b"SELECT 1")), both.server(mysql.ok()))
    capture.feed(both.client(mysql.command(0x0E)), both.server(mysql.ok()))
    capture.blocks.append(capture.pipeline.take_block(capture.now_ns, final=True))
    assert [one.command for one in capture.statements()] == ["connect", "query"]
    assert capture.counted("statements_decoded", "statements_packed", "statements_filtered") == (3, 2, 1)
