"""What stands in the messages of a client, as far as records have it. Field numbers are those of mysqlx_*.proto."""

from dataclasses import dataclass, field
from typing import Final

from workers.mysql.errors import StreamViolation
from workers.mysqlx import phases
from workers.mysqlx.arguments import Span, lenenc, members, plain
from workers.mysqlx.framing import HEADER, plausible
from workers.mysqlx.protobuf import BYTES, VARINT, Field, fields

_LONGEST_NAME: Final = 256
"""Of a user or schema: servers take 64 characters at most."""
_MOST_ATTRIBUTES: Final = 64 << 10
"""Bytes of connection attributes: performance_schema_session_connect_attrs_size is no larger than that."""
_MOST_LOOKED_AT: Final = 16
"""Messages of one segment that are looked at before a boundary is believed."""
SQL: Final = b"sql"

_COLLECTION: Final = {phases.FIND: 2, phases.UPDATE: 2}
"""Field with the collection where it is not field 1."""
_CRUD_ARGUMENTS: Final = {phases.FIND: 11, phases.INSERT: 5, phases.UPDATE: 8, phases.DELETE: 6}
_CRUD_TEXT: Final = {
    phases.FIND: b"find",
    phases.INSERT: b"insert",
    phases.UPDATE: b"update",
    phases.DELETE: b"delete",
    phases.CREATE_VIEW: b"create_view",
    phases.MODIFY_VIEW: b"modify_view",
    phases.DROP_VIEW: b"drop_view",
}
CRUD: Final = frozenset(_CRUD_TEXT)
_PREPARABLE: Final = {2: phases.FIND, 3: phases.INSERT, 4: phases.UPDATE, 5: phases.DELETE, 6: phases.STMT_EXECUTE}
"""Mysqlx.Prepare.Prepare.OneOfMessage: field by field."""


@dataclass(slots=True)
class Request:
    """What a message asks for. *text_length* is that of the whole text, where *text* is cut."""

    text: bytes | None = None
    text_length: int = 0
    namespace: bytes = SQL
    statement_id: int = 0
    cursor_id: int = 0
    arguments: list[Span] = field(default_factory=list)
    scalars: bool = False
    """The arguments are Scalars, otherwise Anys."""
    whole: bool = True
    """The message was read to its end."""


@dataclass(slots=True)
class Capabilities:
    """What a client wants of the connection, of what matters here; None and b"" where it does not say.

    ``compression`` is an algorithm's name, ``attributes`` are length-encoded pairs as in the classic login.
    """

    tls: bool = False
    compression: bytes | None = None
    attributes: bytes = b""


def request(kind: int, data: bytes, at: int, end: int, *, cut: bool, keep: int) -> Request:
    """Read the message *kind* in ``data[at:end]``, of its text *keep* bytes. *cut*: the message goes on behind *end*.

    Never raises: what can't be read is left out, and ``whole`` is not set then.
    """
    found = Request(whole=not cut)
    try:
        if kind in _READERS:
            _READERS[kind](found, kind, data, (at, end), cut)
    except StreamViolation:
        found.whole = False
    if found.text is not None and len(found.text) > keep:
        found.text = found.text[:keep]
    return found


def _sql(found: Request, _: int, data: bytes, span: Span, cut: bool) -> None:
    """Mysqlx.Sql.StmtExecute."""
    for each in fields(data, *span, cut=cut):
        if each.kind != BYTES:
            continue
        if each.number == 1:
            found.text = data[each.begin : each.stop]
            found.text_length = each.value
        elif each.number == 2:
            _argument(found, each)
        elif each.number == 3:
            found.namespace = data[each.begin : each.stop]


def _crud(found: Request, kind: int, data: bytes, span: Span, cut: bool) -> None:
    """The messages of mysqlx_crud.proto: their kind and the collection, table or view they are about."""
    found.scalars = True
    found.text = _CRUD_TEXT[kind]
    found.text_length = len(found.text)
    for each in fields(data, *span, cut=cut):
        if each.kind == BYTES and each.number == _COLLECTION.get(kind, 1):
            found.text = _CRUD_TEXT[kind] + b" " + _collection(data, each, cut)
            found.text_length = len(found.text)
        elif each.kind == BYTES and each.number == _CRUD_ARGUMENTS.get(kind):
            _argument(found, each)


def _collection(data: bytes, holder: Field, cut: bool) -> bytes:
    """``schema.name``, or the name alone where no schema is given."""
    name = schema = b""
    for each in fields(data, holder.begin, holder.stop, cut=cut):
        if each.kind == BYTES and each.number == 1:
            name = data[each.begin : each.stop]
        elif each.kind == BYTES and each.number == 2:
            schema = data[each.begin : each.stop]
    return schema + b"." + name if schema else name


def _argument(found: Request, each: Field) -> None:
    found.arguments.append((each.begin, each.stop))


def _prepare(found: Request, _: int, data: bytes, span: Span, cut: bool) -> None:
    """Mysqlx.Prepare.Prepare: an id of the client's choice, and the message it stands for."""
    for each in fields(data, *span, cut=cut):
        if each.kind == VARINT and each.number == 1:
            found.statement_id = each.value & 0xFFFFFFFF
        elif each.kind == BYTES and each.number == 2:
            for inner in fields(data, each.begin, each.stop, cut=cut):
                of = _PREPARABLE.get(inner.number)
                if of is not None and inner.kind == BYTES:
                    reader = _sql if of == phases.STMT_EXECUTE else _crud
                    reader(found, of, data, (inner.begin, inner.stop), cut)
    found.arguments.clear()  # a message that is prepared has none of its own
    found.scalars = False


