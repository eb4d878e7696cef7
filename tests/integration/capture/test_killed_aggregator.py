"""The aggregator killed at load, a few times; tests/system has it a hundred times."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

import pytest

from tests.support import aggregator_kills
from tests.support.loaded import Loaded

pytestmark = [pytest.mark.integration, pytest.mark.either_build]

KILLS = 5


def test_what_a_killed_aggregator_had_made_durable_is_there_once_and_the_rest_is_counted(
    report: Callable[[str], None],
) -> None:
    with ExitStack() as stack:
        loaded = Loaded(stack)
        aggregator_kills.kill(loaded, KILLS, seed=1)
        aggregator_kills.check(loaded, report, f"aggregator killed {KILLS} times")
