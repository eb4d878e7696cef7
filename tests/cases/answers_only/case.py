from __future__ import annotations

from tests.support import answer_packets as answers
from tests.support import mysql_packets as mysql
from tests.support.talks import Case, Talk

ROWS = [answers.text_row(b"\x03SELECT 1"), answers.text_row(mysql.query(b"SELECT 2"))]

talk = Talk().log_in()
talk.client(mysql.query(b"SELECT 1")).server(answers.stream(answers.result(ROWS)), mysql.query(b"SELECT 'a row'"))

CASE = Case(packets=talk.one_way(from_client=False), expected=[], cuts=False)
