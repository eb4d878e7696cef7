"""Microsoft's own server of Azure's kind as the store: what is created once, read, checked and removed there."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from collector.archive.keyfile import READER_PRIVATE, write_key
from collector.cli.main import main
from tests.integration.test_upload import Sender
from tests.support import debian
from tests.support.azurite import Azurite
from tests.unit.collector.aggregator.making import READER_RAW
from tests.unit.collector.reading.making import write_chain

pytestmark = pytest.mark.integration

OBJECTS = 8


@pytest.fixture(scope="module")
def azurite(tmp_path_factory: pytest.TempPathFactory, report: Callable[[str], None]) -> Iterator[Azurite]:
    try:
        made = Azurite(tmp_path_factory.mktemp("azurite"))
    except debian.UnavailableError as error:
        report(f"NOT TESTED: az:// as the store, for Azurite cannot be had: {error}")
        pytest.skip(f"Azurite cannot be had: {error}")
    with made:
        yield made


def senders(azurite: Azurite, folder: Path, objects: dict[str, bytes]) -> list[Sender]:
    """Two hosts that hold the same objects, for the same place."""
    found = []
    for each in ("one", "other"):
        (folder / each).mkdir()
        sender = Sender(folder / each, uploads=4, **azurite.store(folder.name))
        for name, data in objects.items():
            sender.spool.put(name, data)
        found.append(sender)
    return found


def test_an_object_is_created_once_read_and_removed(
    azurite: Azurite, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = write_chain(tmp_path / "archive", OBJECTS)
    objects = {str(path.relative_to(tmp_path / "archive")): path.read_bytes() for path in paths}
    both = senders(azurite, tmp_path, objects)
    threads = [threading.Thread(target=sender.drain) for sender in both]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [sender.figures["errors"].keys() - {"busy"} for sender in both] == [set(), set()]
    assert sum(sender.figures["were_there"] for sender in both) == OBJECTS

    key = tmp_path / "reader.key"
    key.write_text(write_key(READER_PRIVATE, READER_RAW) + "\n")
    settings = [f"--set=store.{name}={json.dumps(value)}" for name, value in azurite.store(tmp_path.name).items()]
    assert main(["read", "--key", str(key), *settings]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2 * OBJECTS
    assert main(["verify", "--key", str(key), *settings]) == 0
    assert f"objects 1 to {OBJECTS}, {OBJECTS} of them here" in capsys.readouterr().out
    for left in (3, 1):
        newest = sorted(paths)[-left:]
        size = sum(path.stat().st_size for path in newest) / (1 << 20)
        assert main(["prune", "--max-size", f"{size + 1e-5:f}MiB", *settings]) == 0
        assert main(["verify", *settings]) == 0
        shown = capsys.readouterr().out
        assert f"objects {OBJECTS - left + 1} to {OBJECTS}, {left} of them here" in shown
        assert f"objects up to {OBJECTS - left} were removed by `querytap prune`" in shown


def test_a_place_that_is_not_there_is_told(azurite: Azurite, tmp_path: Path) -> None:
    sender = Sender(tmp_path, **azurite.store("folder", "nowhere"))
    sender.put(1)
    sender.until(lambda: bool(sender.figures["errors"]))
    assert set(sender.figures["errors"]) == {"missing"}
    assert "make the bucket" in sender.up.trouble
    assert len(sender.spool.backlog) == 1
