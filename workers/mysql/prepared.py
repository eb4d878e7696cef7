"""A prepared statement, and the values bound to an execution of it: page_protocol_com_stmt_execute.

Bound values leave here undecoded, in one form whatever the client sent: the count (2 bytes), the NULL bitmap, two
bytes of type a parameter (type code, and 0x80 in the second where it is unsigned), then the values as on the wire.
``values.py`` reads them back.
"""

from typing import Final

import cython

from workers.mysql.errors import StreamViolation
from workers.mysql.events import Exchange
from workers.wire import lenenc, lenenc_size

if not cython.compiled:
    from workers.wire import u8

# Bytes a value takes by type code (enum_field_types); 0xFF: a length-encoded string; 0xFE: one byte of length first.
_STRING: Final = 0xFF
_TIME: Final = 0xFE
_SIZE_TABLE: Final = bytes(
    {1: 1, 2: 2, 3: 4, 4: 4, 5: 8, 6: 0, 7: _TIME, 8: 8, 9: 4, 10: _TIME, 11: _TIME, 12: _TIME, 13: 2}.get(
        code, _STRING
    )
    for code in range(256)
)
_SIZES = cython.declare(bytes, _SIZE_TABLE)
_STRING_SIZE = cython.declare(cython.uint, _STRING)
_TIME_SIZE = cython.declare(cython.uint, _TIME)
_WIDE = cython.declare(cython.int, 9)
_LOWER_HALF = cython.declare(cython.ulonglong, 0xFFFFFFFF)
_STRING_TYPE: Final = 0xFE  # MYSQL_TYPE_STRING
_BLOB_TYPE: Final = 0xFC  # MYSQL_TYPE_BLOB


@cython.final
@cython.cclass
class Prepared:
    """A statement that the server has prepared, or is about to: ``parameter_count`` is -1 until it has.

    Types are remembered from one execution to the next, long data up to it. ``early`` is an execution that was sent
    before the answer to PREPARE, and ``early_values`` what it brought. ``inferred``: the server did not say its id.
    ``restored``: what is known of it may be out of date. The rest is bookkeeping of ``statements.py``.
    """

    text: bytes | None
    text_length: cython.ulonglong
    text_sha256: bytes | None
    parameter_count: cython.Py_ssize_t
    types: bytes
    statement_id: cython.uint
    long_data: dict[int, list[bytes]] | None
    long_data_bytes: cython.longlong
    long_data_charged: cython.longlong
    long_data_cut: cython.bint
    waiting_charged: cython.longlong
    charged: cython.longlong
    early: Exchange | None
    early_values: bytes
    early_form: cython.int
    charset: cython.uint
    inferred: cython.bint
    kept: cython.bint
    restored: cython.bint
    saved: cython.bint

    def __init__(
        self, text: bytes | None, text_length: int, parameter_count: int = -1, text_sha256: bytes | None = None
    ) -> None:
        self.text = text
        self.text_length = text_length
        self.text_sha256 = text_sha256
        self.parameter_count = parameter_count
        self.statement_id = 0
        self.long_data_bytes = self.long_data_charged = self.waiting_charged = self.charged = 0
        self.long_data_cut = False
        self.early = None
        self.early_values = b""
        self.early_form = 0
        self.charset = 0
        self.inferred = self.kept = self.restored = self.saved = False
        self.types = b""
        self.long_data = None


@cython.ccall
def prepared_by(exchange: Exchange) -> Prepared:
    """What that PREPARE prepares."""
    return Prepared(exchange.text, exchange.text_length, text_sha256=exchange.text_sha256)


@cython.ccall
def skip_value(data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t, code: cython.uint) -> cython.Py_ssize_t:
    """Where the value of type *code* at *at* ends.

    Raises StreamViolation where it leaves the packet, IndexError where its length does.
    """
    size: cython.uint = _SIZES[cython.cast(cython.Py_ssize_t, code)]
    stop: cython.ulonglong
    if size == _STRING_SIZE:
        width: cython.int = lenenc_size(data, at, end)
        if width == 0:
            raise StreamViolation("a bound string has no length")
        stop = lenenc(data, at, end)
        if width == _WIDE:
            stop &= _LOWER_HALF  # the server's get_param_length() in sql_prepare.cc reads no more, and clients know
        at += width
    elif size == _TIME_SIZE:
        stop = u8(data, at, end)
        at += 1
    else:
        stop = size
    if stop > cython.cast(cython.ulonglong, end - at):
        raise StreamViolation("a bound value is longer than its packet")
    return at + cython.cast(cython.Py_ssize_t, stop)


