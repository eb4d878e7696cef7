from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.reading.lines import printable, render_json, render_text, rfc3339
from tests.unit.collector.reading.making import SESSION, statement
from workers.mysql.values import Indicator

TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def record(host: str = "db1", *, raw: bool = False, **changes: Any) -> dict[str, Any]:  # noqa: ANN401
    line = render_json(statement(**changes), host, raw=raw)
    assert "\n" not in line
    made: dict[str, Any] = json.loads(line)
    return made


def test_a_record_has_the_keys_that_are_known_and_no_other() -> None:
    assert record() == {
        "time": "2023-11-14T22:13:20.000000000Z",
        "host": "db1",
        "source": "wire",
        "server": "10.0.0.9:3306",
        "client": "10.0.0.1:4711",
        "connection_id": 12,
        "user": "app",
        "database": "shop",
        "program": "shop",
        "command": "query",
        "sql": "SELECT 1",
        "charset": "utf8mb4",
        "status": "ok",
        "flags": [],
    }


def test_of_a_text_that_is_cut_the_length_and_the_hash_of_the_whole_are_there() -> None:
    cut = record(sql=b"SELECT", original_length=900, sql_sha256="ab" * 32)
    assert (cut["original_length"], cut["sql_sha256"]) == (900, "ab" * 32)
    lost = record(sql=b"SELECT", original_length=900)
    assert lost["original_length"] == 900
    assert "sql_sha256" not in lost


def test_what_the_answer_told_is_there() -> None:
    answer: dict[str, Any] = {
        "status": "error",
        "error_code": 1146,
        "sqlstate": "42S02",
        "error_message": "no such table",
        "affected_rows": 0,
        "last_insert_id": 7,
        "rows": 3,
        "warnings": 0,
        "latency_ns": 5,
        "duration_ns": 6,
        "bytes_in": 7,
        "bytes_out": 8,
    }
    assert {key: value for key, value in record(**answer).items() if key in answer} == answer


def test_query_attributes_are_an_object_with_a_list_where_a_name_comes_again() -> None:
    attributes = (("a", 1), ("day", "2024-02-29"), ("a", b"\xff"), ("n", None), ("d", Decimal("1.50")))
    made = record(query_attributes=attributes)["query_attributes"]
    assert made == {"a": [1, {"base64": "/w=="}], "day": "2024-02-29", "n": None, "d": "1.50"}
    assert render_text(statement(query_attributes=attributes)).endswith(
        """ SELECT 1 {a=1, day="2024-02-29", a=x'ff', n=NULL, d=1.50}"""
    )


def test_a_traceparent_is_a_key_of_its_own() -> None:
    assert record(query_attributes=(("traceparent", TRACEPARENT),))["traceparent"] == TRACEPARENT
    assert record(sql=f"SELECT 1 /*traceparent='{TRACEPARENT}'*/".encode())["traceparent"] == TRACEPARENT
    assert "traceparent" not in record(sql=f"SELECT '/*traceparent={TRACEPARENT}*/'".encode())


def test_sql_that_does_not_decode_is_there_as_bytes_too() -> None:
    made = record(sql=b"SELECT '\xff'")
    assert made["sql"] == "SELECT '\ufffd'"
    assert made["sql_base64"] == "U0VMRUNUICf/Jw=="


def test_with_raw_the_bytes_are_always_there() -> None:
    assert record(raw=True)["sql_base64"] == "U0VMRUNUIDE="
    assert "sql_base64" not in record(raw=True, sql=None)


def test_bound_parameters_keep_their_types_as_far_as_json_has_them() -> None:
    values = (1, 1.5, "text", None, Decimal("1.10"), b"\x00\xff", float("inf"), 2**64 - 1)
    assert record(parameters=values)["parameters"] == [
        1, 1.5, "text", None, "1.10", {"base64": "AP8="}, "inf", 2**64 - 1,
    ]  # fmt: skip
    assert record(parameters=())["parameters"] == []


def test_rows_of_a_bulk_execution_are_lists_beside_their_number() -> None:
    rows = ((1, "a"), (None, b"\xff"), (Indicator.DEFAULT, Indicator.IGNORE))
    made = record(command="stmt_bulk_execute", parameter_rows=rows)
    assert made["parameters"] == [
        [1, "a"], [None, {"base64": "/w=="}], [{"indicator": "default"}, {"indicator": "ignore"}],
    ]  # fmt: skip
    assert made["parameter_rows"] == 3
    assert record(parameter_rows=())["parameters"] == []
    line = render_text(statement(command="stmt_bulk_execute", parameter_rows=rows))
    assert line.endswith("<- 3 rows: (1, \"a\"), (NULL, x'ff'), (DEFAULT, IGNORE)")


def test_connection_attributes_come_with_connect_alone() -> None:
    assert record(command="connect")["connection_attributes"] == {"program_name": "shop"}
    assert "connection_attributes" not in record()


def test_what_is_not_known_is_left_out() -> None:
    made = record(
        host="",
        sql=None,
        database=None,
        charset=None,
        session=type(SESSION)(client="", server="", connection_attributes={}),
    )
    assert set(made) == {"time", "source", "command", "status", "flags"}


@given(st.text(st.characters(exclude_categories=())), st.text(st.characters(exclude_categories=())))
def test_any_text_makes_one_line_of_utf_8_json(message: str, database: str) -> None:
    line = render_json(statement(error_message=message, database=database), "h")
    assert len(line.encode().splitlines()) == 1
    assert json.loads(line)["error_message"] == message


@given(st.text(), st.binary(max_size=30))
def test_a_text_line_has_nothing_that_moves_the_cursor(message: str, sql: bytes) -> None:
    line = render_text(statement(status="error", error_code=5, error_message=message, sql=sql))
    assert line.isprintable()


def test_a_text_line_shows_who_what_and_how_it_ended() -> None:
    made = statement(
        status="error", error_code=1146, error_message="no\nsuch", latency_ns=1_500_000, flags=("truncated",)
    )
    when, rest = render_text(made).split(" ", 1)
    assert when == "2023-11-14T22:13:20.000000000Z"
    assert rest == "app@10.0.0.1:4711/shop #12 query error 1146 no\\nsuch 1.5ms [truncated] SELECT 1"
    made = statement(affected_rows=3, latency_ns=900, sql=b"UPDATE t", parameters=(1, "a", None, b"\x01"))
    assert render_text(made).endswith("ok 3 affected 0.9us UPDATE t <- 1, \"a\", NULL, x'01'")
    assert " 2.500s " in render_text(statement(latency_ns=2_500_000_000))


@pytest.mark.parametrize(
    ("time_ns", "text"),
    [
        (0, "1970-01-01T00:00:00.000000000Z"),
        (1_700_000_000_000_000_001, "2023-11-14T22:13:20.000000001Z"),
        (2**64 - 1, "2554-07-21T23:34:33.709551615Z"),
    ],
)
def test_times_are_rfc_3339_with_nanoseconds(time_ns: int, text: str) -> None:
    assert rfc3339(time_ns) == text


def test_escapes_are_those_a_programmer_knows() -> None:
    assert printable("a\x1b[31m\n\u202eé 漢") == "a\\x1b[31m\\n\\u202eé 漢"
