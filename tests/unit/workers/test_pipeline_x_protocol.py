from __future__ import annotations

from tests.support import mysql_packets as mysql
from tests.support import x_packets as x
from tests.support.packets import Connection
from tests.support.pipeline import STEP_NS, Capture, logged_in
from workers.area import Area
from workers.checkpoint import Checkpoint
from workers.settings import Settings

SETTINGS = Settings(ports=(3306,), x_ports=(33060,))


def login(connection: Connection) -> list[bytes]:
    """The packets of a connection up to the end of its login."""
    return [
        *connection.open(),
        connection.client(x.start()),
        connection.server(x.challenge()),
        connection.client(x.proof()),
        connection.server(x.changed(11, 42) + x.authenticated()),
    ]


def opened() -> tuple[Capture, Connection]:
    """A connection to the X Plugin that is logged in."""
    capture, connection = Capture(SETTINGS), Connection(server_port=33060)
    capture.feed(*login(connection))
    return capture, connection


def test_a_statement_comes_out_with_all_that_is_known_of_it() -> None:
    capture, connection = opened()
    capture.feed(connection.client(x.query(b"UPDATE t SET a = ?", 5)), connection.server(x.executed(3)))
    login, update = capture.finish()
    assert (login.command, login.status, login.database) == ("connect", "ok", "shop")
    assert (update.command, update.sql, update.parameters) == ("query", b"UPDATE t SET a = ?", (5,))
    assert (update.status, update.affected_rows, update.warnings) == ("ok", 3, 0)
    assert (update.latency_ns, update.charset) == (STEP_NS, "utf8mb4")
    assert (update.session.connection_id, update.session.user) == (42, "app")
    assert capture.counted("packets_desync", "packets_unmatched") == (0, 0)


def test_what_changes_no_rows_does_not_say_how_many() -> None:
    capture, connection = opened()
    capture.feed(connection.client(x.prepare(4, b"DO 1")), connection.server(x.ok()))
    capture.feed(connection.client(x.execute(4)), connection.server(x.executed(0)))
    _, prepare, execute = capture.finish()
    assert (prepare.command, prepare.statement_id, prepare.affected_rows) == ("x_prepare", 4, None)
    assert (execute.command, execute.statement_id, execute.affected_rows, execute.sql) == ("x_execute", 4, 0, b"DO 1")


def test_both_protocols_are_followed_side_by_side() -> None:
    capture, connection = opened()
    classic = Connection()
    capture.feed(*logged_in(classic), classic.client(mysql.query(b"SELECT 1")), classic.server(mysql.result()))
    capture.feed(connection.client(x.find(b"c")), connection.server(x.result(b"r")))
    assert [(one.command, one.sql) for one in capture.finish()] == [
        ("connect", None),
        ("connect", None),
        ("query", b"SELECT 1"),
        ("x_find", b"find shop.c"),
    ]


def test_segments_out_of_order_are_put_in_order() -> None:
    capture, connection = opened()
    first, second = connection.client(x.query(b"DO 1")[:7]), connection.client(x.query(b"DO 1")[7:])
    capture.feed(second, first, connection.server(x.executed(1)))
    assert [one.status for one in capture.finish()] == ["ok", "ok"]


def test_a_hole_is_declared_in_time_and_the_next_request_is_found() -> None:
    capture, connection = opened()
    connection.client(x.query(b"lost"))
    capture.feed(connection.client(x.query(b"DO 2")))
    capture.pass_time(5)
    capture.feed(connection.client(x.query(b"DO 3")))
    assert [one.sql for one in capture.finish()][1:] == [b"DO 2", b"DO 3"]
    assert capture.counted("gaps", "resyncs") == (1, 1)


def test_a_lost_answer_is_not_taken_from_the_next() -> None:
    capture, connection = opened()
    capture.feed(connection.client(x.query(b"A") + x.query(b"B")))
    connection.server(x.executed(1))
    capture.feed(connection.server(x.executed(2)))
    assert [one.status for one in capture.finish()] == ["ok", "unknown", "unknown"]


def test_rows_that_were_not_captured_do_not_hide_the_next_answer() -> None:
    capture, connection = opened()
    capture.feed(connection.client(x.query(b"SELECT 1")), connection.server(x.columns() + x.row(b"r" * 900)[:500]))
    connection.server(x.row(b"r" * 900)[500:] + x.message(14))
    capture.feed(connection.client(x.query(b"DO 2")), connection.server(x.executed(7)))
    assert [(one.status, one.affected_rows) for one in capture.finish()][1:] == [("result", None), ("ok", 7)]


def test_tls_is_counted_as_such() -> None:
    capture, connection = Capture(SETTINGS), Connection(server_port=33060)
    capture.feed(
        *connection.open(),
        connection.client(x.capabilities(tls=True)),
        connection.server(x.ok()),
        connection.client(b"\x16\x03\x01\x02\x00" + b"\1" * 512),
        connection.server(b"\x16\x03\x03\x00\x7a" + b"\2" * 122),
    )
    assert capture.finish() == []
    assert capture.counted("packets_encrypted") == (2,)


def test_a_worker_that_is_killed_leaves_user_schema_and_prepared_texts_to_the_next() -> None:
    memory = memoryview(bytearray(1 << 20))
    connection = Connection(server_port=33060)
    worker = Capture(SETTINGS, Checkpoint(Area(memory)))
    worker.feed(*login(connection))
    worker.feed(connection.client(x.prepare(4, b"DO 4")), connection.server(x.ok()))
    worker.feed(connection.client(x.prepare(5, b"DO 5")), connection.server(x.ok()))
    worker.pipeline.save()
    worker.feed(connection.client(x.deallocate(4)), connection.server(x.ok()))
    worker.feed(connection.client(x.query(b"USE other")), connection.server(x.executed(0)))
    worker.pipeline.save()
    following = Capture(SETTINGS, Checkpoint(Area(memory)))
    for statement_id in (4, 5):
        following.feed(connection.client(x.execute(statement_id)), connection.server(x.executed(0)))
    closed, known = following.finish()
    assert (closed.sql, known.sql) == (None, b"DO 5")
    assert (known.database, known.session.user, known.session.connection_id) == ("other", "app", 42)
    assert set(known.flags) == {"restored", "joined_late"}


def test_an_x_connection_under_tls_stays_so_for_the_next_worker() -> None:
    memory = memoryview(bytearray(1 << 20))
    connection = Connection(server_port=33060)
    worker = Capture(SETTINGS, Checkpoint(Area(memory)))
    worker.feed(*connection.open(), connection.client(x.capabilities(tls=True)), connection.server(x.ok()))
    worker.pipeline.save()
    following = Capture(SETTINGS, Checkpoint(Area(memory)))
    following.feed(connection.client(b"x" * 100))
    assert following.counted("packets_encrypted", "sessions_restored") == (1, 1)
