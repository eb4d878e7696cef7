"""The account that the monitor takes, as SQL for each kind of server: no more than it needs. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["mariadb", "mysql", "mysql-5.7"]
"""MariaDB from 10.5 on, MySQL from 8.0 on, MySQL 5.7."""

KINDS: Final[tuple[Kind, ...]] = ("mariadb", "mysql", "mysql-5.7")

_CONNECTIONS: Final = 3  # one is used; one that broke may not be gone yet

_RIGHTS: Final[dict[Kind, tuple[tuple[str, str, str], ...]]] = {
    "mariadb": (
        ("PROCESS", "*.*", "threads, transactions, locks, InnoDB's counters"),
        ("BINLOG MONITOR, SLAVE MONITOR", "*.*", "binary logs and replication"),
        ("SHOW VIEW", "*.*", "sizes of tables: it lets their names be seen, and none of their rows"),
    ),
    "mysql": (
        ("PROCESS", "*.*", "threads, transactions, InnoDB's counters"),
        ("REPLICATION CLIENT", "*.*", "binary logs and replication"),
        ("SELECT", "performance_schema.data_lock_waits", "who waits for whose lock"),
        ("SELECT", "performance_schema.processlist", "threads"),
        ("SHOW VIEW", "*.*", "sizes of tables: it lets their names be seen, and none of their rows"),
    ),
    "mysql-5.7": (
        ("PROCESS", "*.*", "threads, transactions, locks, InnoDB's counters"),
        ("REPLICATION CLIENT", "*.*", "binary logs and replication"),
        ("SHOW VIEW", "*.*", "sizes of tables: it lets their names be seen, and none of their rows"),
    ),
}
_BY_SOCKET: Final[dict[Kind, str]] = {
    "mariadb": "IDENTIFIED VIA unix_socket",
    "mysql": "IDENTIFIED WITH auth_socket",
    "mysql-5.7": "IDENTIFIED WITH auth_socket",
}


@dataclass(frozen=True, slots=True)
class Account:
    """Whom to make; without a password the server knows the user by the Unix socket."""

    kind: Kind
    user: str
    host: str
    password: str | None


def statements(account: Account) -> Iterator[str]:
    """What an administrator runs, a line each, comments included."""
    name = f"{_quoted(account.user)}@{_quoted(account.host)}"
    known = _BY_SOCKET[account.kind] if account.password is None else f"IDENTIFIED BY {_quoted(account.password)}"
    yield f"CREATE USER {name} {known} WITH MAX_USER_CONNECTIONS {_CONNECTIONS};"
    for rights, where, why in _RIGHTS[account.kind]:
        yield f"GRANT {rights} ON {where} TO {name};  -- {why}"


def option_file(account: Account) -> Iterator[str]:
    """What monitor.credentials_file has to hold for it, a line each."""
    yield "[client]"
    yield f"user = {account.user}"
    if account.password is not None:
        yield f"password = {account.password}"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
