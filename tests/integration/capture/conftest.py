"""What most of these tests stand on: a network of their own, a server in it, a folder that querytap's users reach."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.folders import reachable_folder
from tests.support.namespaces import Namespace
from tests.support.servers import MariaDB


@pytest.fixture(scope="module")
def namespace() -> Iterator[Namespace]:
    with Namespace() as made:
        yield made


@pytest.fixture(scope="module")
def server(namespace: Namespace) -> Iterator[MariaDB]:
    with MariaDB(namespace) as made:
        yield made


@pytest.fixture
def folder() -> Iterator[Path]:
    with reachable_folder() as made:
        yield made
