from __future__ import annotations

import pytest

from collector.reading import shapes
from collector.reading.shapes import Shapes, shape_id, wanted_id


def test_what_differs_in_values_alone_has_one_id() -> None:
    assert wanted_id("SELECT 1") == wanted_id("select  'x'") == shape_id(b"select ?")
    assert wanted_id("SELECT 1") != wanted_id("SELECT a")


def test_an_id_names_itself() -> None:
    assert wanted_id(shape_id(b"select ?").upper()) == shape_id(b"select ?")


def test_texts_that_come_again_are_kept_and_no_more_than_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shapes, "_MOST_KEPT", 2)
    asked: list[bytes] = []

    def fingerprint(text: bytes) -> bytes:
        asked.append(text)
        return text.lower()

    monkeypatch.setattr(shapes, "fingerprint", fingerprint)
    known = Shapes()
    long = b"A" * 5000
    assert [known(text) for text in (b"A", b"A", b"B", b"C", b"A", long, long)][:4] == [b"a", b"a", b"b", b"c"]
    assert asked == [b"A", b"B", b"C", b"A", long, long]
