"""What servers say, each message read by itself as far as it is there: mysqlx.proto, mysqlx_notice.proto."""

from dataclasses import dataclass
from typing import Final

from workers.mysql.errors import StreamViolation
from workers.mysql.events import ERROR, Exchange
from workers.mysqlx import phases
from workers.mysqlx.arguments import plain_scalar
from workers.mysqlx.framing import HEADER, plausible
from workers.mysqlx.protobuf import BYTES, VARINT, fields

# Mysqlx.Notice.Frame.Type
WARNING: Final = 1
STATE_CHANGED: Final = 3

# Mysqlx.Notice.SessionStateChanged.Parameter
CURRENT_SCHEMA: Final = 1
GENERATED_INSERT_ID: Final = 3
ROWS_AFFECTED: Final = 4
CLIENT_ID_ASSIGNED: Final = 11

_LOCAL: Final = 2  # Mysqlx.Notice.Frame.Scope
_MESSAGE_LIMIT: Final = 512
"""MYSQL_ERRMSG_SIZE: servers write no longer ones."""
_SQLSTATE_SIZE: Final = 5
_MOST_LOOKED_AT: Final = 16
_MOST_FIELDS: Final = 64
"""Of an Error and of a Notice; neither has more than 4."""
_EMPTY: Final = frozenset({phases.STMT_EXECUTE_OK, *phases.RESULTS}) - {phases.COLUMN_META_DATA, phases.ROW}


@dataclass(slots=True)
class Notice:
    """A notice; *parameter* and *value* are of a STATE_CHANGED: its first value, None where that is something else."""

    kind: int = 0
    local: bool = False
    parameter: int = 0
    value: int | bytes | None = None


def error(exchange: Exchange, data: bytes, at: int, end: int) -> None:
    """Note the Error in ``data[at:end]`` in *exchange*, as far as it can be read."""
    exchange.status = ERROR
    try:
        for each in fields(data, at, end, cut=True, most=_MOST_FIELDS):
            if each.kind == VARINT and each.number == 2:
                exchange.error_code = each.value & 0xFFFF
            elif each.kind == BYTES and each.number == 3:
                exchange.message = data[each.begin : min(each.stop, each.begin + _MESSAGE_LIMIT)]
            elif each.kind == BYTES and each.number == 4 and each.stop - each.begin == _SQLSTATE_SIZE:
                exchange.sqlstate = data[each.begin : each.stop]
    except StreamViolation:
        return  # that it is an error is known all the same


def notice(data: bytes, at: int, end: int) -> Notice:
    """Read the Notice.Frame in ``data[at:end]``. Never raises: what can't be read is left out."""
    found = Notice()
    try:
        for each in fields(data, at, end, most=_MOST_FIELDS):
            if each.kind == VARINT and each.number == 1:
                found.kind = each.value
            elif each.kind == VARINT and each.number == 2:
                found.local = each.value == _LOCAL
            elif each.kind == BYTES and each.number == 3 and found.kind == STATE_CHANGED:
                _state_changed(found, data, each.begin, each.stop)
    except StreamViolation:
        return found
    return found


def kind_inside(data: bytes, at: int, end: int) -> int | None:
    """The type of all the messages in a Compression message of the server, where it says that they are of one."""
    try:
        for each in fields(data, at, end, cut=True, most=_MOST_FIELDS):
            if each.kind == VARINT and each.number == 2:
                return each.value
    except StreamViolation:
        return None
    return None


def _state_changed(found: Notice, data: bytes, at: int, end: int) -> None:
    for each in fields(data, at, end, most=_MOST_FIELDS):
        if each.kind == VARINT and each.number == 1:
            found.parameter = each.value
        elif each.kind == BYTES and each.number == 2 and found.value is None:
            found.value = plain_scalar(data, each.begin, each.stop)


def whole_rows(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Where the messages Row that lie whole in ``data[at:end]``, one behind the other, end, and how many they are."""
    rows = 0
    while end - at >= HEADER and data[at + 4] == phases.ROW:
        after = at + 4 + int.from_bytes(data[at : at + 4], "little")
        if not at + HEADER <= after <= end:
            break
        at = after
        rows += 1
    return at, rows


def is_boundary(data: bytes, at: int, end: int) -> bool:
    """Whether a message of the server can be trusted to begin at *at*, the beginning of a segment behind lost ones."""
    for _ in range(_MOST_LOOKED_AT):
        if end - at < HEADER or not plausible(data, at, phases.SERVER_MESSAGES):
            return False
        length = int.from_bytes(data[at : at + 4], "little") - 1
        begin = at + HEADER
        if data[at + 4] in _EMPTY and length:
            return False
        cut = length > end - begin
        try:
            for _ in fields(data, begin, end if cut else begin + length, cut=cut):
                pass
        except StreamViolation:
            return False
        at = begin + length
        if end - at < HEADER:
            return True
    return True
