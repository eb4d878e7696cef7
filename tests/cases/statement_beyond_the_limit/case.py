from __future__ import annotations

from hashlib import sha256

from tests.support import mysql_packets as mysql
from tests.support.talks import Case, Talk

LONG = b"INSERT INTO t VALUES ('" + b"x" * 20_000 + b"')"
PREPARED = b"SELECT 1 /* " + b"y" * 30_000 + b" */"
CUT = {
    "sql": PREPARED[:1000],
    "original_length": len(PREPARED),
    "sql_sha256": sha256(PREPARED).hexdigest(),
    "flags": ("truncated",),
}

talk = Talk().log_in()
talk.segments(mysql.query(LONG)).server(mysql.ok(1))
talk.client(mysql.query(b"COMMIT")).server(mysql.ok())
talk.segments(mysql.prepare(PREPARED)).server(mysql.prepare_ok(1, 0))
talk.client(mysql.execute(1)).server(mysql.ok())
talk.segments(mysql.query(LONG)[:10_000]).lose_client(1000).segments(mysql.query(LONG)[11_000:]).server(mysql.ok(1))
talk.client(mysql.query(b"COMMIT")).server(mysql.ok())

CASE = Case(
    packets=talk.captured,
    settings={"max_statement_bytes": 1000},
    expected=[
        {"command": "connect"},
        {
            "command": "query",
            "sql": LONG[:1000],
            "original_length": len(LONG),
            "sql_sha256": sha256(LONG).hexdigest(),
            "flags": ("truncated",),
            "affected_rows": 1,
        },
        {"command": "query", "sql": b"COMMIT", "status": "ok", "sql_sha256": None},
        {"command": "stmt_prepare", **CUT},
        {"command": "stmt_execute", **CUT, "statement_id": 1},
        {
            "command": "query",
            "sql": LONG[:1000],
            "original_length": len(LONG),
            "sql_sha256": None,
            "flags": ("truncated", "after_gap"),
        },
        {"command": "query", "sql": b"COMMIT", "flags": ()},
    ],
)
