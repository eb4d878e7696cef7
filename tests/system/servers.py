"""The real servers of the matrix, each with what the clients need."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pymysql

from tests.support import certificates
from tests.support.folders import reachable_folder
from tests.support.mysql97 import MySQL97
from tests.support.namespaces import Namespace
from tests.support.servers import PASSWORD, USER, MariaDB
from tests.system import plan

SERVERS: Final = {"mariadb": "MariaDB 10.11", "mysql": "MySQL 9.7"}

_OTHER = tuple(
    statement
    for host in ("127.0.0.1", "localhost")
    for statement in (
        f"CREATE USER {plan.OTHER_USER}@'{host}' IDENTIFIED BY '{plan.OTHER_PASSWORD}'",
        f"GRANT ALL ON *.* TO {plan.OTHER_USER}@'{host}'",
    )
)


@dataclass(frozen=True)
class Server:
    """One that runs."""

    name: str
    namespace: Namespace
    port: int
    log: Path
    """Its general log."""


@contextmanager
def running(name: str) -> Iterator[Server]:
    """A server of that name in a namespace of its own. Raises debian.UnavailableError."""
    with Namespace() as namespace, reachable_folder() as folder:
        if name == "mariadb":
            certificate, key = certificates.write(folder)
            options = ("--local-infile=1", f"--ssl-cert={certificate}", f"--ssl-key={key}")
            with MariaDB(namespace, options) as mariadb:
                _prepare(mariadb.socket)
                yield Server(name, namespace, mariadb.port, mariadb.general_log)
            return
        options = ("--log-raw=ON", "--local-infile=ON", "--max-allowed-packet=64M")
        with MySQL97(namespace, options) as mysql:
            _prepare(mysql.socket)
            _remember_passwords(mysql.socket)
            yield Server(name, namespace, mysql.port, mysql.general_log)


def _prepare(socket: Path) -> None:
    with pymysql.connect(unix_socket=str(socket), user="root", autocommit=True) as root, root.cursor() as cursor:
        for statement in (*_OTHER, *plan.PREPARATION):
            cursor.execute(statement)


def _remember_passwords(socket: Path) -> None:
    """Log in where that is safe: then the server takes a password's hash in clear, as some clients want it."""
    for user, password in ((USER, PASSWORD), (plan.OTHER_USER, plan.OTHER_PASSWORD)):
        pymysql.connect(unix_socket=str(socket), user=user, password=password).close()
