from __future__ import annotations

from tests.support import mysql_packets as mysql
from tests.support.talks import ONE_ROW, Case, Talk

UNKNOWN = mysql.error(1049, b"Unknown database", b"42000")

talk = Talk().log_in(database=b"one")
for sent, answer in (
    (mysql.query(b"SELECT 1"), ONE_ROW),
    (mysql.command(2, b"two"), mysql.ok()),
    (mysql.query(b"SELECT 2"), ONE_ROW),
    (mysql.query(b"use `thr``ee`;"), mysql.ok()),
    (mysql.query(b"SELECT 3"), ONE_ROW),
    (mysql.query(b"USE nowhere"), UNKNOWN),
    (mysql.command(2, b"nowhere"), UNKNOWN),
    (mysql.query(b"SELECT 4"), ONE_ROW),
):
    talk.client(sent).server(answer)

CASE = Case(
    packets=talk.captured,
    responses=("first", "all"),  # without answers a USE in vain moves too
    expected=[
        {"command": "connect", "database": "one"},
        {"command": "query", "sql": b"SELECT 1", "database": "one"},
        {"command": "init_db", "sql": b"two", "database": "one"},
        {"command": "query", "sql": b"SELECT 2", "database": "two"},
        {"command": "query", "sql": b"use `thr``ee`;", "database": "two"},
        {"command": "query", "sql": b"SELECT 3", "database": "thr`ee"},
        {"command": "query", "sql": b"USE nowhere", "database": "thr`ee", "status": "error"},
        {"command": "init_db", "sql": b"nowhere", "database": "thr`ee", "status": "error"},
        {"command": "query", "sql": b"SELECT 4", "database": "thr`ee"},
    ],
)
