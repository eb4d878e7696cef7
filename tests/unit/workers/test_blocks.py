from __future__ import annotations

import msgpack
import pytest

from tests.support.play import ENDS, START_NS, connection, exchange
from workers import records
from workers.blocks import FORMAT, BlockBuilder
from workers.mysql.events import ERROR, OK, RESULT, Exchange

COUNTERS = {"packets_used": 7, "statements_decoded": 3}


def built(*exchanges: Exchange) -> bytes:
    """The body of a block of these exchanges."""
    builder = BlockBuilder(1, 2, {})
    for one in exchanges:
        builder.add(one, START_NS)
    return builder.take({}, False)[1]


def read(*exchanges: Exchange) -> list[records.Statement]:
    """The exchanges, written and read back."""
    return list(records.statements(built(*exchanges)))


def head_of(block: tuple[bytes, bytes]) -> dict[str, object]:
    head = msgpack.unpackb(block[0])
    assert isinstance(head, dict)
    return head


def test_what_goes_in_comes_out() -> None:
    session = connection(
        connection_id=77, server_version=b"8.0.36", user=b"app", attributes=b"\x0cprogram_name\x04till", from_start=True
    )
    (statement,) = read(
        exchange(
            session,
            command=0x17,
            status=OK,
            flags=0x89,
            charset=45,
            database=b"shop",
            statement_id=5,
            text=b"INSERT INTO t VALUES (?)",
            text_length=30,
            prepared=True,
            parameters=b"\x01\0\0\x03\0\xff\xff\xff\xff",
            query_attributes=b"\x01\x80\x01n\xff" + b"\x06\0\0",
            affected_rows=2,
            last_insert_id=9,
            warnings=1,
            latency_ns=1234,
            bytes_in=99,
        )
    )
    assert statement == records.Statement(
        time_ns=START_NS,
        session=records.Session(
            client="10.0.0.1:4711",
            server="10.0.0.2:3306",
            connection_id=77,
            server_version="8.0.36",
            user="app",
            program="till",
            connection_attributes={"program_name": "till"},
            from_start=True,
        ),
        command="stmt_execute",
        sql=b"INSERT INTO t VALUES (?)",
        parameters=(-1,),
        query_attributes=(("n", 255), ("", None)),
        statement_id=5,
        database="shop",
        charset="utf8mb4",
        status="ok",
        affected_rows=2,
        last_insert_id=9,
        warnings=1,
        latency_ns=1234,
        bytes_in=99,
        flags=("truncated", "after_gap", "joined_late"),
        original_length=30,
    )


def test_what_is_not_known_is_none() -> None:
    (statement,) = read(exchange(command=1))
    assert statement == records.Statement(
        time_ns=START_NS,
        session=records.Session(client="10.0.0.1:4711", server="10.0.0.2:3306", connection_attributes={}),
        command="quit",
        bytes_in=0,
    )


def test_an_error_comes_out_with_its_message() -> None:
    failed, silent, odd = read(
        exchange(command=3, status=ERROR, error_code=1064, sqlstate=b"42000", message="größe".encode(), latency_ns=0),
        exchange(command=3, status=ERROR, error_code=1040, message=b"Too many", latency_ns=5),
        exchange(command=3, status=ERROR, error_code=0, message=b"\xff", latency_ns=5),
    )
    assert (failed.status, failed.error_code, failed.sqlstate, failed.error_message) == (
        "error",
        1064,
        "42000",
        "größe",
    )
    assert failed.latency_ns == 0
    assert (silent.error_code, silent.sqlstate, silent.error_message) == (1040, None, "Too many")
    assert (odd.error_code, odd.error_message) == (0, "\N{REPLACEMENT CHARACTER}")


def test_a_text_that_is_cut_has_the_hash_of_the_whole_where_there_is_one() -> None:
    digest = bytes(range(32))
    cut, prepared, lost, whole = read(
        exchange(command=3, text=b"SELECT", text_length=9, text_sha256=digest),
        exchange(command=0x17, text=b"UPDATE", text_length=99, text_sha256=digest, prepared=True),
        exchange(command=3, text=b"DELETE", text_length=9),
        exchange(command=3, text=b"SELECT 1"),
    )
    assert cut.sql_sha256 == prepared.sql_sha256 == digest.hex()
    assert (cut.original_length, prepared.original_length, lost.original_length) == (9, 99, 9)
    assert lost.sql_sha256 is whole.sql_sha256 is None


