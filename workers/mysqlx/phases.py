"""Which messages a client sends, what becomes of each, and how each is answered.

The theory of a connection: the client asks for capabilities and sets some (TLS, compression, its attributes), then
proves who it is; from then on it sends requests and the server answers each, in order, with any number of notices and
result sets and one last message. Nothing numbers the messages: a client may send ahead as much as it likes.
Sources: mysqlx*.proto and page_mysqlx_protocol of the MySQL server's documentation.
"""

from dataclasses import dataclass, field
from typing import Final

from workers.mysql import constants
from workers.mysql import phases as classic
from workers.mysqlx.protobuf import BYTES, VARINT

# Mysqlx.ClientMessages.Type
CAPABILITIES_GET: Final = 1
CAPABILITIES_SET: Final = 2
CONNECTION_CLOSE: Final = 3
AUTHENTICATE_START: Final = 4
AUTHENTICATE_CONTINUE: Final = 5
SESSION_RESET: Final = 6
SESSION_CLOSE: Final = 7
STMT_EXECUTE: Final = 12
FIND: Final = 17
INSERT: Final = 18
UPDATE: Final = 19
DELETE: Final = 20
EXPECT_OPEN: Final = 24
EXPECT_CLOSE: Final = 25
CREATE_VIEW: Final = 30
MODIFY_VIEW: Final = 31
DROP_VIEW: Final = 32
PREPARE: Final = 40
EXECUTE: Final = 41
DEALLOCATE: Final = 42
CURSOR_OPEN: Final = 43
CURSOR_CLOSE: Final = 44
CURSOR_FETCH: Final = 45
COMPRESSION: Final = 46

# Mysqlx.ServerMessages.Type
OK: Final = 0
ERROR: Final = 1
CAPABILITIES: Final = 2
AUTHENTICATE_MORE: Final = 3
AUTHENTICATE_OK: Final = 4
NOTICE: Final = 11
COLUMN_META_DATA: Final = 12
ROW: Final = 13
FETCH_DONE: Final = 14
FETCH_SUSPENDED: Final = 15
FETCH_DONE_MORE_RESULTSETS: Final = 16
STMT_EXECUTE_OK: Final = 17
FETCH_DONE_MORE_OUT_PARAMS: Final = 18
SERVER_COMPRESSION: Final = 19

SERVER_MESSAGES: Final = frozenset(
    {OK, ERROR, CAPABILITIES, AUTHENTICATE_MORE, AUTHENTICATE_OK, NOTICE, *range(COLUMN_META_DATA, 20)}
)
RESULTS: Final = frozenset({COLUMN_META_DATA, ROW, *range(FETCH_DONE, STMT_EXECUTE_OK), FETCH_DONE_MORE_OUT_PARAMS})
"""What a result set is made of."""
ENDINGS: Final = frozenset({OK, ERROR, CAPABILITIES, AUTHENTICATE_OK, STMT_EXECUTE_OK})
"""What ends an answer."""

HEADER_SIZE: Final = 5
FIRST: Final = 0x200
"""Exchange.command of a message is its type and this."""
ADMIN: Final = FIRST + 0x80
"""Not a message of its own: a StmtExecute whose namespace is not "sql", so a command of the X plugin itself."""

EFFECT: Final = frozenset({STMT_EXECUTE_OK})
_DONE: Final = frozenset({OK})
_LOGGED_IN: Final = frozenset({AUTHENTICATE_OK})
_VIEW: Final = {1: BYTES, 2: BYTES, 6: BYTES, 7: BYTES}


@dataclass(frozen=True, slots=True)
class Message:
    """One kind of message that clients send."""

    number: int
    name: str
    """As records name it."""
    fields: dict[int, int] = field(default_factory=dict)
    """The fields it can have at its top level, and how each is encoded."""
    ends: frozenset[int] = _DONE
    """What its answer ends with, other than Error."""
    recorded: bool = True
    """It becomes a record of its own."""

    @property
    def answers(self) -> frozenset[int]:
        """The messages, beside Error and notices, that its answer is made of."""
        if self.ends == _LOGGED_IN:
            return self.ends | {AUTHENTICATE_MORE}
        return self.ends | RESULTS if STMT_EXECUTE_OK in self.ends else self.ends


