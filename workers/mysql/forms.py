"""How the values of an execution stand in its packet: page_protocol_com_stmt_execute, COM_STMT_BULK_EXECUTE."""

from typing import Final

import cython

from workers.mysql import constants
from workers.mysql.bulk import bulk_values
from workers.mysql.errors import StreamViolation
from workers.mysql.events import TRUNCATED, Exchange
from workers.mysql.placeholders import fills
from workers.mysql.prepared import Prepared, bound_values, bound_values_with_attributes

if not cython.compiled:
    from workers.wire import u8

PLAIN: Final = 0
NAMED: Final = 1
"""With their names, and query attributes behind them."""
ROWS: Final = 2
CUT_ROWS: Final = 3
CUT: Final = 4

_PLAIN = cython.declare(cython.int, PLAIN)
_NAMED = cython.declare(cython.int, NAMED)
_ROWS = cython.declare(cython.int, ROWS)
_CUT_ROWS = cython.declare(cython.int, CUT_ROWS)
_CUT = cython.declare(cython.int, CUT)
_FLAG_TRUNCATED = cython.declare(cython.uint, TRUNCATED)
_COM_STMT_BULK_EXECUTE = cython.declare(cython.uint, constants.COM_STMT_BULK_EXECUTE)
_PARAMETER_COUNT_AVAILABLE = cython.declare(cython.uint, constants.PARAMETER_COUNT_AVAILABLE)


@cython.ccall
@cython.exceptval(-1)
def form_of(
    exchange: Exchange,
    prepared: Prepared | None,
    data: bytes,
    at: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    cut: cython.bint,
    attributes: cython.int,
    keep_bytes: cython.longlong,
) -> cython.int:
    """The form of the execution in ``data[at:end]``. Of rows that are cut the whole ones are read.

    *attributes*: whether commands may bring query attributes, -1 where that is not known. Raises IndexError where the
    packet is too short for an execution.
    """
    if exchange.command == _COM_STMT_BULK_EXECUTE:
        if cut or end - at - 4 > keep_bytes:
            exchange.flags |= _FLAG_TRUNCATED
            return _CUT_ROWS
        return _ROWS
    named: cython.bint = attributes > 0  # a server goes by that, whatever the flag says
    if attributes < 0 or (named and prepared is not None and prepared.parameter_count == 0):  # but without values
        named = u8(data, at + 4, end) & _PARAMETER_COUNT_AVAILABLE != 0
    if cut:
        return _CUT
    return _NAMED if named else _PLAIN


@cython.ccall
def bound_in_full(
    prepared: Prepared,
    count: cython.Py_ssize_t,
    data: bytes,
    at: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    form: cython.int,
    believed: cython.bint,
) -> bytes | None:
    """The values if they are *count* and fill their packet, b"" for no values. Remembered where *believed*."""
    types: bytes = prepared.types
    before: cython.Py_ssize_t = prepared.parameter_count
    bound: bytes | None = None
    prepared.parameter_count = count
    try:
        if form == _ROWS or form == _CUT_ROWS:
            bound = bulk_values(prepared, data, at, end, form == _CUT_ROWS)
        elif count == 0 and at == end:
            bound = b""
        elif form == _NAMED:
            bound = bound_values_with_attributes(prepared, data, at, end)
            bound = None if not fills(bound) else bound if count else b""
        elif form == _PLAIN and count:
            bound = bound_values(prepared, data, at, end)
            bound = bound if fills(bound) else None
    except (StreamViolation, IndexError):
        bound = None
    if bound is None or not believed:
        prepared.types = types
        prepared.parameter_count = before
    return bound
