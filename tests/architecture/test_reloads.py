"""What is declared to take effect on a reload is what some process takes over while it runs."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from collector.aggregator import process as aggregator
from collector.capture import process as capture
from collector.config.schema import OPTIONS
from collector.monitor import process as monitor
from collector.supervisor import lifecycle

TABLES: dict[str, Mapping[str, object]] = {
    "supervisor": lifecycle.LIVE,
    "capture": capture.LIVE,
    "aggregator": aggregator.LIVE,
    "monitor": monitor.LIVE,
}
"""Of the options that a process takes over while it runs; whether it does so is for the tests of the process."""


@pytest.mark.parametrize("key", OPTIONS)
def test_an_option_says_when_a_change_of_it_takes_effect_and_that_is_so(key: str) -> None:
    takers = [process for process, table in TABLES.items() if key in table]
    if OPTIONS[key].applies == "reload":
        assert takers, f"{key} is declared to take effect on a reload, and is in no process's LIVE"
    else:
        assert OPTIONS[key].applies == "restart"
        assert not takers, f"{key} is declared to wait for a restart, and {takers} take it over"


@pytest.mark.parametrize("process", TABLES)
def test_a_process_takes_over_options_that_there_are(process: str) -> None:
    assert TABLES[process].keys() <= OPTIONS.keys()
