from __future__ import annotations

import pytest

from workers.mysql.commands import database_chosen, database_named, is_tls_record, loads_a_file


@pytest.mark.parametrize(
    ("text", "database"),
    [
        (b"USE shop", b"shop"),
        (b"use `my ``shop`` 2`", b"my `shop` 2"),
        (b"\tUSE\nshop ;\n", b"shop"),
        ("use größe".encode(), "größe".encode()),
        (b"USE shop -- comment", None),
        (b"USE `a` `b`", None),
        (b"USE", None),
        (b"   ", None),
        (b"", None),
        (b"USE " + b"x" * 600, None),
        (b"USES shop", None),
        (b"SELECT 1", None),
    ],
)
def test_use_names_a_database(text: bytes, database: bytes | None) -> None:
    assert database_chosen(text) == database


def test_what_is_too_long_for_a_name_is_no_databases() -> None:
    assert database_named(b"shop") == b"shop"
    assert database_named(b"x" * 257) is None


@pytest.mark.parametrize("text", [b"LOAD DATA LOCAL INFILE 'x'", b" load\txml", b"/* a */ /* b */\nLOAD DATA"])
def test_load_may_ask_for_a_file(text: bytes) -> None:
    assert loads_a_file(text)


@pytest.mark.parametrize("text", [b"SELECT 'LOAD'", b"LOADED", b"", b"/* LOAD */ SELECT 1", b"-- x\nSELECT 1"])
def test_other_text_asks_for_no_file(text: bytes) -> None:
    assert not loads_a_file(text)


@pytest.mark.parametrize("kind", [20, 21, 22, 23])
def test_a_tls_record_is_recognised(kind: int) -> None:
    record = bytes((kind, 3, 3, 0, 5)) + b"hello"
    assert is_tls_record(record, 0, len(record))
    assert not is_tls_record(record, 0, 4)


@pytest.mark.parametrize(
    "record", [b"\x13\x03\x03\0\x05", b"\x18\x03\x03\0\x05", b"\x16\x02\x03\0\x05", b"\x16\x03\x05\0\x05"]
)
def test_what_is_no_tls_record_is_told_apart(record: bytes) -> None:
    assert not is_tls_record(record, 0, len(record))
