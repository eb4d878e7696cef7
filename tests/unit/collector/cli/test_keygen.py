from __future__ import annotations

from pathlib import Path

import pytest

from collector.cli.main import main
from collector.reading.keys import load_private


def test_a_pair_is_made_in_the_state_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = f'paths.state="{tmp_path}"'
    assert main(["keygen", "--set", state]) == 0
    assert len(load_private(tmp_path / "keys" / "reader.key")) == 1
    output = capsys.readouterr().out
    assert str(tmp_path / "keys" / "reader.pub") in output
    assert load_private(tmp_path / "keys" / "reader.key")[0].recipient.hex() in output
    assert "querytap-private" not in output


@pytest.mark.parametrize(("kind", "prefix"), [("hybrid", "mlkem768-x25519"), ("x25519", "x25519")])
def test_either_kind_of_key_can_be_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, prefix: str
) -> None:
    assert main(["keygen", "--folder", str(tmp_path), "--kind", kind]) == 0
    assert f"\nquerytap-public-{prefix}:" in (tmp_path / "reader.pub").read_text()
    assert f"\nquerytap-private-{prefix}:" in (tmp_path / "reader.key").read_text()
    for name in ("reader.key", "reader.pub"):
        capsys.readouterr()
        assert main(["key", "show", str(tmp_path / name)]) == 0
        shown = capsys.readouterr().out
        assert load_private(tmp_path / "reader.key")[0].recipient.hex() in shown
        assert ("post-quantum hybrid" in shown) is (kind == "hybrid")


def test_keys_that_are_there_stay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["keygen", "--folder", str(tmp_path)]) == 0
    before = (tmp_path / "reader.key").read_text()
    assert main(["keygen", "--folder", str(tmp_path)]) == 1
    assert "is there already" in capsys.readouterr().err
    assert (tmp_path / "reader.key").read_text() == before


def test_a_folder_that_cannot_be_written_is_said_without_a_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert main(["keygen", "--folder", str(tmp_path / "file" / "keys")]) == 3
    assert "keys cannot be written" in capsys.readouterr().err
