"""Sends with MySQL Connector/Python, its part in Python."""

from __future__ import annotations

import base64
import datetime as dt
import importlib
import io
import sys
from decimal import Decimal
from typing import Any

from tests.system import plan
from tests.system.own import Arguments, Cell, Sender, close, encrypted, main, query

_DATE = dt.datetime(2024, 2, 29, 23, 59, 58, 120)  # noqa: DTZ001  # the protocol has no zones
_VALUES: tuple[tuple[Any, Any], ...] = (
    (None, None),
    (0, 0), (127, 127), (-128, -128), (65535, 65535), (-(1 << 31), -(1 << 31)),
    ((1 << 63) - 1, (1 << 63) - 1), ((1 << 64) - 1, (1 << 64) - 1),
    (0.1, 0.1), (-1.5e-7, -1.5e-7), (1.5e300, 1.5e300),
    (Decimal("12345678901234567890.123"), "12345678901234567890.123"),
    ("", ""), ("it's \"quoted\" \\ and ?", "it's \"quoted\" \\ and ?"), ("\U0001f600 é 漢字", "\U0001f600 é 漢字"),
    ("x" * 300, "x" * 300), ("y" * 70_000, "y" * 70_000),
    (b"\x00\x01'\"\\\x1a", "\x00\x01'\"\\\x1a"),
    (dt.date(2024, 2, 29), "2024-02-29"), (_DATE, "2024-02-29 23:59:58.000120"),
    (_DATE.replace(microsecond=0), "2024-02-29 23:59:58"),
    (dt.timedelta(hours=1, seconds=2), "01:00:02"), (dt.timedelta(days=-2, microseconds=4000), "-48:00:00.004000"),
)  # fmt: skip
"""Values that are bound, and what was sent of them; of a negative time that is not what it should be."""
_TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
_OTHER_TRACEPARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"
_NAMED = {"traceparent": (_TRACEPARENT, _TRACEPARENT)} | {
    f"ünï{place}": pair
    for place, pair in enumerate(_VALUES)
    if pair[0] is not None and not (isinstance(pair[0], dt.timedelta) and pair[0].days < 0)
}
"""Query attributes: of a negative time it sends something else, of None no type, which the server does not take."""


_CANNOT = {
    "zstd": "Connector/Python compresses by zlib only",
    "pipelining": "Connector/Python waits for each answer",
    "bulk": "Connector/Python does not have MariaDB's command",
}


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


_LONG = {"base64": _base64(b"z" * 20_000)}


class _Session:
    def __init__(self, connection: Any, error: type[Exception], charset: str) -> None:  # noqa: ANN401  # no stubs
        self.connection = connection
        self.charset = charset
        self.id: int = connection.connection_id
        self._error = error

    def query(self, text: str) -> int:
        try:
            with self.connection.cursor() as cursor:
                cursor.execute(text)
                while True:
                    if cursor.with_rows:
                        cursor.fetchall()
                    if not cursor.nextset():
                        break
        except self._error as error:
            return int(vars(error)["errno"])
        return 0

    def close(self) -> None:
        self.connection.close()


