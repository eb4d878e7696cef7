"""Statements that each hold a secret, sent to a real server: with passwords, and with data in every kind of literal.

Run as a module beside the server.
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Sequence
from typing import Final

import pymysql

from tests.support.client import Client

SECRET: Final = "s3crEt-Pw9"
"""In every statement, and in nothing that a server says by itself."""

PASSWORDS: Final = (
    f"CREATE USER qt1@localhost IDENTIFIED BY '{SECRET}'",
    f'ALTER USER qt1@localhost IDENTIFIED BY "{SECRET}"',
    f"create/**/user qt2@localhost identified/* */by/**/'{SECRET}'",
    f"/*!50000 CREATE USER qt3@localhost IDENTIFIED */ BY '{SECRET}'",
    f"CREATE USER qt4@localhost IDENTIFIED BY '{SECRET}', qt5@localhost IDENTIFIED BY '{SECRET}' PASSWORD EXPIRE",
    f"SET PASSWORD FOR qt1@localhost = '{SECRET}'",
    f"SET PASSWORD FOR qt1@localhost = PASSWORD('{SECRET}')",
    f"GRANT SELECT ON *.* TO qt1@localhost IDENTIFIED BY '{SECRET}'",
    f"CREATE USER qt6@localhost IDENTIFIED VIA mysql_native_password USING PASSWORD('{SECRET}')",
    f"CREATE USER qt7@localhost IDENTIFIED WITH caching_sha2_password BY '{SECRET}' COMMENT 'x'",
    f"CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_USER='u', MASTER_PASSWORD='{SECRET}'",
    f"CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_USER='u', SOURCE_PASSWORD='{SECRET}'",
    f"START REPLICA USER='u' PASSWORD='{SECRET}'",
    f"CREATE SERVER qt FOREIGN DATA WRAPPER mysql OPTIONS (HOST '127.0.0.1', USER 'u', PASSWORD '{SECRET}')",
    f"ALTER SERVER qt OPTIONS (PASSWORD '{SECRET}')",
    f"SELECT AES_ENCRYPT('text', '{SECRET}'), 'kept'",
    f"PREPARE s FROM 'ALTER USER qt1@localhost IDENTIFIED BY ''{SECRET}'''",
    f"SET @s = CONCAT('ALTER USER qt1@localhost IDENTIFIED BY \"', '{SECRET}', '\"')",
    "PREPARE s FROM @s",
    "EXECUTE s",
    f"EXECUTE IMMEDIATE 'ALTER USER qt1@localhost IDENTIFIED BY ''{SECRET}'''",
    f"SELECT 1; ALTER USER qt1@localhost IDENTIFIED BY '{SECRET}'; SELECT 2",
    f"CREATE PROCEDURE app.qt() BEGIN ALTER USER qt1@localhost IDENTIFIED BY '{SECRET}'; END",
    f"CREATE USER qt8@localhost IDENTIFIED BY '{SECRET}' NO SUCH SYNTAX",
    f"CREATE USER qt9@localhost IDENTIFIED BY '{SECRET}",
    f"CREATE TABLE app.qt (a INT) ENGINE=FEDERATED CONNECTION='mysql://u:{SECRET}@127.0.0.1/d/t'",
)
PREPARED_PASSWORDS: Final = ("SELECT AES_ENCRYPT('text', ?)", "SELECT CONCAT('SET PASSWORD = ', QUOTE(?))")
"""Each executed with the secret."""

_HEX: Final = SECRET.encode().hex()
DATA: Final = (
    "CREATE DATABASE qt",
    "USE qt",
    "CREATE TABLE qt_data (a VARCHAR(50) PRIMARY KEY, b INT)",
    f"INSERT INTO qt_data VALUES ('{SECRET}', 1)",
    f"INSERT INTO qt_data VALUES ('{SECRET}', 1)",
    f"INSERT INTO qt_data VALUES ('a', '{SECRET}')",
    f"SELECT \"{SECRET}\", 'it\\'s {SECRET}', 'it''s {SECRET}', _utf8mb4'{SECRET}', N'{SECRET}', '{SECRET}' 'x'",
    f"SELECT x'{_HEX}', X'{_HEX}', 0x{_HEX}, CONCAT(0x{_HEX}, '{SECRET}')",
    f"SELECT /* {SECRET} */ 1 -- {SECRET}\n, 2 # {SECRET}",
    f"/*!50000 SELECT '{SECRET}' */",
    f"SELECT DATE '{SECRET}'",
    f"SELECT '{SECRET}' FROM nowhere WHERE a = '{SECRET}'",
    f"SELEC '{SECRET}'",
    f"SELECT '{SECRET}",
    f"SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '{SECRET}'",
    f"SET SESSION sql_mode = 'NO_BACKSLASH_ESCAPES'; SELECT '\\', '{SECRET}'",
    f"SELECT 'a\\', '{SECRET}'",
    "SET SESSION sql_mode = 'ANSI_QUOTES'",
    f"SELECT '{SECRET}' AS \"a\\\", '{SECRET}', '\"",
    "SET SESSION sql_mode = ''",
    "SET NAMES gbk",
    f"SELECT '\\\\', '{SECRET}'",
)
PREPARED_DATA: Final = ("SELECT ?", "INSERT INTO qt_data VALUES (?, 1)")


def send(port: int, user: str, password: str, texts: Sequence[str], prepared: Sequence[str]) -> None:
    """Send *texts*, then prepare and execute the others; whether the server takes them does not matter."""
    with Client(port, user=user, password=password, database=None) as client:
        for text in texts:
            client.query(text.encode())
        for text in prepared:
            with contextlib.suppress(pymysql.MySQLError):  # what this server does not know
                client.execute(client.prepare(text.encode()), [SECRET])


def main() -> None:
    """Send what the arguments say."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--user", required=True)
    parser.add_argument("--password", required=True)
    parser.add_argument("--passwords", action="store_true")
    chosen = parser.parse_args()
    texts = (PASSWORDS, PREPARED_PASSWORDS) if chosen.passwords else (DATA, PREPARED_DATA)
    send(chosen.port, chosen.user, chosen.password, *texts)


if __name__ == "__main__":
    main()
