"""The real clients of the matrix: where each comes from, and the command that sends with it."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.support import debian, mysql97, processes
from tests.support.debian import UnavailableError

SENDERS: Final = Path(__file__).parent / "senders"

_CONNECTOR = "mysql-connector-python==26.10.0"
_MYSQL2 = "mysql2@3.24.6"
_JDBC, _JAR = "libmariadb-java", "usr/share/java/mariadb-java-client.jar"


@dataclass(frozen=True)
class Client:
    """A client of the matrix."""

    title: str
    command: Callable[[Path], list[str]]
    """The command line of its sender, without the arguments that all senders take. May raise UnavailableError."""


def _python(module: str, programs: str = "") -> list[str]:
    return [*processes.module(f"tests.system.senders.{module}"), "--programs", programs]


def _connector(folder: Path) -> None:
    debian.run([sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder), _CONNECTOR])


def _connector_command(_: Path) -> list[str]:
    name = f"mysql-connector-{sys.version_info.major}{sys.version_info.minor}"
    return _python("connector_sender", str(debian.once(name, _connector)))


def _mariadb_command(_: Path) -> list[str]:
    return _python("command_line_sender", _installed("mariadb"))


def _mysql_command(_: Path) -> list[str]:
    return _python("command_line_sender", shlex.join(mysql97.program("bin", "mysql")))


def _mysql2(folder: Path) -> None:
    debian.run([_installed("npm"), "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), _MYSQL2])


def _mysql2_command(_: Path) -> list[str]:
    node = _installed("node")
    return [node, str(SENDERS / "mysql2_sender.js"), "--programs", str(debian.once("mysql2", _mysql2))]


def _jdbc(folder: Path) -> None:
    """The driver out of the distribution's package, unpacked, as its dependencies are not needed."""
    packages = folder / "packages"
    packages.mkdir()
    debian.run(["sh", "-c", f"cd {shlex.quote(str(packages))} && apt-get -qq download {_JDBC}"])
    for package in packages.glob("*.deb"):
        debian.run(["dpkg-deb", "-x", str(package), str(folder)])


def _jdbc_command(_: Path) -> list[str]:
    java, jar = _installed("java"), debian.once("mariadb-jdbc", _jdbc) / _JAR
    return [java, "-Duser.timezone=UTC", "-cp", str(jar), str(SENDERS / "MariadbJdbcSender.java")]


def _installed(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise UnavailableError(f"{name} is not installed")
    return found


CLIENTS: Final = {
    "pymysql": Client("PyMySQL", lambda _: _python("pymysql_sender")),
    "connector": Client("MySQL Connector/Python", _connector_command),
    "mariadb-client": Client("mariadb", _mariadb_command),
    "mysql-client": Client("mysql of 9.7", _mysql_command),
    "mysql2": Client("mysql2 of Node", _mysql2_command),
    "jdbc": Client("MariaDB's JDBC driver", _jdbc_command),
}
