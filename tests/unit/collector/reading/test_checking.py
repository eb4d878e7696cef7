from __future__ import annotations

import io
from pathlib import Path
from typing import BinaryIO

from hypothesis import given, settings
from hypothesis import strategies as st

from collector.archive.hashes import object_hash
from collector.archive.layout import PREFIX, unpack_prefix
from collector.reading.archive import Entry, list_archive
from collector.reading.checking import Checking
from collector.reading.keys import ReaderKey
from tests.unit.collector.aggregator.making import READER_RAW, sealed
from tests.unit.collector.reading.making import write_chain

KEY = ReaderKey(READER_RAW)


def entry(tmp_path: Path) -> Entry:
    write_chain(tmp_path, 1)
    (found,) = list_archive(str(tmp_path))
    return found


def test_with_and_without_a_key_the_hash_is_that_of_the_object(tmp_path: Path) -> None:
    found = entry(tmp_path)
    with found.open() as stream:
        digest = object_hash(stream.read())
    for checking in (Checking(), Checking((KEY,))):
        checked = checking(found)
        assert (checked.problems, checked.hash) == ([], digest)
        assert checked.header is not None


@settings(max_examples=60)
@given(st.data())
def test_no_changed_byte_goes_unnoticed_but_those_of_stanzas_without_a_key(data: st.DataObject) -> None:
    whole = sealed([[(b"h", b"b")]])
    offset = data.draw(st.integers(0, len(whole) - 1))
    changed = bytearray(whole)
    changed[offset] ^= data.draw(st.integers(1, 255))
    checked = Checking()(Entry("object", None, lambda: io.BytesIO(bytes(changed))))
    start = PREFIX.size + unpack_prefix(whole[: PREFIX.size])[1]
    in_stanza = start <= offset < start + 20 + 80
    problems = [one for one in checked.problems if "its name is not" not in one]
    assert problems or in_stanza


def test_what_cannot_be_opened_is_said() -> None:
    def refuse() -> BinaryIO:
        raise OSError(5, "Input/output error")

    checked = Checking()(Entry("object", None, refuse))
    assert checked.problems == ["Input/output error"]
