from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from collector.aggregator.chain import FIRST, Link, open_chain
from collector.aggregator.store import LocalFolder
from collector.archive.names import ObjectName, write_name

INSTANCE = "0123456789abcdef" * 2
HASH = bytes(range(32))


def store(tmp_path: Path) -> LocalFolder:
    return LocalFolder(tmp_path / "archive", 1 << 30, 0)


def test_an_instance_begins_with_nothing_before_it(tmp_path: Path) -> None:
    assert open_chain(tmp_path / "chain", INSTANCE, store(tmp_path)).link == Link(0, FIRST)


def test_the_chain_goes_on_after_a_restart(tmp_path: Path) -> None:
    open_chain(tmp_path / "chain", INSTANCE, store(tmp_path)).advance(Link(7, HASH), {"run": "x"})
    again = open_chain(tmp_path / "chain", INSTANCE, store(tmp_path))
    assert (again.link, again.beside) == (Link(7, HASH), {"run": "x"})


def test_another_instance_has_a_chain_of_its_own(tmp_path: Path) -> None:
    open_chain(tmp_path / "chain", "f" * 32, store(tmp_path)).advance(Link(7, HASH), {"run": "x"})
    assert open_chain(tmp_path / "chain", INSTANCE, store(tmp_path)).link == Link(0, FIRST)


@pytest.mark.parametrize("kept", [None, b"", b"[]", b'{"instance": 1}', b"\xff"])
def test_a_lost_chain_goes_on_from_the_newest_object(tmp_path: Path, kept: bytes | None) -> None:
    if kept is not None:
        (tmp_path / "chain").write_bytes(kept)
    for sequence in (4, 5):
        store(tmp_path).put(write_name(ObjectName(INSTANCE, sequence, sequence, sequence, "0" * 16)), b"%d" % sequence)
    assert open_chain(tmp_path / "chain", INSTANCE, store(tmp_path)).link == Link(5, hashlib.sha256(b"5").digest())