@cython.ccall
@cython.exceptval(-1)
def take_types(
    prepared: Prepared, data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t, sent: cython.bint
) -> cython.Py_ssize_t:
    """Where the types at *at* end if they were *sent*; where they were not, those of the execution before hold.

    Raises StreamViolation where they leave the packet, or were never seen.
    """
    size: cython.Py_ssize_t = 2 * prepared.parameter_count
    if sent:
        if at + size > end:
            raise StreamViolation("the types of an execution are cut short")
        prepared.types = data[at : at + size]
        at += size
    if len(prepared.types) != size:
        raise StreamViolation("the types of an execution were never seen")
    return at


@cython.ccall
def bound_values(prepared: Prepared, data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> bytes:
    """The values of an execution in the form above. ``data[at:end]`` begins with the NULL bitmap.

    Raises StreamViolation where they can't be read: types that were never seen, or a packet cut short.
    """
    count: cython.Py_ssize_t = prepared.parameter_count
    bitmap_end: cython.Py_ssize_t = at + (count + 7) // 8
    if bitmap_end >= end:
        raise StreamViolation("the values of an execution are cut short")
    values: cython.Py_ssize_t = take_types(prepared, data, bitmap_end + 1, end, data[bitmap_end] == 1)
    header: bytes = count.to_bytes(2, "little") + data[at:bitmap_end]
    if prepared.long_data:
        return _with_long_data(prepared, header, data, values, end)
    return header + prepared.types + data[values:end]


@cython.ccall
def bound_values_with_attributes(
    prepared: Prepared, data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t
) -> bytes:
    """The same from an execution that may bring query attributes: the count of all values comes first, each type has a
    name, and the attributes' values stand behind the statement's (``attributes.py`` takes them).

    Raises StreamViolation or IndexError where they can't be read.
    """
    wanted: cython.Py_ssize_t = prepared.parameter_count
    width: cython.int = lenenc_size(data, at, end)
    total: cython.ulonglong = lenenc(data, at, end)
    at += width
    if width == 0 or total < cython.cast(cython.ulonglong, wanted) or total > 0xFFFF:
        raise StreamViolation("an execution brings fewer values than its statement takes")
    if total == 0:
        return b"\0\0"
    bitmap: cython.Py_ssize_t = at
    at += cython.cast(cython.Py_ssize_t, (total + 7) // 8)
    types: list[bytes] = []
    if u8(data, at, end) == 1:
        at += 1
        for _index in range(cython.cast(cython.Py_ssize_t, total)):
            types.append(data[at : at + 2])
            at = skip_value(data, at + 2, end, _STRING_TYPE)
        prepared.types = b"".join(types[:wanted])
    else:
        at += 1
    if len(prepared.types) != 2 * wanted:
        raise StreamViolation("the types of an execution were never seen")
    header: bytes = wanted.to_bytes(2, "little") + data[bitmap : bitmap + (wanted + 7) // 8]
    if prepared.long_data:
        return _with_long_data(prepared, header, data, at, end)
    if total > cython.cast(cython.ulonglong, wanted):
        end = _values_end(prepared.types, header, data, at, end)
    return header + prepared.types + data[at:end]


@cython.cfunc
def _values_end(
    types: bytes, header: bytes, data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """Where the values of these types end that begin at *at*; *header* has their NULL bitmap."""
    index: cython.Py_ssize_t
    for index in range(len(types) // 2):
        if not header[2 + index // 8] >> (index % 8) & 1:
            at = skip_value(data, at, end, types[2 * index])
    return at


@cython.cfunc
def _with_long_data(
    prepared: Prepared, header: bytes, data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t
) -> bytes:
    """Put what COM_STMT_SEND_LONG_DATA brought where its values would have stood: on the wire they take no room."""
    types: bytearray = bytearray(prepared.types)
    start: bytearray = bytearray(header)
    pieces: list[bytes] = []
    stop: cython.Py_ssize_t
    index: cython.Py_ssize_t
    long_data: dict[int, list[bytes]] = prepared.long_data or {}
    for index in range(prepared.parameter_count):
        if index in long_data:
            whole: bytes = b"".join(long_data[index])
            pieces.append(b"\xfe" + len(whole).to_bytes(8, "little") + whole)
            if _SIZES[types[2 * index]] != _STRING:
                types[2 * index] = _BLOB_TYPE
            start[2 + index // 8] &= ~(1 << (index % 8)) & 0xFF  # servers do not ask whether it is NULL
            continue
        if header[2 + index // 8] >> (index % 8) & 1:
            continue
        stop = skip_value(data, at, end, types[2 * index])
        pieces.append(data[at:stop])
        at = stop
    return bytes(start) + bytes(types) + b"".join(pieces)
