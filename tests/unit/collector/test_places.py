from __future__ import annotations

from pathlib import Path

import pytest

from collector import places


def test_a_hosts_folders_lie_below_state_and_run() -> None:
    assert places.keys_folder("/s") == Path("/s/keys")
    assert places.worker_folder("/r", 3) == Path("/r/capture/worker-3")


def test_without_a_store_the_archive_lies_below_state() -> None:
    assert places.archive_place("", "/s") == "/s/archive"
    assert places.archive_place("s3://b", "/s") == "s3://b"


@pytest.mark.parametrize(
    ("place", "folder"),
    [("/a b", Path("/a b")), ("file:///a%20b", Path("/a b")), ("s3://bucket/a", None), ("a/b", Path("a/b"))],
)
def test_a_path_or_a_file_url_names_a_folder(place: str, folder: Path | None) -> None:
    assert places.local_folder(place) == folder
