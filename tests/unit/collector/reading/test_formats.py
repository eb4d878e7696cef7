from __future__ import annotations

import csv
import io
import json

import pytest

from collector.reading.fields import FIELDS
from collector.reading.formats import FORMATS, encode
from tests.unit.collector.reading.making import statement

ODD = statement(
    sql=b'SELECT "a,b",\n\'\xff\' ', parameters=(1, None, b"\xff"), query_attributes=(("k", "v"),),
    error_code=1064, error_message="near\rx", flags=("slow", "truncated"), affected_rows=(1 << 64) - 1,
)  # fmt: skip


def test_csv_comes_back_as_it_was_written() -> None:
    form = FORMATS["csv"]
    assert form.before is not None
    text = b"".join(map(encode, (form.before, form.render(ODD, "db,1", False), form.render(statement(), "db1", False))))
    odd, plain = csv.DictReader(io.StringIO(text.decode(), newline=""))
    assert list(odd) == ["time", "host", *(field.name for field in FIELDS[1:])]
    assert odd["error_message"] == "near\rx"
    assert (odd["host"], odd["sql"]) == ("db,1", "SELECT \"a,b\",\n'\N{REPLACEMENT CHARACTER}' ")
    assert json.loads(odd["parameters"]) == [1, None, {"base64": "/w=="}]
    assert (odd["affected_rows"], odd["flags"]) == (str((1 << 64) - 1), "slow,truncated")
    assert (plain["affected_rows"], plain["parameters"], plain["status"]) == ("", "", "ok")


def test_json_has_the_host_and_the_bytes_as_sent_where_they_are_wanted() -> None:
    render = FORMATS["json"].render
    assert json.loads(render(statement(), "db1", False))["host"] == "db1"
    assert "sql_base64" not in json.loads(render(statement(), "db1", False))
    assert "sql_base64" in json.loads(render(statement(), "db1", True))


@pytest.mark.parametrize("name", FORMATS)
def test_every_form_can_be_written_whatever_is_in_a_statement(name: str) -> None:
    assert encode(FORMATS[name].render(statement(sql=b"\xed\xa0\x80 \xff", charset="utf16"), "db1", False))


def test_what_has_no_utf8_is_written_as_an_escape() -> None:
    assert encode("a\ud800") == b"a\\ud800\n"
