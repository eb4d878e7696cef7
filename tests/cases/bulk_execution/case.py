from __future__ import annotations

from tests.cases.every_type_of_value.case import READ, SQL, VALUES
from tests.support import mysql_packets as mysql
from tests.support.talks import Case, Talk, prepared
from workers.mysql.values import Indicator

NULLS = [value._replace(indicator=1) for value in VALUES]
DEFAULTS = [value._replace(indicator=2) for value in VALUES]
IGNORED = [VALUES[0], *(value._replace(indicator=3) for value in VALUES[1:])]
SENT = [value._replace(data=b"\0") if value.data is None else value for value in VALUES]
SENT[4] = VALUES[4]._replace(indicator=1)

talk = Talk().log_in()
talk.client(mysql.prepare(SQL)).server(prepared(3, len(VALUES), 0))
talk.client(mysql.bulk_execute(3, [SENT, NULLS, DEFAULTS, IGNORED])).server(mysql.ok(4))
talk.segments(mysql.bulk_execute(3, [SENT] * 50, types=False, unit_results=True), 700).server(mysql.ok(50))

COMMON = {"command": "stmt_bulk_execute", "sql": SQL, "statement_id": 3, "parameters": None}
NOTHING = len(VALUES)

CASE = Case(
    packets=talk.captured,
    expected=[
        {"command": "connect", "user": "app", "status": "ok"},
        {"command": "stmt_prepare", "sql": SQL},
        {
            **COMMON,
            "affected_rows": 4,
            "parameter_rows": (
                READ,
                (None,) * NOTHING,
                (Indicator.DEFAULT,) * NOTHING,
                (-1, *[Indicator.IGNORE] * (NOTHING - 1)),
            ),
        },
        {**COMMON, "affected_rows": 50, "parameter_rows": (READ,) * 50},
    ],
)
