"""What tests of reading commands share."""

from __future__ import annotations

from pathlib import Path

import pytest

from collector.archive.keyfile import READER_PRIVATE, write_key
from tests.unit.collector.aggregator.making import READER_RAW


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """The reader's private key, for what tests seal."""
    path = tmp_path / "reader.key"
    path.write_text(write_key(READER_PRIVATE, READER_RAW) + "\n")
    return path
