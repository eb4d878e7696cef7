"""Which commands there are, and what of each is text, expects an answer, or changes the session.

The theory of a connection: the server greets (sequence id 0), the client logs in (1), both go on about the proof
(2, 3, ...) until the server says OK or ERR. From then on the client sends commands, each with sequence id 0 anew,
and the server answers each beginning with sequence id 1. One row a command, and each command has one:
a number without a row is no command, and where one would have to stand the stream is out of step.
Behind COM_CLONE another protocol is spoken for a while: clone.py.
"""

from dataclasses import dataclass
from typing import Final

from workers.mysql import constants


@dataclass(frozen=True, slots=True)
class Command:
    """One command of the protocol."""

    number: int
    name: str
    """As records name it: the protocol's name in lower case, without ``COM_``."""
    text: bool = False
    """Its argument is text that is recorded: SQL, or the name of a database or table."""
    answered: bool = True
    """The server sends an answer."""
    recorded: bool = True
    """It becomes a record of its own."""
    rows: bool = False
    """Its answer is rows or events at once; they begin with 0x00, as an OK does otherwise."""


COMMANDS: Final = (
    Command(0x00, "sleep"),
    Command(constants.COM_QUIT, "quit", answered=False),
    Command(constants.COM_INIT_DB, "init_db", text=True),
    Command(constants.COM_QUERY, "query", text=True),
    Command(constants.COM_FIELD_LIST, "field_list", text=True),
    Command(constants.COM_CREATE_DB, "create_db", text=True),
    Command(constants.COM_DROP_DB, "drop_db", text=True),
    Command(0x07, "refresh"),
    Command(0x08, "shutdown"),
    Command(0x09, "statistics"),
    Command(0x0A, "process_info"),
    Command(0x0B, "connect"),
    Command(constants.COM_PROCESS_KILL, "process_kill"),
    Command(0x0D, "debug"),
    Command(0x0E, "ping"),
    Command(0x0F, "time"),
    Command(0x10, "delayed_insert"),
    Command(constants.COM_CHANGE_USER, "change_user"),
    Command(constants.COM_BINLOG_DUMP, "binlog_dump", rows=True),
    Command(constants.COM_TABLE_DUMP, "table_dump", rows=True),
    Command(0x14, "connect_out"),
    Command(0x15, "register_slave"),
    Command(constants.COM_STMT_PREPARE, "stmt_prepare", text=True),
    Command(constants.COM_STMT_EXECUTE, "stmt_execute"),
    Command(constants.COM_STMT_SEND_LONG_DATA, "stmt_send_long_data", answered=False, recorded=False),
    Command(constants.COM_STMT_CLOSE, "stmt_close", answered=False),
    Command(constants.COM_STMT_RESET, "stmt_reset"),
    Command(0x1B, "set_option"),
    Command(constants.COM_STMT_FETCH, "stmt_fetch", rows=True),
    Command(0x1D, "daemon"),
    Command(constants.COM_BINLOG_DUMP_GTID, "binlog_dump_gtid", rows=True),
    Command(constants.COM_RESET_CONNECTION, "reset_connection"),
    Command(constants.COM_CLONE, "clone"),
    Command(constants.COM_STMT_BULK_EXECUTE, "stmt_bulk_execute"),
)

CONNECT_NAME: Final = "connect"

KNOWN: Final = 1
TEXT: Final = 2
ANSWERED: Final = 4
RECORDED: Final = 8
ROWS: Final = 16


def _traits(command: Command) -> int:
    kinds = TEXT * command.text | ANSWERED * command.answered | RECORDED * command.recorded | ROWS * command.rows
    return KNOWN | kinds


_BY_NUMBER = {command.number: command for command in COMMANDS}

TRAITS: Final = bytes(_traits(_BY_NUMBER[number]) if number in _BY_NUMBER else 0 for number in range(256))
"""For each command byte the bits above; 0 where no such command is."""


def name(number: int) -> str:
    """The name that records give the command *number*; ``CONNECT`` is the login."""
    if number == constants.CONNECT:
        return CONNECT_NAME
    command = _BY_NUMBER.get(number)
    return command.name if command else f"unknown_{number}"
