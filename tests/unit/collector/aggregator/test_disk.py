from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from collector.aggregator.disk import REMEDIES, trouble


@pytest.mark.parametrize("number", REMEDIES)
def test_what_has_a_remedy_is_told_with_it(number: int) -> None:
    told = trouble(Path("/srv/a"), OSError(number, os.strerror(number), "/srv/.a.12345678.aside"))
    assert told == f"/srv/a: {os.strerror(number)}; {REMEDIES[number]}"


def test_what_has_none_is_told_as_it_is() -> None:
    assert trouble(Path("/srv/a"), OSError(errno.ELOOP, os.strerror(errno.ELOOP))).endswith("symbolic links")
    assert trouble(Path("/srv/a"), OSError("odd")) == "/srv/a: odd"
