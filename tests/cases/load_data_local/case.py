from __future__ import annotations

from tests.support import answer_packets as answers
from tests.support import mysql_packets as mysql
from tests.support.talks import Case, Talk

FILE = [b"\x03DROP TABLE t;\n", b"\x01\n", b"\x0eping\n", *[b"%d,2,\n" % line for line in range(297)]]
UPLOAD = b"".join(mysql.packet((2 + number) & 0xFF, line) for number, line in enumerate([*FILE, b""]))

talk = Talk().log_in()
talk.client(mysql.query(b"LOAD DATA LOCAL INFILE '/tmp/rows' INTO TABLE t")).server(mysql.local_infile())
talk.client(UPLOAD).server(mysql.ok(300, warnings=3, sequence=(3 + len(FILE)) & 0xFF))
talk.client(mysql.query(b"SELECT COUNT(*) FROM t")).server(answers.stream(answers.result([answers.text_row(b"300")])))

CASE = Case(
    packets=talk.captured,
    expected=[
        {"command": "connect", "status": "ok", "user": "app"},
        {
            "command": "query",
            "sql": b"LOAD DATA LOCAL INFILE '/tmp/rows' INTO TABLE t",
            "status": "ok",
            "affected_rows": 300,
            "warnings": 3,
        },
        {"command": "query", "sql": b"SELECT COUNT(*) FROM t", "status": "result", "rows": 1},
    ],
    counters={"resyncs": 0, "packets_desync": 0},
)
