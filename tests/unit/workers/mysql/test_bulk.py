from __future__ import annotations

import pytest

from workers.mysql.bulk import bulk_values
from workers.mysql.errors import StreamViolation
from workers.mysql.prepared import Prepared

TINY = b"\x01\0"


def test_rows_leave_with_their_count_and_types_before_them() -> None:
    prepared = Prepared(b"INSERT INTO t VALUES (?)", 24, 1)
    packet = b"\xff\x80\0" + TINY + b"\0\x05\x01" + b"\xff"
    assert bulk_values(prepared, packet, 1, len(packet) - 1, False) == b"\x01\0" + TINY + b"\0\x05\x01"
    assert bulk_values(prepared, b"\0\0\0\x07", 0, 4, False) == b"\x01\0" + TINY + b"\0\x07"


def test_of_what_is_cut_the_whole_rows_are_kept() -> None:
    prepared = Prepared(b"INSERT INTO t VALUES (?, ?)", 27, 2)
    packet = b"\x80\0" + TINY * 2 + b"\0\x05\x01" + b"\x02\0"
    assert bulk_values(prepared, packet, 0, len(packet), True) == b"\x02\0" + TINY * 2 + b"\0\x05\x01"
    assert bulk_values(prepared, packet, 0, 7, True) == b"\x02\0" + TINY * 2
    with pytest.raises(StreamViolation):
        bulk_values(prepared, packet, 0, len(packet), False)
    with pytest.raises(IndexError):
        bulk_values(prepared, packet, 0, len(packet) - 1, False)


@pytest.mark.parametrize(
    ("count", "packet"),
    [
        pytest.param(0, b"\x80\0\0", id="no parameters"),
        pytest.param(-1, b"\x80\0\0", id="nobody knows how many"),
        pytest.param(2, b"\x80\0\x01\0\x01", id="types cut short"),
        pytest.param(1, b"\0\0\0\x05", id="types never seen"),
        pytest.param(1, b"\x80\0\x01\0\x04", id="no such indicator"),
        pytest.param(1, b"\x80\0\x08\0\0\x01", id="a value cut short"),
    ],
)
def test_what_is_no_bulk_execution_is_refused(count: int, packet: bytes) -> None:
    with pytest.raises(StreamViolation):
        bulk_values(Prepared(b"", 0, count), packet, 0, len(packet), False)
