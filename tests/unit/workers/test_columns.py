from __future__ import annotations

import pytest

from tests.unit.collector.reading.making import body, planes
from workers.columns import BlockError, Columns


def test_a_column_is_read_when_it_is_asked_for() -> None:
    columns = Columns(body(b"a", b"b", columns={"rows": planes([1 << 63, 300]), "warnings": b"\x05\x06"}))
    assert list(columns.numbers("rows")) == [1 << 63, 300]
    assert list(columns.numbers("warnings")) == [5, 6]
    assert list(columns.numbers("none")) == [0, 0]


def test_only_what_is_asked_for_has_to_be_sound() -> None:
    columns = Columns(body(b"a", columns={"rows": b"odd" * 5}))
    assert columns.text(0) == b"a"
    with pytest.raises(BlockError, match="column rows"):
        columns.numbers("rows")


def test_a_text_is_a_row_s_own_or_a_shared_one() -> None:
    columns = Columns(body(b"a", b"", b"", columns={"sql_size": planes([2, 0, 1]), "sql_string": planes([0, 1, 0])}))
    assert [columns.text(row) for row in range(3)] == [b"a", b"shop", b""]


def test_rows_are_chosen_by_a_column_and_each_number_is_asked_about_once() -> None:
    asked: list[int] = []

    def wanted(number: int) -> bool:
        asked.append(number)
        return number == 7

    columns = Columns(body(b"a", b"b", b"c", b"d", columns={"rows": b"\x07\x01\x07\x07"}))
    assert columns.rows_where("rows", wanted, [0, 1, 3]) == [0, 3]
    assert sorted(asked) == [1, 7]


@pytest.mark.parametrize(("name", "size"), [("parameters", 1), ("error", 9), ("query_attributes", 1)])
def test_rows_that_want_more_bytes_than_there_are_are_damage(name: str, size: int) -> None:
    columns = Columns(body(b"a", columns={f"{name}_size": bytes((size,))}))
    with pytest.raises(BlockError, match=f"column {name} ends at 0"):
        columns.pieces(name)


def test_a_size_that_nobody_could_have_sent_stays_a_number_of_64_bits() -> None:
    columns = Columns(body(b"a", columns={"sql_size": b"\x02", "sql_cut": planes([(1 << 64) - 1])}))
    assert columns.bytes_in(0) == (1 << 64) - 1
