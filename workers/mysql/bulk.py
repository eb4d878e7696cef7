"""The rows of a COM_STMT_BULK_EXECUTE, MariaDB's execution of one statement with many rows of values.

MariaDB's page "COM_STMT_BULK_EXECUTE": behind the statement's id two bytes of flags, the types if a flag says so, and
rows up to the end of the packet, without their number. Each value has an indicator before it: 0, and the value
follows; 1 is NULL, 2 the column's default, 3 leaves the column alone.

They leave here undecoded in one form: the count of values in a row (2 bytes), two bytes of type for each, then the
rows as on the wire. ``values.py`` reads them back.
"""

from typing import Final

import cython

from workers.mysql.errors import StreamViolation
from workers.mysql.prepared import Prepared, skip_value, take_types
from workers.wire import u8, u16

SEND_TYPES: Final = 128
"""The flag that says that types follow; 64, that each row's insert id and affected rows be told, changes nothing."""

_SEND_TYPES = cython.declare(cython.uint, SEND_TYPES)
_MOST_INDICATOR = cython.declare(cython.uint, 3)


@cython.ccall
def bulk_values(
    prepared: Prepared, data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t, cut: cython.bint
) -> bytes:
    """The rows in the form above. ``data[at:end]`` begins with the flags; where it is *cut*, its whole rows.

    Raises StreamViolation or IndexError where they can't be read: types that were never seen, a row cut short, or long
    data beside them, which servers refuse.
    """
    count: cython.Py_ssize_t = prepared.parameter_count
    begin: cython.Py_ssize_t
    stop: cython.Py_ssize_t
    row: cython.Py_ssize_t
    if count <= 0 or prepared.long_data:
        raise StreamViolation("a bulk execution of a statement that can have none")
    begin = take_types(prepared, data, at + 2, end, u16(data, at, end) & _SEND_TYPES != 0)
    stop = row = begin
    while row < end:
        try:
            row = _skip_row(prepared.types, count, data, row, end)
        except (StreamViolation, IndexError):
            if not cut:
                raise
            break
        stop = row
    return count.to_bytes(2, "little") + prepared.types + data[begin:stop]


@cython.cfunc
def _skip_row(
    types: bytes, count: cython.Py_ssize_t, data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """Where the row ends that begins at *at*."""
    index: cython.Py_ssize_t
    indicator: cython.uint
    for index in range(count):
        indicator = u8(data, at, end)
        if indicator > _MOST_INDICATOR:
            raise StreamViolation("a value of a bulk execution has no indicator")
        at += 1
        if indicator == 0:
            at = skip_value(data, at, end, types[2 * index])
    return at
