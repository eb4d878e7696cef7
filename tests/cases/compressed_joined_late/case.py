from __future__ import annotations

from typing import Literal

from tests.support import mysql_packets as mysql
from tests.support.talks import ONE_ROW, SECOND_NS, START_NS, Case, Record, Talk

SQL = b"SELECT 'compress me, compress me, compress me, compress me'"
INSERT = b"INSERT INTO t VALUES (" + b"1), (" * 100 + b"1)"


def talk(form: Literal["zlib", "zstd"], port: int) -> Talk:
    """A client that was there before."""
    one = Talk(client_port=port, at_ns=START_NS + port * SECOND_NS)
    one.client(mysql.frame(mysql.query(b"SELECT 1"), form="stored")).server(mysql.frame(ONE_ROW, 1, "stored"))
    one.client(mysql.frame(mysql.query(SQL), form=form)).server(mysql.frame(ONE_ROW, 1, form))
    return one.client(mysql.frame(mysql.query(INSERT), form=form)).server(mysql.frame(mysql.ok(101), 1, "stored"))


JOINED = ("joined_late",)
RECORDS: list[Record] = [
    {"command": "query", "sql": b"SELECT 1", "status": "result", "flags": JOINED, "compressed": True},
    {"command": "query", "sql": SQL, "status": "result", "flags": JOINED, "compressed": True},
    {"command": "query", "sql": INSERT, "status": "ok", "affected_rows": 101, "flags": JOINED},
]
CASE = Case(
    packets=[*talk("zlib", 40_001).captured, *talk("zstd", 40_002).captured],
    cuts=False,  # in a connection joined late a segment must begin with a frame
    expected=RECORDS * 2,
)
