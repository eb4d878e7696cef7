from __future__ import annotations

import codecs

import pytest

from workers.mysql import charsets


@pytest.mark.parametrize(
    ("collation", "name"),
    [(8, "latin1"), (33, "utf8mb3"), (45, "utf8mb4"), (63, "binary"), (255, "utf8mb4"), (28, "gbk"), (0, None)],
)
def test_a_collation_belongs_to_a_character_set(collation: int, name: str | None) -> None:
    assert charsets.name(collation) == name


def test_every_character_set_has_a_codec_that_python_knows() -> None:
    for collation in range(1024):
        codecs.lookup(charsets.codec(charsets.name(collation)))


def test_text_of_an_unknown_character_set_is_read_as_utf_8() -> None:
    assert charsets.codec(None) == charsets.codec("utf8mb4") == charsets.codec("no such") == "utf_8"
    assert charsets.codec("latin1") == "cp1252"
