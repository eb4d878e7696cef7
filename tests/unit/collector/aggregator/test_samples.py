from __future__ import annotations

import contextlib
import json
import math
import os
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.aggregator.samples import SampleError, read_sample
from collector.archive.packing import pack
from collector.monitor.host import Sampler


def test_what_the_monitor_says_is_read_as_it_was_said() -> None:
    sample = Sampler(lambda: [os.getpid()]).sample()
    assert read_sample(pack(sample)) == sample


@pytest.mark.parametrize(
    "sample",
    [
        [],
        1,
        {b"": 1},
        {1: 1},
        {"a b": 1},
        {"\x1b[2J": 1},
        {"a": "\x1b[2J"},
        {"a": "x" * 257},
        {"a": math.nan},
        {"a": [math.inf]},
        {"a": [[1]]},
        {"a": {"b": {"c": 1}}},
        {"a": list(range(65))},
        {f"a{number}": 1 for number in range(65)},
    ],
)
def test_what_is_no_sample_is_refused(sample: object) -> None:
    with pytest.raises(SampleError, match=r"."):
        read_sample(pack(sample))


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**63), 2**64 - 1), st.floats(), st.text(max_size=3)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.one_of(st.text(max_size=3), st.binary(max_size=3)), inner)
    ),
)


@given(st.dictionaries(st.one_of(st.text(max_size=3), st.binary(max_size=3)), VALUES, max_size=4))
def test_what_is_taken_can_be_written_as_json(sample: dict[object, object]) -> None:
    with contextlib.suppress(SampleError):
        assert json.loads(json.dumps(read_sample(pack(sample)), allow_nan=False)) == sample
