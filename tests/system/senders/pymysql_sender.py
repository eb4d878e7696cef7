"""Sends with PyMySQL."""

from __future__ import annotations

import ssl
from typing import Any

import pymysql
from pymysql.constants import CLIENT

from tests.system import plan
from tests.system.own import Arguments, Cell, Sender, close, encrypted, main, query

_CANNOT = {
    **dict.fromkeys(("prepared", "cursors", "bulk"), "PyMySQL prepares nothing on the server"),
    **dict.fromkeys(("zlib", "zstd"), "PyMySQL does not compress"),
    **dict.fromkeys(("query_attributes", "change_user", "reset_connection"), "PyMySQL has no call for it"),
    "pipelining": "PyMySQL waits for each answer",
}


class _Session:
    def __init__(self, arguments: Arguments, **options: Any) -> None:  # noqa: ANN401  # PyMySQL's own
        self.charset: str = options.setdefault("charset", "utf8mb4")
        options = {
            "user": arguments.user, "password": arguments.password, "database": plan.DATABASE, "ssl_disabled": True,
            **options,
        }  # fmt: skip
        self.connection = pymysql.connect(
            host="127.0.0.1", port=arguments.port, client_flag=CLIENT.MULTI_STATEMENTS, local_infile=True,
            autocommit=True, max_allowed_packet=64 << 20, **options,
        )  # fmt: skip
        self.id: int = self.connection.thread_id()  # type: ignore[no-untyped-call]  # so the stubs have it

    def query(self, text: str) -> int:
        try:
            with self.connection.cursor() as cursor:
                cursor.execute(text)
                while cursor.nextset():
                    pass
        except pymysql.MySQLError as error:
            return int(error.args[0])
        return 0

    def close(self) -> None:
        self.connection.close()


class _PyMySQL(Sender):
    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments)
        self.cannot |= _CANNOT

    def connect(self, **options: Any) -> _Session:  # noqa: ANN401  # PyMySQL's own
        return _Session(self.arguments, **options)

    def refused(self, user: str) -> int:
        try:
            self.connect(user=user, password="wrong")
        except pymysql.MySQLError as error:
            return int(error.args[0])
        return 0

    def tls(self, cell: Cell) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        session = self.connect(ssl=context, ssl_disabled=False)
        encrypted(cell, session, session.connection, self.arguments.statements["text"])

    def connection_attributes(self, cell: Cell) -> None:
        name = "querytap's tests"
        self.send(cell, self.arguments.statements["text"], {"program": name}, program_name=name)

    def use_database(self, cell: Cell) -> None:
        session = self.connect()
        query(cell, session, f"USE {plan.OTHER_DATABASE}")
        query(cell, session, "SELECT 'in other'", database=plan.OTHER_DATABASE)
        query(cell, session, "USE no_such_database", 1049)
        query(cell, session, "SELECT 'still in other'", database=plan.OTHER_DATABASE)
        session.connection.select_db(plan.DATABASE)
        cell.note(session.id, "Init DB", plan.DATABASE)
        query(cell, session, "SELECT 'in app'", database=plan.DATABASE)
        close(cell, session)


if __name__ == "__main__":
    main(_PyMySQL)
