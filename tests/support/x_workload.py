"""Sends statements of every kind to an X Plugin with MySQL's own client, over one connection. Run as a module.

The folder of the client stands last on the command line; what the client was told goes to standard output as JSON.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Callable
from typing import Protocol


class Session(Protocol):
    """mysqlx.Session, which has no type stubs."""

    def __getattr__(self, name: str) -> Callable[..., Session]:
        """Whatever it has is called."""

    def __len__(self) -> int:
        """Of a list of rows."""


TABLES = (
    "CREATE DATABASE IF NOT EXISTS shop",
    "USE shop",
    "CREATE TABLE goods (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(3000), price INT)",
)
LONG = "z" * 3000
"""Long enough to be compressed where that was agreed on."""
STATEMENTS = (
    "INSERT INTO goods (name, price) VALUES ('tea', 3), ('été', 4)",
    "SELECT * FROM goods",
    f"SELECT /* {LONG} */ 1",
    f"INSERT INTO goods (name, price) VALUES ('{LONG}', 5)",
    "SELECT REPEAT('z', 100000) FROM goods",
    "SELECT 1/0, CAST('a' AS SIGNED)",
    "CREATE PROCEDURE several() BEGIN SELECT id FROM goods; INSERT INTO goods (price) VALUES (8); SELECT 1, 2; END",
    "CALL several()",
    "SELECT id, REPEAT(name, 20) FROM goods, (VALUES ROW(1), ROW(2), ROW(3)) AS times",
    "SELECT * FROM goods WHERE id < 0",
    "UPDATE goods SET price = 9 WHERE id < 3",
    "DELETE FROM goods WHERE id = 3",
)
FAILING = "SELECT * FROM nowhere"


def main() -> None:
    """Send what there is to send."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--user", required=True)
    parser.add_argument("--password", required=True)
    parser.add_argument("--tls", action="store_true")
    parser.add_argument("--compression", default="")
    parser.add_argument("client")
    arguments = parser.parse_args()
    sys.path.insert(0, arguments.client)
    mysqlx = importlib.import_module("mysqlx")
    settings: dict[str, object] = {
        "host": "127.0.0.1", "port": arguments.port, "user": arguments.user, "password": arguments.password,
        "ssl-mode": "REQUIRED" if arguments.tls else "DISABLED",
        "connection-attributes": {"program_name": "x_workload"},
        "compression": "required" if arguments.compression else "disabled",
    }  # fmt: skip
    if arguments.compression:
        settings["compression-algorithms"] = [arguments.compression]
    if not arguments.tls:
        settings["auth"] = "SHA256_MEMORY"
    session = mysqlx.get_session(settings)
    told = _send_sql(session)
    _send_documents(session)
    session.close()
    print(json.dumps(told))


def _send_sql(session: Session) -> list[list[object]]:
    """Statements as text, with and without arguments: text, affected rows, insert id, warnings and rows of each."""
    told: list[list[object]] = []
    for text in (*TABLES, *STATEMENTS):
        result = session.sql(text).execute()
        rows = None
        while result.get_columns():
            rows = (rows or 0) + len(result.fetch_all())
            if not result.next_result():
                break
        affected, insert_id = result.get_affected_items_count(), result.get_autoincrement_value()
        told.append([text, affected, insert_id, result.get_warnings_count(), rows])
    session.sql("INSERT INTO goods (name, price) VALUES (?, ?)").bind("naïve", -7).execute()
    try:
        session.sql(FAILING).execute()
    except Exception as error:  # noqa: BLE001 - the client's own class; it is the failure that is wanted
        told.append([FAILING, str(error), 0, 0, None])
    return told


def _send_documents(session: Session) -> None:
    """What is not SQL: documents and tables by their own operations; the client prepares what it repeats."""
    schema = session.get_schema("shop")
    users = schema.create_collection("users")
    users.add({"name": "bob", "age": 1}, {"name": "al", "age": 2}).execute()
    search = users.find("age > :least")
    for least in (0, 1, 1):
        search.bind("least", least).execute().fetch_all()
    users.modify("age = :age").bind("age", 1).set("name", "rob").execute()
    users.remove("age = 2").execute()
    goods = schema.get_table("goods")
    goods.insert(["name"]).values("cake").execute()
    goods.select(["id"]).where("id > 1").execute().fetch_all()
    goods.update().set("price", 1).where("id = 2").execute()
    goods.delete().where("id = 2").execute()


if __name__ == "__main__":
    main()