MESSAGES: Final = (
    Message(CAPABILITIES_GET, "x_capabilities_get", ends=frozenset({CAPABILITIES}), recorded=False),
    Message(CAPABILITIES_SET, "x_capabilities_set", {1: BYTES}, recorded=False),
    Message(CONNECTION_CLOSE, "x_connection_close"),
    Message(AUTHENTICATE_START, classic.CONNECT_NAME, {1: BYTES, 2: BYTES, 3: BYTES}, _LOGGED_IN),
    Message(AUTHENTICATE_CONTINUE, classic.CONNECT_NAME, {1: BYTES}, _LOGGED_IN),
    Message(SESSION_RESET, "x_session_reset", {1: VARINT}),
    Message(SESSION_CLOSE, "x_session_close"),
    Message(STMT_EXECUTE, "query", {1: BYTES, 2: BYTES, 3: BYTES, 4: VARINT}, EFFECT),
    Message(
        FIND,
        "x_find",
        dict.fromkeys((2, 4, 5, 6, 7, 8, 9, 11, 14), BYTES) | {3: VARINT, 12: VARINT, 13: VARINT},
        EFFECT,
    ),
    Message(INSERT, "x_insert", {1: BYTES, 2: VARINT, 3: BYTES, 4: BYTES, 5: BYTES, 6: VARINT}, EFFECT),
    Message(UPDATE, "x_update", dict.fromkeys((2, 4, 5, 6, 7, 8, 9), BYTES) | {3: VARINT}, EFFECT),
    Message(DELETE, "x_delete", dict.fromkeys((1, 3, 4, 5, 6, 7), BYTES) | {2: VARINT}, EFFECT),
    Message(EXPECT_OPEN, "x_expect_open", {1: VARINT, 2: BYTES}),
    Message(EXPECT_CLOSE, "x_expect_close"),
    Message(CREATE_VIEW, "x_create_view", dict.fromkeys((3, 4, 5, 8), VARINT) | _VIEW),
    Message(MODIFY_VIEW, "x_modify_view", dict.fromkeys((3, 4, 5), VARINT) | _VIEW),
    Message(DROP_VIEW, "x_drop_view", {1: BYTES, 2: VARINT}),
    Message(PREPARE, "x_prepare", {1: VARINT, 2: BYTES}),
    Message(EXECUTE, "x_execute", {1: VARINT, 2: BYTES, 3: VARINT}, EFFECT),
    Message(DEALLOCATE, "x_deallocate", {1: VARINT}),
    Message(CURSOR_OPEN, "x_cursor_open", {1: VARINT, 4: BYTES, 5: VARINT}, EFFECT),
    Message(CURSOR_CLOSE, "x_cursor_close", {1: VARINT}),
    Message(CURSOR_FETCH, "x_cursor_fetch", {1: VARINT, 5: VARINT}, EFFECT),
    Message(COMPRESSION, "x_compression", {1: VARINT, 2: VARINT, 3: VARINT, 4: BYTES}, recorded=False),
)

BY_NUMBER: Final = {message.number: message for message in MESSAGES}
CLIENT_MESSAGES: Final = frozenset(BY_NUMBER)

_NAMES: Final = {FIRST + message.number: message.name for message in MESSAGES} | {ADMIN: "x_admin"}

WITH_STATEMENT: Final = frozenset(
    {"x_prepare", "x_execute", "x_deallocate", "x_cursor_open", "x_cursor_fetch", "x_cursor_close"}
)
"""Names of the commands whose record has the id that the client gave a prepared statement."""
WITHOUT_EFFECT: Final = frozenset(
    message.name for message in MESSAGES if message.ends != EFFECT and message.name != classic.CONNECT_NAME
)
"""Names of the commands that change no rows, whatever the answer."""

COMMAND_NAMES: Final = frozenset(
    {classic.CONNECT_NAME, *_NAMES.values(), *(command.name for command in classic.COMMANDS)}
) - {message.name for message in (*MESSAGES, *classic.COMMANDS) if not message.recorded}
"""The names that records give commands, of both protocols; a command without a name is ``unknown_`` and its number."""


def command(number: int) -> int:
    """Exchange.command of the message *number*; both steps of a login are the one command that the classic login is."""
    if number in {AUTHENTICATE_START, AUTHENTICATE_CONTINUE}:
        return constants.CONNECT
    return FIRST + number


def name(number: int) -> str:
    """The name that records give Exchange.command *number*, of this protocol or of the classic one."""
    return _NAMES.get(number) or classic.name(number)
