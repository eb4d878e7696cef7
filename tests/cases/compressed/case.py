from __future__ import annotations

from typing import Literal

from tests.support import mysql_packets as mysql
from tests.support.talks import ONE_ROW, SECOND_NS, START_NS, Case, Record, Talk

LONG = b"SELECT '" + b"compress me, " * 400 + b"'"


def talk(flag: int, form: Literal["zlib", "zstd"], port: int) -> Talk:
    """A client that compresses in that form."""
    capabilities = mysql.CLIENT_CAPABILITIES | flag
    one = Talk(client_port=port, at_ns=START_NS + port * SECOND_NS).open()
    one.server(mysql.greeting(capabilities=mysql.SERVER_CAPABILITIES | flag))
    one.client(mysql.login(b"app", capabilities=capabilities)).server(mysql.ok(sequence=2))
    one.client(mysql.frame(mysql.query(b"SELECT 1"), form="stored"))
    one.server(mysql.frame(ONE_ROW, 1, form))
    one.segments(mysql.frame(mysql.query(LONG), form=form), 20).server(mysql.frame(mysql.ok(3), 1, "stored"))
    sent = mysql.query(LONG)
    one.client(mysql.frame(sent[:1000], 0, form) + mysql.frame(sent[1000:], 1, form))
    return one.server(mysql.frame(mysql.error(1064, b"syntax", sequence=2), 2, form))


RECORDS: list[Record] = [
    {"command": "connect", "status": "ok"},
    {"command": "query", "sql": b"SELECT 1", "status": "result", "compressed": True},
    {"command": "query", "sql": LONG, "status": "ok", "affected_rows": 3},
    {"command": "query", "sql": LONG, "status": "error", "error_code": 1064},
]
CASE = Case(
    packets=[*talk(mysql.COMPRESS, "zlib", 40_001).captured, *talk(mysql.ZSTD, "zstd", 40_002).captured],
    expected=RECORDS * 2,
)
