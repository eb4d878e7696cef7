from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from collector.aggregator.keys import instance_key, key_warnings, recipients
from collector.archive.keyfile import READER_PUBLIC, write_key
from collector.config import Config, StartError, from_mapping
from collector.reading.keys import generate
from tests.unit.collector.aggregator.making import READER_PUBLIC_RAW


def configured(state: Path, *files: Path) -> Config:
    return from_mapping(
        {
            "paths": {"state": str(state), "run": str(state / "run")},
            "seal": {"recipients": [str(file) for file in files]},
        }
    )


def test_an_instance_keeps_its_key(tmp_path: Path) -> None:
    first, second = (instance_key(tmp_path / "keys").private_bytes_raw() for _ in range(2))
    assert first == second
    assert stat.S_IMODE((tmp_path / "keys" / "instance.key").stat().st_mode) == 0o600


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    instance_key(tmp_path)
    (tmp_path / "instance.key").chmod(0o644)
    with pytest.raises(StartError, match="chmod 600"):
        instance_key(tmp_path)


def test_a_damaged_instance_key_is_refused_and_not_replaced(tmp_path: Path) -> None:
    instance_key(tmp_path)
    (tmp_path / "instance.key").write_text("querytap-instance-ed25519:AAAA\n")
    with pytest.raises(StartError, match="checksum"):
        instance_key(tmp_path)


def test_without_a_recipient_the_remedy_is_named(tmp_path: Path) -> None:
    with pytest.raises(StartError, match=r"querytap keygen.*seal\.recipients"):
        recipients(configured(tmp_path))


def test_the_readers_key_in_the_state_folder_is_the_default(tmp_path: Path) -> None:
    pair = generate(tmp_path / "keys")
    assert len(recipients(configured(tmp_path))) == 1
    assert key_warnings(configured(tmp_path)) == [
        f"{pair.private} opens the archive and is on this host: move it elsewhere"
    ]
    pair.private.unlink()
    assert key_warnings(configured(tmp_path)) == []


def test_each_recipient_counts_once(tmp_path: Path) -> None:
    line = write_key(READER_PUBLIC, READER_PUBLIC_RAW)
    files = [tmp_path / "a.pub", tmp_path / "b.pub"]
    for file in files:
        file.write_text(f"{line}\n{line}\n")
    assert recipients(configured(tmp_path, *files)) == [READER_PUBLIC_RAW]


@pytest.mark.parametrize("text", ["", "garbage", write_key("querytap-private-x25519", bytes(32)), "x" * 70_000])
def test_a_recipient_that_cannot_be_used_is_a_start_error_with_its_file(tmp_path: Path, text: str) -> None:
    file = tmp_path / "audit.pub"
    file.write_text(text)
    with pytest.raises(StartError, match=r"audit\.pub"):
        recipients(configured(tmp_path, file))


def test_a_recipient_that_is_not_there_is_a_start_error(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="No such file"):
        recipients(configured(tmp_path, tmp_path / "audit.pub"))


def test_a_folder_that_takes_no_key_says_what_helps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(StartError, match="No space left on device; free space"):
        instance_key(tmp_path / "aggregator")
    assert list((tmp_path / "aggregator").iterdir()) == []