class _Connector(Sender):
    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments)
        self.cannot |= _CANNOT
        sys.path.append(arguments.programs)
        self._module: Any = importlib.import_module("mysql.connector")  # not one of querytap's requirements
        self._error: type[Exception] = self._module.Error

    def connect(self, **options: Any) -> _Session:  # noqa: ANN401  # the connector's own
        charset = options.setdefault("charset", "utf8mb4")
        user, password = self.arguments.user, self.arguments.password
        options = {"user": user, "password": password, "database": plan.DATABASE, "ssl_disabled": True, **options}
        connection = self._module.connect(
            host="127.0.0.1", port=self.arguments.port, use_pure=True, allow_local_infile=True,
            autocommit=True, client_flags=[self._module.ClientFlag.MULTI_STATEMENTS], **options,
        )  # fmt: skip
        return _Session(connection, self._error, charset)

    def refused(self, user: str) -> int | None:
        try:
            self.connect(user=user, password="wrong")
        except self._error as error:
            number = int(vars(error)["errno"])
            return number if number > 0 else None
        return 0

    def prepared(self, cell: Cell) -> None:
        session = self.connect()
        cursor = session.connection.cursor(prepared=True)
        for value, sent in _VALUES:
            for text in ("SELECT ?", "SELECT ?, 'a ?' /* and ? */, ?"):
                count = text.count("?,") + text.endswith("?")
                cursor.execute(text, (value,) * count)
                cursor.fetchall()
                cell.note(session.id, "Execute", text, parameters=[sent] * count)
        for values in ((1, "one"), (2, "two"), (3, None)):
            cursor.execute("INSERT INTO app.things (number, name) VALUES (?, ?)", values)
            cell.note(
                session.id, "Execute", "INSERT INTO app.things (number, name) VALUES (?, ?)", parameters=list(values),
                affected_rows=1,
            )  # fmt: skip
        cursor.execute("SELECT LENGTH(?), ?", (io.BytesIO(b"z" * 20_000), 5))
        cursor.fetchall()
        cell.note(session.id, "Execute", "SELECT LENGTH(?), ?", parameters=[{"base64": _base64(b"z" * 20_000)}, 5])
        cursor.close()
        cell.note(session.id, "Close stmt")
        close(cell, session)

    def tls(self, cell: Cell) -> None:
        session = self.connect(ssl_disabled=False)
        encrypted(cell, session, session.connection, self.arguments.statements["text"])

    def zlib(self, cell: Cell) -> None:
        self.send(cell, self.arguments.statements["text"], {"compressed": True}, compress=True)

    def connection_attributes(self, cell: Cell) -> None:
        attributes = {"one": "1", "long": "x" * 50}  # its lengths of others than ASCII are wrong
        expected = {"connection_attributes": attributes}
        self.send(cell, self.arguments.statements["text"], expected, conn_attrs=dict(attributes))

    def query_attributes(self, cell: Cell) -> None:
        session = self.connect()
        cursor = session.connection.cursor()
        sent: list[tuple[str, Any]] = []
        for name, (value, written) in _NAMED.items():
            cursor.add_attribute(name, value)
            sent.append((name, written))
            cursor.execute("SELECT 'with attributes'")
            cursor.fetchall()
            cell.note(
                session.id, "Query", "SELECT 'with attributes'", query_attributes=list(sent), traceparent=_TRACEPARENT
            )  # fmt: skip
        cursor.clear_attributes()
        cursor.execute("SELECT 'without'")
        cursor.fetchall()
        cell.note(session.id, "Query", "SELECT 'without'", query_attributes=None, traceparent=None)
        query(cell, session, f"SELECT 'it\\'s' /*traceparent='{_OTHER_TRACEPARENT}'*/", traceparent=_OTHER_TRACEPARENT)
        query(cell, session, f"SELECT '/* traceparent={_OTHER_TRACEPARENT} */'", traceparent=None)
        bound = session.connection.cursor(prepared=True)
        bound.add_attribute("name", "value")
        for values, parameters in (((1, "two"), [1, "two"]), ((None, io.BytesIO(b"z" * 20_000)), [None, _LONG])):
            bound.execute("SELECT ?, LENGTH(?)", values)
            bound.fetchall()
            cell.note(
                session.id, "Execute", "SELECT ?, LENGTH(?)", parameters=parameters,
                query_attributes=[("name", "value")], traceparent=None,
            )  # fmt: skip
        bound.add_attribute("traceparent", _TRACEPARENT)
        bound.execute("SELECT 'nothing bound'")
        bound.fetchall()
        cell.note(
            session.id, "Execute", "SELECT 'nothing bound'",
            query_attributes=[("name", "value"), ("traceparent", _TRACEPARENT)], traceparent=_TRACEPARENT,
        )  # fmt: skip
        bound.close()
        close(cell, session)

    def change_user(self, cell: Cell) -> None:
        session = self.connect()
        query(cell, session, "SELECT 'before'", user=self.arguments.user, database=plan.DATABASE)
        try:
            session.connection.cmd_change_user(plan.OTHER_USER, plan.OTHER_PASSWORD, plan.OTHER_DATABASE)
        except self._error as error:  # of MySQL 9.7: the connector answers for the password of the first user
            cell.note(session.id, "Change user", plan.OTHER_USER, error=int(vars(error)["errno"]))
            return
        cell.note(session.id, "Change user", plan.OTHER_USER)
        query(cell, session, "SELECT 'after'", user=plan.OTHER_USER, database=plan.OTHER_DATABASE)
        session.connection.cmd_change_user(self.arguments.user, self.arguments.password, plan.DATABASE)
        cell.note(session.id, "Change user", self.arguments.user)
        query(cell, session, "SELECT 'back'", user=self.arguments.user, database=plan.DATABASE)
        close(cell, session)

    def reset_connection(self, cell: Cell) -> None:
        session = self.connect()
        cursor = session.connection.cursor(prepared=True)
        for _ in range(2):
            cursor.execute("SELECT ?", (1,))
            cursor.fetchall()
            cell.note(session.id, "Execute", "SELECT ?", parameters=[1])
            session.connection.cmd_reset_connection()
            cell.note(session.id, "Reset connection")
            cursor = session.connection.cursor(prepared=True)
            query(cell, session, "SELECT 'reset'")
        close(cell, session)

    def cursors(self, cell: Cell) -> None:
        session = self.connect()
        connection = session.connection
        text = "SELECT id, name FROM app.things WHERE id <= ? ORDER BY id"
        statement = connection.cmd_stmt_prepare(text.encode())
        cell.note(session.id, "Prepare", text)
        for most in (5, 1, 0):
            _, columns, _ = connection.cmd_stmt_execute(
                statement["statement_id"], data=(most,), parameters=statement["parameters"], flags=1
            )
            cell.note(session.id, "Execute", text, parameters=[most])
            for _ in range(3):
                connection.cmd_stmt_fetch(statement["statement_id"], 2)
                cell.note(session.id, "Fetch")
                _, end = connection.get_rows(binary=True, columns=columns, prep_stmt=None)
                if end["status_flag"] & 128:  # the last row was sent
                    break
        connection.cmd_stmt_close(statement["statement_id"])
        cell.note(session.id, "Close stmt")
        query(cell, session, "SELECT 'the next'")
        close(cell, session)

    def use_database(self, cell: Cell) -> None:
        session = self.connect()
        query(cell, session, f"USE {plan.OTHER_DATABASE}")
        query(cell, session, "SELECT 'in other'", database=plan.OTHER_DATABASE)
        session.connection.cmd_init_db(plan.DATABASE)
        cell.note(session.id, "Init DB", plan.DATABASE)
        query(cell, session, "SELECT 'in app'", database=plan.DATABASE)
        close(cell, session)


if __name__ == "__main__":
    main(_Connector)
