"""The list that a client keeps of what it sent, and why there is none where something cannot be sent.

A line of JSON for each feature is `{"feature": ..., "impossible": why}` or `{"feature": ..., "sent": [...]}`.
The clients that are no Python write the same.
"""

from __future__ import annotations

import argparse
import json
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from tests.system import plan
from tests.system.features import FEATURES


@dataclass(frozen=True)
class Sent:
    """A command that a client sent, as it sees it itself."""

    connection: int
    command: str
    """As the general log names it."""
    text: str = ""
    charset: str = "utf8mb4"
    error: int | None = 0
    """The number of the error that the client was told, 0 for none; None where it gave up by itself."""
    parameters: list[Any] | None = None
    """The values of an execution: numbers, text, None, or `{"base64": ...}` for bytes."""
    expected: Mapping[str, Any] = field(default_factory=dict)
    """What else its record must say, by the names of the record's fields."""


class Cell:
    """What was sent to try one feature."""

    def __init__(self) -> None:
        self.sent: list[Sent] = []

    def note(
        self,
        connection: int,
        command: str,
        text: str = "",
        *,
        charset: str = "utf8mb4",
        error: int | None = 0,
        parameters: list[Any] | None = None,
        **expected: Any,  # noqa: ANN401  # whatever a record holds
    ) -> None:
        """Add a command to the list."""
        self.sent.append(Sent(connection, command, text, charset, error, parameters, expected))


class Session(Protocol):
    """What a client's connection can do in all of them."""

    id: int
    charset: str

    def query(self, text: str) -> int:
        """Send a query, read all its results; the number of the error, 0 for none."""

    def close(self) -> None:
        """Say goodbye."""


@dataclass(frozen=True)
class Arguments:
    """What a sender is told."""

    port: int
    user: str
    password: str
    server: str
    """`mariadb` or `mysql`."""
    infile: Path
    statements: Mapping[str, list[plan.Planned]]
    programs: str
    """Where the client is: a folder or a command, as clients.py says."""


class Sender(ABC):
    """Tries the features with one client: a method of the feature's name each, unless it is in *cannot*."""

    def __init__(self, arguments: Arguments) -> None:
        self.arguments = arguments
        self.cannot: dict[str, str] = {}
        """Why a feature cannot be tried."""
        if arguments.server == "mariadb":
            self.cannot["query_attributes"] = "MariaDB has no query attributes"
            self.cannot["zstd"] = "MariaDB 10.11 does not compress by zstd"

    @abstractmethod
    def connect(self, **options: Any) -> Session:  # noqa: ANN401  # the client's own
        """A connection of the client."""

    @abstractmethod
    def refused(self, user: str) -> int | None:
        """Try to log in with a wrong password: the error's number, None where the client gave up by itself."""

    def send(
        self,
        cell: Cell,
        statements: list[plan.Planned],
        expected: Expected | None = None,
        **options: Any,  # noqa: ANN401
    ) -> None:
        """Send statements over a connection with *options* and note them."""
        session = self.connect(**options)
        for planned in statements:
            query(cell, session, *planned, **expected or {})
        close(cell, session)

    def text(self, cell: Cell) -> None:
        self.send(cell, self.arguments.statements["text"])

    def multi_statements(self, cell: Cell) -> None:
        self.send(cell, self.arguments.statements["multi_statements"])

    def procedures(self, cell: Cell) -> None:
        self.send(cell, self.arguments.statements["procedures"])

    def local_infile(self, cell: Cell) -> None:
        self.send(cell, self.arguments.statements["local_infile"])

    def big(self, cell: Cell) -> None:
        self.send(cell, [plan.Planned(plan.big())])

    def utf8mb4(self, cell: Cell) -> None:
        self.send(cell, self.arguments.statements["utf8mb4"])

    def latin1(self, cell: Cell) -> None:
        self.send(cell, self.arguments.statements["latin1"], charset="latin1")

    def gbk(self, cell: Cell) -> None:
        self.send(cell, self.arguments.statements["gbk"], charset="gbk")

    @abstractmethod
    def tls(self, cell: Cell) -> None:
        """Send under TLS; what is noted is the cipher that the server names, as the text of `TLS`."""

    def failures(self, cell: Cell) -> None:
        self.send(cell, self.arguments.statements["failures"])

    def failed_login(self, cell: Cell) -> None:
        for user in ("nobody", self.arguments.user):
            cell.note(0, "Connect", user, error=self.refused(user))


CIPHER = "SHOW STATUS LIKE 'Ssl_cipher'"
Expected = Mapping[str, Any]


def query(cell: Cell, session: Session, text: str, error: int = 0, late: bool = False, **expected: Any) -> None:  # noqa: ANN401
    """Send one statement and note it, with the error unless that is late: then it is not the first answer."""
    told = session.query(text)
    if told != error:
        raise RuntimeError(f"the server says {told}, not {error}: {text[:200]}")
    cell.note(session.id, "Query", text, charset=session.charset, error=0 if late else told, **expected)


def close(cell: Cell, session: Session) -> None:
    """Say goodbye and note it."""
    session.close()
    cell.note(session.id, "Quit")


def encrypted(cell: Cell, session: Session, connection: Any, statements: list[plan.Planned]) -> None:  # noqa: ANN401
    """Send what must leave no record, over a *connection* of PEP 249, and note the cipher that the server names."""
    for planned in statements:
        session.query(planned.text)
    with connection.cursor() as cursor:
        cursor.execute(CIPHER)
        (_, cipher), *_ = cursor.fetchall()
    cell.note(session.id, "TLS", cipher)
    session.close()


def main(sender: Callable[[Arguments], Sender]) -> None:
    """Try each feature as the command line says, and write the list."""
    parser = argparse.ArgumentParser()
    for name in ("port", "user", "password", "server", "infile", "plan", "output", "programs"):
        parser.add_argument(f"--{name}", required=name != "programs", default="")
    parser.add_argument("--only", default="", help="features, with commas; all of them without")
    given = parser.parse_args()
    arguments = Arguments(
        int(given.port), given.user, given.password, given.server, Path(given.infile), plan.load(Path(given.plan)),
        given.programs,
    )  # fmt: skip
    trying = sender(arguments)
    with Path(given.output).open("w", encoding="ascii") as file:
        for feature in FEATURES:
            if not given.only or feature in given.only.split(","):
                file.write(json.dumps(_try(trying, feature)) + "\n")


def _try(sender: Sender, feature: str) -> dict[str, Any]:
    if feature in sender.cannot:
        return {"feature": feature, "impossible": sender.cannot[feature]}
    cell = Cell()
    try:
        getattr(sender, feature)(cell)
    except Exception:  # noqa: BLE001  # whatever a driver raises: the test says which feature did not work
        return {"feature": feature, "broken": traceback.format_exc()}
    return {"feature": feature, "sent": [vars(sent) for sent in cell.sent]}