def test_empty_text_is_told_from_none() -> None:
    empty, none, prepared = read(
        exchange(command=3, text=b""), exchange(command=3), exchange(command=0x17, text=b"", prepared=True)
    )
    assert (empty.sql, none.sql, prepared.sql) == (b"", None, b"")


def test_no_values_are_told_from_unknown_ones() -> None:
    none, unknown = read(exchange(command=0x17, parameters=b"\0\0"), exchange(command=0x17))
    assert (none.parameters, unknown.parameters) == ((), None)


@pytest.mark.parametrize("width", range(9))
def test_numbers_of_every_width_come_out(width: int) -> None:
    numbers = [0] if width == 0 else [(1 << 8 * width) - 1, 1 << 8 * (width - 1), 0, (1 << 8 * width) - 1]
    rows = [
        exchange(command=3, status=OK, affected_rows=number, last_insert_id=number, bytes_in=number)
        for number in numbers
    ]
    found = read(*rows)
    assert [statement.affected_rows for statement in found] == numbers
    assert [statement.bytes_in for statement in found] == numbers
    assert [statement.last_insert_id for statement in found] == [number or None for number in numbers]


def test_a_column_takes_no_more_bytes_than_its_largest_number_needs() -> None:
    columns = msgpack.unpackb(built(*[exchange(command=3, bytes_in=300) for _ in range(10)]))["columns"]
    assert len(columns["bytes_in"]) == 20
    assert len(columns["command"]) == 10
    assert "affected_rows" not in columns


@pytest.mark.parametrize(
    ("text", "length", "bytes_in", "is_written"),
    [
        (b"SELECT 1", 8, 13, False),
        (b"SELECT 1", 8, 14, True),
        (b"SELECT 1", 20_000, 20_005, False),
        (b"SELECT 1", 20_000, 13, True),
        (b"", 0, 5, False),
    ],
)
def test_the_size_of_a_command_is_written_where_its_text_does_not_tell_it(
    text: bytes, length: int, bytes_in: int, is_written: bool
) -> None:
    made = built(exchange(command=3, text=text, text_length=length, bytes_in=bytes_in))
    assert ("bytes_in" in msgpack.unpackb(made)["columns"]) is is_written
    (statement,) = records.statements(made)
    assert statement.bytes_in == bytes_in


def test_the_size_of_an_execution_is_written() -> None:
    made = built(exchange(command=0x17, text=b"SELECT ?", text_length=8, prepared=True, bytes_in=13))
    (statement,) = records.statements(made)
    assert (statement.bytes_in, len(msgpack.unpackb(made)["columns"]["bytes_in"])) == (13, 1)


@pytest.mark.parametrize("rows", [1, 511, 512, 513, 1024, 1025, 5000])
def test_a_number_in_any_row_comes_out(rows: int) -> None:
    exchanges = [exchange(command=3, status=RESULT) for _ in range(rows - 1)]
    found = read(*exchanges, exchange(command=3, status=OK, affected_rows=1 << 40))
    assert len(found) == rows
    assert found[-1].affected_rows == 1 << 40
    assert {statement.status for statement in found[:-1]} <= {"result"}


def test_times_may_go_back() -> None:
    times = [START_NS, START_NS - 10**9, START_NS + 10**12, START_NS]
    builder = BlockBuilder(0, 0, {})
    for time_ns in times:
        builder.add(exchange(command=3, time_ns=time_ns), START_NS)
    block = builder.take({}, False)
    assert [statement.time_ns for statement in records.statements(block[1])] == times
    assert (head_of(block)["first_ns"], head_of(block)["last_ns"]) == (min(times), max(times))


def test_sessions_are_written_once_a_block_and_again_where_they_change() -> None:
    one, other = connection(user=b"one"), connection(user=b"other")
    body = built(exchange(one, command=3), exchange(other, command=3), exchange(one, command=3))
    assert len(msgpack.unpackb(body)["sessions"]) == 2
    assert [statement.session.user for statement in records.statements(body)] == ["one", "other", "one"]
    builder = BlockBuilder(0, 0, {})
    builder.add(exchange(one, command=3), 0)
    builder.take({}, False)
    one.user, one.packed = b"changed", None
    builder.add(exchange(one, command=3), 0)
    assert [statement.session.user for statement in records.statements(builder.take({}, False)[1])] == ["changed"]


