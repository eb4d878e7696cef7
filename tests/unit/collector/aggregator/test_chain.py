from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from collector.aggregator.chain import FIRST, Link, open_chain
from collector.aggregator.store import DiskFullError, LocalFolder, TransportError
from collector.archive.hashes import object_hash
from collector.archive.names import ObjectName, write_name
from collector.config import StartError
from tests.unit.collector.aggregator.making import header, sealed

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
        store(tmp_path).put(name(sequence), sealed([], header(sequence=sequence)))
    newest = (tmp_path / "archive" / name(5)).read_bytes()
    assert open_chain(tmp_path / "chain", INSTANCE, store(tmp_path)).link == Link(5, object_hash(newest))


def test_behind_an_object_that_cannot_be_read_the_sequence_goes_on(tmp_path: Path) -> None:
    store(tmp_path).put(name(5), b"damaged")
    assert open_chain(tmp_path / "chain", INSTANCE, store(tmp_path)).link == Link(5, FIRST)


def name(sequence: int) -> str:
    return write_name(ObjectName(INSTANCE, sequence, sequence, sequence, "0" * 16))


def test_a_damaged_chain_is_set_aside_and_a_closed_one_says_what_to_do(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "chain").write_bytes(b'{"instance": ')
    open_chain(tmp_path / "chain", INSTANCE, store(tmp_path))
    assert (tmp_path / "chain.damaged").read_bytes() == b'{"instance": '
    assert f"{tmp_path / 'chain'} is damaged" in caplog.text
    (tmp_path / "chain").mkdir()
    with pytest.raises(StartError, match="Is a directory") as caught:
        open_chain(tmp_path / "chain", INSTANCE, store(tmp_path))
    assert "process.user" in caught.value.remedy


def test_a_chain_that_is_behind_the_newest_object_goes_on_from_that(tmp_path: Path) -> None:
    open_chain(tmp_path / "chain", INSTANCE, store(tmp_path)).advance(Link(3, HASH), {"run": "x"})
    store(tmp_path).put(name(4), sealed([], header(sequence=4)))
    again = open_chain(tmp_path / "chain", INSTANCE, store(tmp_path))
    assert (again.link.sequence, again.beside) == (4, {})


def test_a_chain_that_cannot_be_moved_on_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chain = open_chain(tmp_path / "chain", INSTANCE, store(tmp_path))
    chain.advance(Link(3, HASH), {})
    for number, kind in ((errno.ENOSPC, DiskFullError), (errno.EROFS, TransportError)):

        def fsync(_: int, number: int = number) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(os, "fsync", fsync)
        with pytest.raises(kind, match=rf"chain: {os.strerror(number)}; ") as caught:
            chain.advance(Link(4, HASH), {})
        assert caught.value.retry
        assert isinstance(caught.value, DiskFullError) == (number == errno.ENOSPC)
    assert chain.link.sequence == 3
