from __future__ import annotations

from bench.pipeline.ways import Way, ways
from collector.config import load


def test_each_method_is_tried_with_each_size_and_timeout_but_one_that_has_neither() -> None:
    found = ways(["ring", "ring-v2", "socket"], [256, 1024], [60, 250])
    assert len(found) == 4 + 1 + 4
    assert len(set(found)) == 9
    assert found[4] == Way("ring-v2")


def test_a_way_is_settings_that_querytap_takes_and_without_a_name_where_they_are_the_defaults() -> None:
    config = load(None, Way("socket", 256, 60).settings)
    assert (config.capture.method, config.capture.block_kib, config.capture.block_timeout_ms) == ("socket", 256, 60)
    assert Way().label == ""
    defaults = load(None).capture
    assert (Way().block_kib, Way().timeout_ms) == (defaults.block_kib, defaults.block_timeout_ms)
