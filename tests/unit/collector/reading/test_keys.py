from __future__ import annotations

import stat
from pathlib import Path

import pytest

from collector.archive.keyfile import PUBLIC, read_keys
from collector.reading.keys import KeyFileError, generate, load_private


def test_a_pair_fits_together_and_only_its_owner_reads_the_private_half(tmp_path: Path) -> None:
    pair = generate(tmp_path / "keys")
    (key,) = load_private(pair.private)
    assert read_keys(pair.public.read_text(), PUBLIC, "f") == [key.public_raw]
    assert pair.id == key.recipient.hex()
    assert stat.S_IMODE(pair.private.stat().st_mode) == 0o600
    assert stat.S_IMODE(pair.public.stat().st_mode) == 0o644


@pytest.mark.parametrize("name", ["reader.key", "reader.pub"])
def test_a_key_is_never_overwritten(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(FileExistsError, match=name):
        generate(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "mine"


def test_the_public_half_does_not_read(tmp_path: Path) -> None:
    pair = generate(tmp_path)
    with pytest.raises(KeyFileError, match="or querytap-private-mlkem768-x25519 key is needed here"):
        load_private(pair.public)


def test_a_large_file_is_no_key(tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(bytes(100_000))
    with pytest.raises(KeyFileError, match="larger than a key file"):
        load_private(tmp_path / "big")
