from __future__ import annotations

import dataclasses
import struct
import tracemalloc
from typing import Any

import msgpack
import pytest

from tests.support.play import ENDS, connection, exchange
from workers import records
from workers.blocks import BlockBuilder
from workers.mysql.values import Indicator
from workers.records import BlockError

IN_COMMENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
COMMENT = f"/*traceparent='{IN_COMMENT}'*/".encode()
NAMED = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-00"
SESSION = msgpack.packb({"ends": ENDS, "charset": 0})


def body(**changes: Any) -> bytes:  # noqa: ANN401  # anything that msgpack can hold
    """A sound body of one row, but for the changes; None leaves a part out."""
    parts: dict[str, Any] = {
        "format": 1,
        "rows": 1,
        "base_ns": 5,
        "columns": {"command": b"\x03", "sql_size": b"\x03"},
        "sql": b"ab",
        "parameters": b"",
        "error": b"",
        "strings": [],
        "sessions": [SESSION],
    }
    packed: bytes = msgpack.packb({name: value for name, value in (parts | changes).items() if value is not None})
    return packed


def read(data: bytes) -> list[records.Statement]:
    return list(records.statements(data))


def with_columns(**columns: object) -> dict[str, object]:
    return {"columns": {"command": b"\x03"} | columns}


def test_a_sound_body_is_read() -> None:
    (statement,) = read(body())
    assert (statement.command, statement.sql, statement.time_ns) == ("query", b"ab", 5)
    assert (statement.original_length, statement.sql_sha256) == (2, None)


def test_a_text_that_was_cut_before_there_were_hashes_is_read() -> None:
    (statement,) = read(body(**with_columns(sql_size=b"\x03", sql_cut=b"\x05")))
    assert (statement.sql, statement.original_length, statement.sql_sha256) == (b"ab", 7, None)


def test_an_empty_body_has_no_statements() -> None:
    assert read(b"") == []


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"\xc1", "not a block"),
        (b"\x93\x01\x02\x03", "no map"),
        (body()[:-1], "not a block"),
        (body() + b"\x00", "not a block"),
        (b"\x81\x01\x02", "not a block"),
        (body(format=2), "block format 2"),
        (body(format=None), "block format None"),
        (body(rows=-1), "rows is -1"),
        (body(rows=True), "rows is True"),
        (body(rows="1"), "rows is '1'"),
        (body(rows=1 << 21), "rows, at most"),
        (body(base_ns=None), "base_ns is None"),
        (body(base_ns=1 << 63), "a time before 1970 or after 2262"),
        (body(**with_columns(time=b"\xff" * 8)), "a time before 1970 or after 2262"),
        (body(columns=[]), "columns is not dict"),
        (body(sql="text"), "sql is not bytes"),
        (body(strings=["text"]), "strings holds something else"),
        (body(sessions=[1]), "sessions holds something else"),
        (body(sessions=[]), "session 0 of 0"),
        (body(**with_columns(session=b"\x01")), "session 1 of 1"),
        (body(rows=2), "column command does not have"),
        (body(**with_columns(status=b"\x01" * 9)), "column status does not have"),
        (body(**with_columns(status=1)), "column status does not have"),
        (body(rows=0), "column command does not have"),
        (body(**with_columns(sql_size=b"\x04")), "column sql ends at 2"),
        (body(**with_columns(sql_size=b"\xff" * 8)), "column sql ends at 2"),
        (body(**with_columns(parameters_size=b"\x01")), "column parameters ends at 0"),
        (body(**with_columns(query_attributes_size=b"\x01")), "column query_attributes ends at 0"),
        (body(query_attributes=1), "query_attributes is not bytes"),
        (body(**with_columns(query_attributes_size=b"\x01"), query_attributes=b"\x01"), "query attributes: "),
        (body(**with_columns(error_size=b"\x01")), "column error ends at 0"),
        (body(**with_columns(sql_string=b"\x01")), "string 1 of 0"),
        (body(**with_columns(database=b"\x01")), "string 1 of 0"),
        (body(**with_columns(sql_sha256=b"\x01")), "string 1 of 0"),
        (body(**with_columns(sql_sha256=b"\x01"), strings=[b"short"]), "a SHA-256 of 5 bytes"),
        (body(sessions=[b"\xc1"]), "not a block"),
        (body(sessions=[msgpack.packb({"ends": b"short"})]), "ends take 5 bytes"),
        (body(sessions=[msgpack.packb({})]), "ends is not bytes"),
        (body(sessions=[msgpack.packb({"ends": ENDS, "user": 1})]), "user of a session is not bytes"),
        (body(sessions=[msgpack.packb({"ends": ENDS, "connection_id": -1})]), "connection_id is -1"),
        (body(sessions=[msgpack.packb({"ends": ENDS, "attributes": 1})]), "attributes is not bytes"),
    ],
)
def test_a_body_that_no_worker_writes_is_refused(data: bytes, complaint: str) -> None:
    with pytest.raises(BlockError, match=complaint):
        read(data)


