"""What a worker that was killed knew of connections, and what the next one makes of it."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import mysql_packets as mysql
from tests.support.packets import Connection
from tests.support.pipeline import Capture
from workers.area import LEAST_BYTES, Area
from workers.checkpoint import Checkpoint
from workers.mysql.constants import COM_STMT_CLOSE
from workers.mysql.snapshot import LONGEST_STATEMENT
from workers.records import Statement
from workers.settings import Settings

SETTINGS = Settings(ports=(3306,), x_ports=(33060,))
MIB = 1 << 20
NUMBER = mysql.Bound(mysql.LONG, b"\7\0\0\0")
BIG = mysql.Bound(mysql.LONGLONG, b"\1\0\0\0\2\0\0\0")
TEXT = b"SELECT ? + 1"


class Killed:
    """Workers on one ring, each killed while it works, and the memory that they leave."""

    def __init__(self, size: int = MIB, settings: Settings = SETTINGS) -> None:
        self.memory = bytearray(size)
        self._settings = settings

    def worker(self) -> Capture:
        """The next one."""
        return Capture(self._settings, self.checkpoint())

    def checkpoint(self) -> Checkpoint:
        """Of what was left."""
        return Checkpoint(Area(memoryview(self.memory)))

    def plays(self, *packets: bytes) -> Capture:
        """The next one takes these packets and what it knows then is written down; it is not heard of again."""
        worker = self.worker()
        worker.feed(*packets)
        worker.pipeline.save()
        return worker


@pytest.fixture
def killed() -> Killed:
    return Killed()


def logged_in(connection: Connection, capabilities: int = 0) -> list[bytes]:
    """The packets of a connection up to the end of its login, where both sides have these capabilities too."""
    login = mysql.login(
        database=b"shop", pairs={"program_name": "till"}, capabilities=mysql.CLIENT_CAPABILITIES | capabilities
    )
    return [
        *connection.open(),
        connection.server(mysql.greeting(capabilities=mysql.SERVER_CAPABILITIES | capabilities)),
        connection.client(login),
        connection.server(mysql.ok(sequence=2)),
    ]


def prepared(connection: Connection, statement_id: int = 1, text: bytes = TEXT, parameters: int = 1) -> list[bytes]:
    """A statement is prepared."""
    asked = connection.client(mysql.prepare(text))
    return [asked, connection.server(mysql.prepare_ok(statement_id, parameters))]


def executed(
    connection: Connection, statement_id: int = 1, values: Sequence[mysql.Bound] = (NUMBER,), *, types: bool = True
) -> list[bytes]:
    """It is executed."""
    asked = connection.client(mysql.execute(statement_id, values, types=types))
    return [asked, connection.server(mysql.ok())]


def queried(connection: Connection, text: bytes = b"SELECT 1") -> list[bytes]:
    """A query, and its answer."""
    return [connection.client(mysql.query(text)), connection.server(mysql.ok())]


def after(killed: Killed, *packets: bytes) -> list[Statement]:
    """What the next worker makes of these packets."""
    worker = killed.worker()
    worker.feed(*packets)
    return worker.finish()


def test_user_database_and_prepared_text_are_known_to_the_next_worker(killed: Killed) -> None:
    connection = Connection()
    killed.plays(*logged_in(connection), *prepared(connection), *executed(connection))
    found, query = after(killed, *executed(connection), *queried(connection))
    assert (found.sql, found.parameters, found.statement_id) == (TEXT, (7,), 1)
    assert set(found.flags) == set(query.flags) == {"restored", "joined_late"}
    for one in (found, query):
        assert (one.session.user, one.database, one.session.connection_id) == ("app", "shop", 7)
        assert one.session.server_version is not None
        assert not one.session.from_start
    assert found.session.program == query.session.program == "till"


def test_types_that_were_sent_once_are_known(killed: Killed) -> None:
    connection = Connection()
    killed.plays(*logged_in(connection), *prepared(connection), *executed(connection))
    killed.plays(*executed(connection, types=False), *executed(connection, values=[BIG]))
    (found,) = after(killed, *executed(connection, values=[BIG], types=False))
    assert found.parameters == (1 + (2 << 32),)


def test_values_that_do_not_fill_their_packet_are_left_out_as_their_types_may_be_others_by_now(killed: Killed) -> None:
    connection = Connection()
    killed.plays(*logged_in(connection), *prepared(connection), *executed(connection))
    lost = executed(connection, values=[BIG])
    assert lost
    worker = killed.worker()
    worker.feed(*executed(connection, values=[BIG], types=False), *executed(connection, values=[BIG]))
    worker.feed(*executed(connection, values=[BIG], types=False))
    assert worker.counted("parameters_unread") == (1,)
    unread, read, again = worker.finish()
    assert (unread.sql, unread.parameters) == (TEXT, None)
    assert read.parameters == again.parameters == (1 + (2 << 32),)


def test_what_changes_later_is_known_as_well(killed: Killed) -> None:
    connection = Connection()
    killed.plays(*logged_in(connection), *prepared(connection), *prepared(connection, 2, b"DO ?"))
    killed.plays(
        *queried(connection, b"USE other"), connection.client(mysql.of_statement(COM_STMT_CLOSE, 1)),
        *prepared(connection, 3, b"DO 3, ?"),
    )  # fmt: skip
    killed.plays()
    closed, second, third = after(killed, *executed(connection), *executed(connection, 2), *executed(connection, 3))
    assert (closed.sql, second.sql, third.sql) == (None, b"DO ?", b"DO 3, ?")
    assert {one.database for one in (closed, second, third)} == {"other"}


def test_what_was_not_written_down_stays_unknown_and_an_id_stays_an_id(killed: Killed) -> None:
    connection = Connection()
    worker = killed.plays(*logged_in(connection))
    worker.feed(*prepared(connection))  # and is killed before the end of the ring's block
    (found,) = after(killed, *executed(connection))
    assert (found.sql, found.statement_id, found.session.user) == (None, 1, "app")


def test_a_session_is_known_again_from_change_user_on(killed: Killed) -> None:
    connection = Connection()
    killed.plays(*logged_in(connection), *prepared(connection))
    changed, query, unknown = after(
        killed,
        connection.client(mysql.change_user(user=b"other", database=b"db2")), connection.server(mysql.ok()),
        *queried(connection), *executed(connection),
    )  # fmt: skip
    for one in (changed, query, unknown):
        assert (one.session.user, one.database, "restored" in one.flags) == ("other", "db2", False)
    assert unknown.sql is None


def test_a_login_that_follows_is_of_another_connection(killed: Killed) -> None:
    connection = Connection()
    killed.plays(*logged_in(connection), *prepared(connection))
    login, query, unknown = after(
        killed, connection.client(mysql.login(user=b"next")), connection.server(mysql.ok(sequence=2)),
        *queried(connection), *executed(connection),
    )  # fmt: skip
    for one in (login, query, unknown):
        assert (one.session.user, one.session.connection_id, "restored" in one.flags) == ("next", None, False)
    assert unknown.sql is None


def test_a_connection_that_was_at_its_greeting_is_known_by_its_id(killed: Killed) -> None:
    connection = Connection()
    killed.plays(*connection.open(), connection.server(mysql.greeting()))
    login, _ = after(
        killed, connection.client(mysql.login()), connection.server(mysql.ok(sequence=2)), *queried(connection)
    )
    assert (login.session.user, login.session.connection_id) == ("app", 7)


def test_a_syn_between_the_same_ends_makes_it_forgotten_for_good(killed: Killed) -> None:
    killed.plays(*logged_in(connection := Connection()), *prepared(connection))
    again = Connection(client_first=1 << 20)
    killed.plays(*again.open(), *queried(again))
    (query,) = after(killed, *queried(again))
    assert (query.session.user, query.flags) == (None, ("joined_late",))


def test_a_forged_syn_does_not(killed: Killed) -> None:
    connection = Connection()
    killed.plays(*logged_in(connection))
    forged = Connection(client_first=connection.client_next + (1 << 28))
    query, _ = after(killed, forged.open()[0], *queried(connection), *queried(connection))
    assert query.session.user == "app"


def test_a_connection_that_ended_is_forgotten(killed: Killed) -> None:
    connection = Connection()
    killed.plays(*logged_in(connection))
    worker = killed.worker()
    worker.feed(*queried(connection), connection.client(flags=0x11), connection.server(flags=0x11))
    worker.pipeline.save()
    (query,) = after(killed, *queried(connection))
    assert query.session.user is None


def test_an_orderly_end_leaves_what_is_known(killed: Killed) -> None:
    connection = Connection()
    worker = killed.plays(*logged_in(connection))
    worker.finish()
    (query,) = after(killed, *queried(connection))
    assert query.session.user == "app"


def test_who_is_silent_through_the_lives_of_several_workers_is_known_to_the_last(killed: Killed) -> None:
    connection, other = Connection(), Connection(client_port=40_999)
    killed.plays(*logged_in(connection), *prepared(connection))
    for _ in range(3):
        killed.plays(*logged_in(other))
    (found,) = after(killed, *executed(connection))
    assert (found.sql, found.session.user) == (TEXT, "app")


def test_what_is_older_than_the_idle_time_is_forgotten(killed: Killed) -> None:
    connection = Connection()
    killed.plays(*logged_in(connection))
    worker = killed.worker()
    worker.pass_time(SETTINGS.idle_timeout_ns / 1e9 + 10)
    worker.feed(*queried(connection))
    (query,) = worker.finish()
    assert query.session.user is None
    assert worker.counted("sessions_restored") == (0,)


def test_where_the_clock_was_set_it_is_not_forgotten(killed: Killed) -> None:
    connection = Connection()
    killed.plays(*logged_in(connection))
    worker = killed.worker()
    worker.now_ns += 2 * SETTINGS.idle_timeout_ns
    worker.pipeline.clock_stepped(0, 2 * SETTINGS.idle_timeout_ns, worker.now_ns)
    worker.pipeline.clock_settled(worker.now_ns)
    worker.pass_time(2)
    worker.feed(*queried(connection))
    assert worker.counted("sessions_restored") == (1,)


@pytest.mark.parametrize("form", ["zlib", "zstd", "stored"])
def test_a_compressed_connection_is_read_in_its_frames(killed: Killed, form: str) -> None:
    connection = Connection()
    killed.plays(
        *logged_in(connection, mysql.COMPRESS), connection.client(mysql.frame(mysql.query(b"SELECT 0")))
    )  # fmt: skip
    (query,) = after(killed, connection.client(mysql.frame(mysql.query(b"SELECT 1"), form=form)))  # type: ignore[arg-type]
    assert (query.sql, query.session.user, query.session.compressed) == (b"SELECT 1", "app", True)


def test_a_connection_under_tls_is_known_to_be_so_even_inside_of_a_record(killed: Killed) -> None:
    connection = Connection()
    killed.plays(*connection.open(), connection.server(mysql.greeting()), connection.client(mysql.ssl_request()))
    worker = killed.worker()
    worker.feed(connection.client(b"x" * 700), connection.client(b"x" * 300))
    assert worker.counted("packets_encrypted", "packets_desync", "encrypted_bytes") == (2, 0, 1000)


def test_query_attributes_are_told_from_text_by_the_capabilities_that_were_agreed_on(killed: Killed) -> None:
    connection = Connection()
    killed.plays(*logged_in(connection, mysql.QUERY_ATTRIBUTES))
    (query,) = after(killed, connection.client(mysql.query_with_attributes(b"SELECT 1", [NUMBER])))
    assert query.sql == b"SELECT 1"
    assert query.query_attributes == (("", 7),)


# --- room


def connections(count: int) -> list[Connection]:
    return [Connection(client_port=20_000 + number) for number in range(count)]


def everybody(killed: Killed, all_: Sequence[Connection]) -> list[bytes | None]:
    """What the next worker knows each to execute."""
    worker = killed.worker()
    for one in all_:
        worker.feed(*executed(one))
    return [found.sql for found in sorted(worker.finish(), key=lambda found: found.time_ns)]


def test_a_half_that_is_full_makes_way_and_nothing_that_holds_is_lost() -> None:
    killed = Killed(LEAST_BYTES * 4)
    connection, churning = Connection(), Connection(client_port=40_999)
    worker = killed.worker()
    worker.feed(*logged_in(connection), *prepared(connection), *logged_in(churning))
    for number in range(2000):
        worker.feed(*prepared(churning, number + 5, b"SELECT ?, %d" % number))
        worker.pipeline.save()
        worker.feed(churning.client(mysql.of_statement(COM_STMT_CLOSE, number + 5)))
        worker.pipeline.save()
    assert worker.counted("checkpoint_dropped") == (0,)
    assert everybody(killed, [connection]) == [TEXT]


def test_without_room_the_connections_heard_last_keep_their_statements_and_all_who_they_are() -> None:
    killed = Killed(1 << 18)
    all_ = connections(200)
    worker = killed.worker()
    for number, one in enumerate(all_):
        worker.feed(*logged_in(one), *prepared(one, text=b"SELECT ?, %d /* %s */" % (number, b"x" * 1000)))
        worker.pipeline.save()
    dropped = worker.counted("checkpoint_dropped")[0]
    assert dropped > 0
    next_one = killed.worker()
    for one in all_:
        next_one.feed(*executed(one))
    found = sorted(next_one.finish(), key=lambda each: each.time_ns)
    assert {each.session.user for each in found} == {"app"}
    known = [each.sql is not None for each in found]
    assert known[-10:] == [True] * 10
    assert not all(known)
    assert next_one.counted("sessions_restored") == (200,)


def test_a_text_that_many_prepare_is_written_once() -> None:
    killed = Killed(1 << 18)
    all_ = connections(200)
    worker = killed.worker()
    text = b"SELECT ? /* %s */" % (b"x" * 2000)
    for one in all_:
        worker.feed(*logged_in(one), *prepared(one, text=text))
    worker.pipeline.save()
    assert worker.counted("checkpoint_dropped") == (0,)
    assert everybody(killed, all_) == [text] * 200


def test_a_text_that_is_too_long_is_left_out_and_counted(killed: Killed) -> None:
    connection = Connection()
    worker = killed.plays(
        *logged_in(connection), *prepared(connection, 1, b"x" * LONGEST_STATEMENT),
        *prepared(connection, 2, b"y" * (LONGEST_STATEMENT + 1)),
    )  # fmt: skip
    assert worker.counted("checkpoint_dropped") == (1,)
    first, second = after(killed, *executed(connection, 1), *executed(connection, 2))
    assert first.sql is not None
    assert second.sql is None


def test_nothing_is_written_while_nothing_changes(killed: Killed) -> None:
    connection = Connection()
    worker = killed.plays(*logged_in(connection), *prepared(connection), *executed(connection))
    before = bytes(killed.memory[64:])
    worker.feed(*queried(connection), *executed(connection), *queried(connection, b"USE shop"))
    worker.pipeline.save()
    assert bytes(killed.memory[64:]) == before


def test_a_statement_that_is_closed_before_it_is_written_is_never_written(killed: Killed) -> None:
    connection = Connection()
    worker = killed.plays(*logged_in(connection))
    before = bytes(killed.memory[64:])
    worker.feed(*prepared(connection), connection.client(mysql.of_statement(COM_STMT_CLOSE, 1)))
    worker.pipeline.save()
    assert bytes(killed.memory[64:]) == before


def test_without_an_area_nothing_is_noted() -> None:
    worker = Capture(SETTINGS)
    connection = Connection()
    worker.feed(*logged_in(connection), *prepared(connection))
    worker.pipeline.save()
    assert worker.counted("sessions_restored", "checkpoint_dropped", "checkpoint_damaged") == (0, 0, 0)


# --- what a worker that was taken over may leave


def framed(*records: object) -> bytearray:
    """Memory with these records, as a worker would leave it."""
    memory = bytearray(MIB)
    Area(memoryview(memory)).append(b"".join(msgpack.packb(one) for one in records))
    return memory


SESSION = (b"e" * 36, 1, b"e" * 36, 7, b"8.0", b"app", b"", 45, 45, b"shop", 0, 0, False, False)
HOSTILE: list[tuple[object, ...]] = [
    (1,), ("text",), ([],), ([0],), ([0, 1],), ({},), (None,), ([9, 1],), ([0, "x", *SESSION],), ([4, 1],),
    ([3, 1, 5],),
    ([0, 1, *SESSION], [0, 2, *SESSION]), ([0, 1, *SESSION[:-1]],), ([0, 1, b"short", *SESSION[1:]],),
    ([0, 1, *SESSION], [0, 1, b"f" * 36, *SESSION[1:]]), ([0, 1, *SESSION[:1], 3, *SESSION[2:]],),
    ([0, 1, *SESSION[:3], -1, *SESSION[4:]],), ([0, 1, *SESSION[:5], b"u" * 1025, *SESSION[6:]],),
    ([0, 1, *SESSION[:12], 1, False],), ([1, 1, "text"],), ([1, 1, None],), ([1, 1, b"x" * (LONGEST_STATEMENT + 1)],
    [0, 1, *SESSION], [2, 1, 5, 0, 45, b"", 1 << 20, None, 1]), ([2, 1, 5, 0, 45, b"", 0, None, 1],),
    ([0, 1, *SESSION], [2, 1, 5, 0, 45, b"", 0, None, 1]), ([0, 1, *SESSION], [2, 1, 5, 0, 45, b"", 0, None, []]),
    ([0, 1, *SESSION], [1, 1, b"x"], [2, 1, 5, 2, 45, b"\3\0", 1, None, 1]),
    ([0, 1, *SESSION], [1, 1, b"x"], [2, 1, 5, 1 << 40, 45, b"", 1, None, 1]),
    ([0, 1, *SESSION], [1, 1, b"x"], [2, 1, 5, 0, 45, b"", 0, None, 1]),
    ([0, 1, *SESSION], [1, 1, b"x"], [2, 1, 5, 0, 45, b"", 1, b"short", 1]),
    ([0, 1, *SESSION], [3, 1, {}]), ([0, 1, *SESSION], [3, 1, *range(2000)]),
]  # fmt: skip


@pytest.mark.parametrize("records", HOSTILE, ids=range(len(HOSTILE)))
def test_records_that_nobody_can_have_written_are_damage(records: tuple[object, ...]) -> None:
    killed = Killed()
    killed.memory = framed(*records)
    worker = killed.worker()
    assert worker.counted("checkpoint_damaged") == (1,)
    connection = Connection()
    worker.feed(*logged_in(connection))
    worker.pipeline.save()
    (query,) = after(killed, *queried(connection))
    assert query.session.user == "app", "what the next one writes is sound"


def test_damage_anywhere_means_that_nothing_is_believed(killed: Killed) -> None:
    connection = Connection()
    killed.plays(*logged_in(connection), *prepared(connection))
    place = killed.memory.index(TEXT)
    killed.memory[place] ^= 1
    worker = killed.worker()
    worker.feed(*queried(connection))
    assert worker.counted("sessions_restored", "checkpoint_damaged") == (0, 1)


TEMPLATE = Killed()
_CONNECTION = Connection()
TEMPLATE.plays(*logged_in(_CONNECTION), *prepared(_CONNECTION), *executed(_CONNECTION))
WRITTEN = b"".join(Area(memoryview(TEMPLATE.memory)).read())


@given(
    changes=st.lists(
        st.tuples(st.integers(0, len(WRITTEN)), st.integers(0, 4), st.binary(max_size=6)), min_size=1, max_size=3
    )
)
def test_whatever_is_left_nothing_is_raised_and_packets_are_read(changes: list[tuple[int, int, bytes]]) -> None:
    hostile = bytearray(WRITTEN)
    for at, cut, data in changes:
        hostile[at : at + cut] = data
    killed = Killed(LEAST_BYTES)
    Area(memoryview(killed.memory)).append(bytes(hostile))
    assert zlib.crc32(bytes(hostile)) >= 0  # what append() wrote is in order, so it is the records that are judged
    connection = Connection()
    logged_in(connection)
    prepared(connection)
    worker = killed.worker()
    worker.feed(*executed(connection), *executed(connection, types=False), *queried(connection))
    worker.pipeline.save()
    assert len(worker.finish()) == 3