def test_a_session_that_changes_within_a_block_is_known_as_it_was() -> None:
    session = connection()
    builder = BlockBuilder(0, 0, {})
    builder.add(exchange(session, command=3), 0)
    session.user, session.packed = b"app", None
    builder.add(exchange(session, command=3), 0)
    found = list(records.statements(builder.take({}, False)[1]))
    assert [statement.session.user for statement in found] == [None, "app"]


def test_sessions_say_whether_they_are_encrypted_or_compressed() -> None:
    (statement,) = read(exchange(connection(encrypted=True, compressed=True), command=3))
    assert (statement.session.tls, statement.session.compressed, statement.session.from_start) == (True, True, False)


def test_databases_and_prepared_texts_are_written_once() -> None:
    rows = [exchange(command=0x17, text=b"SELECT ?", prepared=True, database=b"shop") for _ in range(100)]
    parts = msgpack.unpackb(built(*rows))
    assert sorted(parts["strings"]) == [b"SELECT ?", b"shop"]
    assert parts["sql"] == b""


def test_the_head_tells_what_the_block_is() -> None:
    builder = BlockBuilder(3, 70_000, {"packets_used": 1})
    builder.add(exchange(command=3, status=ERROR, error_code=1), START_NS)
    assert (builder.rows, builder.opened_ns) == (1, START_NS)
    builder.clock_ns = -5
    block = builder.take(COUNTERS, False)
    assert head_of(block) == {
        "format": FORMAT,
        "worker": 3,
        "incarnation": 70_000,
        "sequence": 0,
        "first_ns": START_NS,
        "last_ns": START_NS,
        "clock_ns": -5,
        "statements": 1,
        "before": {"packets_used": 1},
        "after": COUNTERS,
        "summary": {"errors": 1, "sessions": 1},
        "final": False,
    }


def test_blocks_follow_each_other_without_a_hole() -> None:
    builder = BlockBuilder(0, 0, {})
    first = head_of(builder.take(COUNTERS, False))
    second = head_of(builder.take(COUNTERS | {"packets_used": 9}, True))
    assert (first["sequence"], second["sequence"]) == (0, 1)
    assert second["before"] == first["after"] == COUNTERS
    assert (first["final"], second["final"]) == (False, True)


def test_a_block_without_statements_has_an_empty_body() -> None:
    block = BlockBuilder(0, 0, {}).take({}, True)
    assert block[1] == b""
    assert list(records.statements(block[1])) == []


def test_a_block_is_full_around_a_mebibyte() -> None:
    builder = BlockBuilder(0, 0, {})
    while not builder.full:
        builder.add(exchange(command=3, text=b"x" * 10_000, text_length=10_000), 0)
    body = builder.take({}, False)[1]
    assert 700_000 < len(body) < 1 << 20
    assert not builder.full
    builder.add(exchange(command=3, text=b"x" * (1 << 21)), 0)
    assert builder.full, "one statement can fill a block"


@pytest.mark.parametrize(
    "fields",
    [
        {"parameters": b"\x01\0\0\xfd\0\xfd\x10\x27\0" + b"x" * 10_000},
        {"query_attributes": b"\xfd\0\0\xfd\x10\x27\0" + b"x" * 10_000},
        {"text": b"x" * 10_000, "prepared": True},
        {"database": b"x" * 10_000},
        {"status": ERROR, "error_code": 1, "message": b"x" * 10_000},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_whatever_takes_room_fills_a_block(fields: dict[str, object]) -> None:
    builder = BlockBuilder(0, 0, {})
    for number in range(16384):
        mark = b"%d" % number
        changed = {
            name: value + mark if isinstance(value, bytes) and name != "parameters" else value
            for name, value in fields.items()
        }
        builder.add(exchange(None, command=3, **changed), 0)
        if builder.full:
            break
    assert builder.rows < 200
    assert len(builder.take({}, False)[1]) < 1 << 20


def test_many_small_statements_fill_a_block() -> None:
    builder = BlockBuilder(0, 0, {})
    one = exchange(command=14)
    while not builder.full:
        builder.add(one, 0)
    assert builder.rows == 16384
    assert len(list(records.statements(builder.take({}, False)[1]))) == 16384


def test_ends_are_written_as_they_are() -> None:
    assert msgpack.unpackb(msgpack.unpackb(built(exchange(command=3)))["sessions"][0])["ends"] == ENDS