def test_what_a_client_sent_wrong_does_not_spoil_the_block() -> None:
    attributes = msgpack.packb({"ends": ENDS, "attributes": b"\x05ab"})
    bound = b"\x01\0\0\xfd\0\x05ab"
    columns = {"command": b"\x17\x03", "parameters_size": bytes((len(bound), 0))}
    values, other = read(body(rows=2, sessions=[attributes], columns=columns, parameters=bound))
    assert (values.parameters, values.session.connection_attributes) == (None, {})
    assert other.command == "query"


def test_an_attribute_of_which_the_client_sent_no_value_of_its_type_comes_as_its_bytes() -> None:
    named = b"\x0a\0\x03day\x03abc" + b"\xfd\0\x03\xe9ab\x01\xff"
    columns = {"command": b"\x03", "query_attributes_size": bytes((len(named),))}
    (statement,) = read(body(columns=columns, query_attributes=named))
    assert statement.query_attributes == (("day", b"\x03abc"), ("\N{REPLACEMENT CHARACTER}ab", b"\xff"))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, IN_COMMENT),
        ({"query_attributes": (("traceparent", NAMED),)}, NAMED),
        ({"query_attributes": (("traceparent", None), ("traceparent", NAMED))}, NAMED),
        ({"query_attributes": (("traceparent", NAMED.upper()),)}, IN_COMMENT),
        ({"query_attributes": (("traceparent", NAMED.encode()),)}, IN_COMMENT),
        ({"query_attributes": (("Traceparent", NAMED), ("t", NAMED))}, IN_COMMENT),
        ({"sql": None, "query_attributes": (("traceparent", NAMED),)}, NAMED),
        ({"sql": None}, None),
        ({"command": "stmt_execute"}, IN_COMMENT),
        ({"command": "init_db"}, None),
        ({"sql": b"SELECT '\xbf\\' " + COMMENT, "charset": "gbk"}, IN_COMMENT),
        ({"sql": b"SELECT '\xbf\\' " + COMMENT, "flags": ("truncated",)}, None),
        ({"sql": b"SELECT '\xbf\\' " + COMMENT, "charset": "gbk", "flags": ("truncated",)}, IN_COMMENT),
        ({"sql": b"SELECT '\xff' " + COMMENT}, IN_COMMENT),
    ],
)
def test_a_traceparent_is_that_of_an_attribute_or_else_of_a_comment(
    changes: dict[str, Any], expected: str | None
) -> None:
    (statement,) = read(body())
    assert dataclasses.replace(statement, **{"sql": b"SELECT 1 " + COMMENT} | changes).traceparent == expected


def test_numbers_no_worker_writes_are_unknown() -> None:
    (statement,) = read(body(**with_columns(status=b"\x09", command=b"\x7f", charset=b"\x00\x7f")))
    assert (statement.status, statement.command, statement.charset) == ("unknown", "unknown_127", None)


def test_a_small_body_takes_little_memory_whatever_it_claims() -> None:
    data = body(rows=records.MOST_ROWS, columns={}, sql=b"")
    tracemalloc.start()
    try:
        for _ in zip(range(100), records.statements(data), strict=False):
            pass
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 64 << 20


@pytest.mark.parametrize(
    ("ends", "client", "server"),
    [
        ((0, 0xFFFF_0A00_0001, 4711, 0, 0xFFFF_7F00_0001, 3306), "10.0.0.1:4711", "127.0.0.1:3306"),
        ((0, 1, 1, 0xFE80 << 48, 0xABCD, 65535), "[::1]:1", "[fe80::abcd]:65535"),
    ],
)
def test_addresses_are_written_as_is_usual(ends: tuple[int, ...], client: str, server: str) -> None:
    packed = msgpack.packb({"ends": struct.pack("<QQHQQH", *ends)})
    (statement,) = read(body(sessions=[packed]))
    assert (statement.session.client, statement.session.server) == (client, server)


