"""The character set in which a session's statements are to be read."""

from __future__ import annotations

import pytest

from tests.support import mysql_packets as mysql
from tests.support.play import LOGGED_IN, C, S, Step, play
from workers.mysql import charsets
from workers.mysql.commands import charset_chosen


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (b"SET NAMES gbk", "gbk"),
        (b"set names 'utf8mb4' collate 'utf8mb4_bin'", "utf8mb4"),
        (b'  SET\tNAMES "latin1"', "latin1"),
        (b"SET NAMES utf8", "utf8mb3"),
        (b"SET CHARACTER SET sjis", "sjis"),
        (b"set charset big5", "big5"),
        (b"SET character_set_client = cp1251", "cp1251"),
        (b"SET @@session.character_set_client='binary'", "binary"),
        (b"SET SESSION character_set_client:=ucs2", "ucs2"),
    ],
)
def test_a_statement_that_sets_the_character_set_is_understood(text: bytes, name: str) -> None:
    assert charsets.name(charset_chosen(text)) == name


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"SET",
        b"SET NAMES",
        b"SET NAMES klingon",
        b"SET GLOBAL character_set_client = gbk",
        b"SET autocommit = 1",
        b"SELECT 'SET NAMES gbk'",
        b"SETNAMES gbk",
        b"SET NAMES gbk" + b" " * 600,
    ],
)
def test_another_statement_is_none(text: bytes) -> None:
    assert charset_chosen(text) == 0


GBK = 28
QUERY: Step = (C, mysql.query(b"SELECT 1"))


def test_what_follows_is_in_the_new_character_set_and_the_statement_itself_is_not() -> None:
    said = play(*LOGGED_IN, (C, mysql.query(b"SET NAMES gbk")), (S, mysql.ok()), QUERY, (S, mysql.ok())).said
    assert [each.charset for each in said[1:]] == [mysql.UTF8MB4, GBK]


def test_a_statement_that_failed_changes_nothing() -> None:
    refused = mysql.error(1115, b"Unknown character set")
    said = play(*LOGGED_IN, (C, mysql.query(b"SET NAMES gbk")), (S, refused), QUERY, (S, mysql.ok())).said
    assert [each.charset for each in said[1:]] == [mysql.UTF8MB4, mysql.UTF8MB4]


def test_without_answers_it_is_taken_to_have_worked() -> None:
    said = play(*LOGGED_IN, (C, mysql.query(b"SET NAMES gbk")), QUERY, answers=False).said
    assert [each.charset for each in said[1:]] == [mysql.UTF8MB4, GBK]
