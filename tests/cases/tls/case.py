from __future__ import annotations

from tests.support import mysql_packets as mysql
from tests.support.talks import Case, Talk

RECORD = b"\x17\x03\x03\0\x40" + b"\x03SELECT 'no'" + bytes(52)

talk = Talk().open().server(mysql.greeting()).client(mysql.ssl_request())
talk.client(b"\x16\x03\x01\0\x10" + bytes(16)).server(RECORD).client(RECORD).server(RECORD)
late = Talk(client_port=40_001).client(RECORD).server(RECORD).client(RECORD)

CASE = Case(packets=[*talk.captured, *late.captured], cuts=False, expected=[], counters={"packets_encrypted": 8})