@pytest.mark.parametrize(
    ("charset", "sql", "text", "clean"),
    [
        (45, "größe".encode(), "größe", True),
        (45, b"gr\xf6\xdfe", "gr��e", False),
        (8, b"gr\xf6\xdfe \x80", "größe €", True),
        (28, "数据".encode("gbk"), "数据", True),
        (0, "数据".encode(), "数据", True),
        (63, b"\xff", "�", False),
    ],
)
def test_text_is_decoded_by_its_character_set(charset: int, sql: bytes, text: str, clean: bool) -> None:
    builder = BlockBuilder(0, 0, {})
    builder.add(exchange(command=3, charset=charset, text=sql), 0)
    (statement,) = read(builder.take({}, False)[1])
    assert records.decode_sql(statement) == (text, clean)


@pytest.mark.parametrize(("bound", "value"), [(b"caf\xc3\xa9", "café"), (b"caf\xe9", b"caf\xe9")])
def test_a_string_that_was_bound_is_text_where_it_decodes_and_else_its_bytes(bound: bytes, value: object) -> None:
    parameters = b"\x01\0\0\xfd\0" + bytes((len(bound),)) + bound
    columns = {"command": b"\x17", "charset": b"\x2d", "parameters_size": bytes((len(parameters),))}
    (statement,) = read(body(columns=columns, parameters=parameters))
    assert statement.parameters == (value,)


@pytest.mark.parametrize(
    ("bound", "rows"),
    [
        (b"\x01\0\xfd\0" + b"\0\x05caf\xc3\xa9" + b"\x01" + b"\x02", (("café",), (None,), (Indicator.DEFAULT,))),
        (b"\x01\0\xfd\0", ()),
        (b"\x01\0\xfd\0\x07", None),
    ],
)
def test_the_values_of_a_bulk_execution_come_in_rows(bound: bytes, rows: object) -> None:
    columns = {"command": b"\xfa", "charset": b"\x2d", "parameters_size": bytes((len(bound),))}
    (statement,) = read(body(columns=columns, parameters=bound))
    assert (statement.parameters, statement.parameter_rows) == (None, rows)
    assert list(statement.bound()) == ["café", None, Indicator.DEFAULT] * (rows is not None and rows != ())


def test_a_statement_without_text_decodes_to_nothing() -> None:
    builder = BlockBuilder(0, 0, {})
    builder.add(exchange(command=14), 0)
    (statement,) = read(builder.take({}, False)[1])
    assert records.decode_sql(statement) == ("", True)


@pytest.mark.parametrize("command", [0x16, 0x17, 0xFA, 0x19, 0x1A, 0x1C])
def test_commands_of_a_statement_name_it(command: int) -> None:
    builder = BlockBuilder(0, 0, {})
    builder.add(exchange(connection(), command=command, statement_id=7, status=1, affected_rows=1), 0)
    builder.add(exchange(connection(), command=3, statement_id=7), 0)
    of_statement, query = read(builder.take({}, False)[1])
    assert (of_statement.statement_id, query.statement_id) == (7, None)
    assert of_statement.affected_rows == (None if command == 0x16 else 1)


def test_of_a_whole_answer_rows_duration_and_bytes_are_known() -> None:
    builder = BlockBuilder(0, 0, {})
    whole = exchange(connection(), command=3, status=3, rows=0, latency_ns=5, duration_ns=70, bytes_out=99, warnings=2)
    first = exchange(connection(), command=3, status=3, latency_ns=0)
    several = exchange(connection(), command=3, status=2, rows=4, affected_rows=6, error_code=1146)
    for one in (whole, first, several):
        builder.add(one, 0)
    known, unknown, failed = read(builder.take({}, False)[1])
    assert (known.rows, known.latency_ns, known.duration_ns, known.bytes_out, known.warnings) == (0, 5, 70, 99, 2)
    assert (unknown.rows, unknown.latency_ns, unknown.duration_ns, unknown.bytes_out) == (None, 0, None, None)
    assert (unknown.warnings, unknown.affected_rows, known.affected_rows) == (None, None, None)
    assert (failed.rows, failed.affected_rows, failed.error_code) == (4, 6, 1146)