def _execute(found: Request, _: int, data: bytes, span: Span, cut: bool) -> None:
    """Mysqlx.Prepare.Execute, and Deallocate, which has only the id."""
    for each in fields(data, *span, cut=cut):
        if each.kind == VARINT and each.number == 1:
            found.statement_id = each.value & 0xFFFFFFFF
        elif each.kind == BYTES and each.number == 2:
            _argument(found, each)


def _cursor_open(found: Request, kind: int, data: bytes, span: Span, cut: bool) -> None:
    """Mysqlx.Cursor.Open: an Execute inside a choice of one. Fetch and Close have no more than the cursor's id."""
    for each in fields(data, *span, cut=cut):
        if each.kind == VARINT and each.number == 1:
            found.cursor_id = each.value & 0xFFFFFFFF
        elif each.kind == BYTES and each.number == 4:
            for inner in fields(data, each.begin, each.stop, cut=cut):
                if inner.kind == BYTES and inner.number == 2:
                    _execute(found, kind, data, (inner.begin, inner.stop), cut)


_READERS: Final = {
    phases.STMT_EXECUTE: _sql,
    phases.PREPARE: _prepare,
    phases.EXECUTE: _execute,
    phases.DEALLOCATE: _execute,
    phases.CURSOR_OPEN: _cursor_open,
    phases.CURSOR_FETCH: _cursor_open,
    phases.CURSOR_CLOSE: _cursor_open,
    **dict.fromkeys(_CRUD_TEXT, _crud),
}


def compressed(data: bytes, at: int, end: int) -> Span:
    """Where the payload of a Compression message stands. Raises StreamViolation where it has none."""
    payload: Span | None = None
    for each in fields(data, at, end, most=16):
        if each.kind == BYTES and each.number == 4:
            payload = (each.begin, each.stop)
    if payload is None:
        raise StreamViolation("a Compression message without payload")
    return payload


def capabilities(data: bytes, at: int, end: int) -> Capabilities:
    """Read CapabilitiesSet in ``data[at:end]``. Of one that can't be read nothing is taken: nor do servers."""
    found = Capabilities()
    try:
        for holder in fields(data, at, end):
            if holder.kind == BYTES and holder.number == 1:
                for each in fields(data, holder.begin, holder.stop):
                    if each.kind == BYTES and each.number == 1:
                        _capability(found, data, each)
    except StreamViolation:
        return Capabilities()
    return found


def _capability(found: Capabilities, data: bytes, holder: Field) -> None:
    name, value = b"", (0, 0)
    for each in fields(data, holder.begin, holder.stop, most=16):
        if each.kind == BYTES and each.number == 1:
            name = data[each.begin : each.stop]
        elif each.kind == BYTES and each.number == 2:
            value = (each.begin, each.stop)
    if name == b"tls":
        found.tls = plain(data, *value) not in {None, 0}
    elif name == b"compression":
        found.compression = _text(data, dict(members(data, *value)).get(b"algorithm")).lower() or None
    elif name == b"session_connect_attrs":
        attributes = b"".join(lenenc(key) + lenenc(_text(data, span)) for key, span in members(data, *value))
        found.attributes = attributes if len(attributes) <= _MOST_ATTRIBUTES else b""


def _text(data: bytes, span: Span | None) -> bytes:
    """The Any at *span* where it is a string, b"" where it is not."""
    value = None if span is None else plain(data, *span)
    return value if isinstance(value, bytes) else b""


def auth_data(kind: int, data: bytes, at: int, end: int) -> tuple[bytes | None, bytes | None]:
    """User and schema in AuthenticateStart or AuthenticateContinue, each None where it is not in clear.

    PLAIN sends ``schema NUL user NUL password`` at once, MYSQL41 and SHA256_MEMORY ``schema NUL user NUL proof`` once
    they were challenged (page_mysqlx_protocol_authentication). Nothing behind the second NUL is looked at.
    """
    number = 2 if kind == phases.AUTHENTICATE_START else 1
    try:
        for each in fields(data, at, end, most=16):
            if each.kind == BYTES and each.number == number:
                first = data.find(b"\0", each.begin, each.stop)
                second = data.find(b"\0", first + 1, each.stop) if first >= 0 else -1
                if second >= 0 and second - each.begin <= 2 * _LONGEST_NAME:
                    return data[first + 1 : second], data[each.begin : first] or None
    except StreamViolation:
        return None, None
    return None, None


def is_boundary(data: bytes, at: int, end: int) -> bool:
    """Whether a message can be trusted to begin at *at*, where the stream is out of step or was joined late.

    What the segment holds must be messages up to its end; the last one may go on in the next segment.
    """
    for _ in range(_MOST_LOOKED_AT):
        if end - at < HEADER or not plausible(data, at, phases.CLIENT_MESSAGES) or not _reads_well(data, at, end):
            return False
        at += 4 + int.from_bytes(data[at : at + 4], "little")
        if end - at < HEADER:  # a rest too short to tell is given the benefit
            return True
    return True


def _reads_well(data: bytes, at: int, end: int) -> bool:
    """Whether the message whose header stands at *at* has fields of its kind, as far as they are there, and some."""
    length = int.from_bytes(data[at : at + 4], "little") - 1
    kind = data[at + 4]
    known = phases.BY_NUMBER[kind].fields
    begin = at + HEADER
    if length == 0:
        return not known or kind == phases.SESSION_RESET
    cut = length > end - begin
    seen = 0
    try:
        for each in fields(data, begin, end if cut else begin + length, cut=cut):
            if known.get(each.number) != each.kind or (each.kind == BYTES and each.value > length):
                return False
            seen += 1
    except StreamViolation:
        return False
    return seen > 0
