from __future__ import annotations

import struct

from tests.support import answer_packets as answers
from tests.support import mysql_packets as mysql
from tests.support.talks import Case, Talk, prepared

FIRST = (
    b"/* mysql-connector-j-9.0.0 */SELECT  @@session.auto_increment_increment AS auto_increment_increment"
    + b"".join(b", @@variable_%d AS variable_%d" % (number, number) for number in range(40))
)
BATCH = b";".join(b"UPDATE t SET a = %d WHERE id = %d" % (number, number) for number in range(30))
CURSOR = mysql.command(0x17, struct.pack("<IBI", 1, 1, 1))  # CURSOR_TYPE_READ_ONLY
ROW = answers.binary_row(mysql.counted(b"a"))
OPENED = [mysql.integer(1), answers.DEFINITION, answers.eof(status=answers.CURSOR_EXISTS | 2)]
OKS = [answers.ok(1, status=answers.MORE_RESULTS | 2)] * 29

talk = Talk().log_in()
talk.segments(mysql.query(FIRST)).server(answers.stream(answers.result([answers.text_row(b"1")], columns=41)))
talk.segments(mysql.query(BATCH)).server(answers.stream([*OKS, answers.ok(1)]))
talk.client(mysql.prepare(b"SELECT a FROM t")).server(prepared(1, 0, 1))
talk.client(CURSOR).server(answers.stream(OPENED))
talk.client(mysql.of_statement(0x1C, 1, struct.pack("<I", 2)))
talk.server(answers.stream([ROW, ROW, answers.eof(status=answers.CURSOR_EXISTS | answers.LAST_ROW_SENT)]))
talk.client(mysql.query(b"COMMIT")).server(mysql.ok())

CASE = Case(
    packets=talk.captured,
    expected=[
        {"command": "connect"},
        {"command": "query", "sql": FIRST, "status": "result"},
        {"command": "query", "sql": BATCH, "status": "ok"},
        {"command": "stmt_prepare", "sql": b"SELECT a FROM t"},
        {"command": "stmt_execute", "sql": b"SELECT a FROM t", "status": "result"},
        {"command": "stmt_fetch", "statement_id": 1, "status": "result", "rows": 2},
        {"command": "query", "sql": b"COMMIT", "status": "ok"},
    ],
)
