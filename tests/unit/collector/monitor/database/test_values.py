from __future__ import annotations

import pytest

from collector.monitor.database.values import metric_name, number, text, whole

pytestmark = pytest.mark.either_build


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("12", 12.0),
        (b"1.5", 1.5),
        ("-3e2", -300.0),
        (7, 7.0),
        ("ON", 1.0),
        ("No", 0.0),
        ("Connecting", 0.0),
        ("Primary", 1.0),
        ("Nov 30 11:44:00 2026 GMT", 1796039040.0),
        ("Nov 99 11:44:00 2026 GMT", None),
        ("", None),
        ("10.11.6", None),
        ("bin.000001", None),
        ("nan", None),
        ("9" * 100, None),
        (b"\xff", None),
    ],
)
def test_a_number_a_switch_and_a_time_are_numbers_and_nothing_else_is(value: object, found: float | None) -> None:
    assert number(value) == found


def test_null_is_nothing() -> None:
    assert whole(None) == 0
    assert whole("5") == 5
    assert text(None) == ""


def test_a_label_is_bounded_text() -> None:
    assert text(b"a\xff") == "a\ufffd"
    assert text("\udc80") == "?"
    assert len(text("x" * 1000)) == 128


def test_a_name_has_what_names_may_have() -> None:
    assert metric_name("Innodb_Odd.name-x") == "innodb_odd_name_x"
