from __future__ import annotations

from decimal import Decimal

import pytest

from workers.mysql.values import Indicator, rows, values


def decode(data: bytes) -> str:
    return data.decode("latin_1")


def one(code: int, data: bytes, flag: int = 0) -> object:
    (value,) = values(b"\x01\0\0" + bytes((code, flag)) + data, decode)
    return value


def test_no_parameters_make_no_values() -> None:
    assert values(b"\0\0", decode) == ()


def test_text_is_decoded_by_the_caller() -> None:
    assert one(253, b"\x01\xe9") == "é"


def test_a_decimal_keeps_its_digits() -> None:
    assert one(246, b"\x05-1.50") == Decimal("-1.50")
    assert one(246, b"\x04a\xe9.0") == "aé.0"


@pytest.mark.parametrize(
    "bound",
    [
        pytest.param(b"\x01\0", id="no bitmap"),
        pytest.param(b"\xff\xff\0", id="fewer types than counted"),
        pytest.param(b"\x01\0\0\x08\0\x01", id="a number cut short"),
        pytest.param(b"\x01\0\0\xfd\0\x05ab", id="a string cut short"),
        pytest.param(b"\x01\0\0\xfd\0\xff", id="a string without length"),
        pytest.param(b"\x01\0\0\xfd\0\xfc\x01", id="a length cut short"),
        pytest.param(b"\x01\0\0\xfd\0", id="a string that is not there"),
        pytest.param(b"\x01\0\0\x0c\0\x05abcde", id="a date of 5 bytes"),
        pytest.param(b"\x01\0\0\x0b\0\x05abcde", id="a time of 5 bytes"),
        pytest.param(b"\x01\0\0\x0b\0", id="a time that is not there"),
    ],
)
def test_bytes_that_are_not_in_that_form_are_a_value_error(bound: bytes) -> None:
    with pytest.raises(ValueError, match="bound values"):
        values(bound, decode)


def test_rows_have_an_indicator_before_each_value() -> None:
    bound = b"\x02\0\x01\x80\xfd\0" + b"\0\xff\0\x01a" + b"\x01\x02" + b"\x03\0\0"
    assert rows(bound, decode) == ((255, "a"), (None, Indicator.DEFAULT), (Indicator.IGNORE, ""))
    assert rows(b"\x01\0\x06\0\0\0", decode) == ((None,), (None,))
    assert rows(b"\0\0", decode) == ()


@pytest.mark.parametrize(
    "bound",
    [
        pytest.param(b"\x01\0\x01", id="fewer types than counted"),
        pytest.param(b"\0\0\0", id="rows of nothing"),
        pytest.param(b"\x01\0\x08\0\0\x01", id="a number cut short"),
        pytest.param(b"\x02\0\x01\0\x01\0\x01", id="half a row"),
        pytest.param(b"\x01\0\x01\0\x04", id="no such indicator"),
    ],
)
def test_rows_in_another_form_are_refused(bound: bytes) -> None:
    with pytest.raises(ValueError, match=r"bound rows|Indicator"):
        rows(bound, decode)
