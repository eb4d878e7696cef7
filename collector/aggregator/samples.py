"""Reads what the monitor says of the host, which is another process: bounded, and fit for JSON. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from collector.archive.packing import unpack_bounded

MAX_SAMPLE_BYTES: Final = 64 << 10

_MOST_FIGURES: Final = 64  # in a map or a list
_LONGEST_TEXT: Final = 256
_DEPTH: Final = 2  # a map of maps


class SampleError(ValueError):
    """A message from the monitor is not a sample; the message says what is wrong, without its content."""


def read_sample(record: bytes) -> Mapping[str, Any]:
    """A sample: names and numbers or short texts, lists of these, and maps of these. Raises SampleError."""
    try:
        sample = unpack_bounded(record, bin_bytes=0)
    except ValueError as error:
        raise SampleError(f"not msgpack ({error})") from error
    if not isinstance(sample, dict):
        raise SampleError("not a map")
    _check(sample, _DEPTH)
    return sample


def _check(figures: dict[object, object], depth: int) -> None:
    if len(figures) > _MOST_FIGURES:
        raise SampleError(f"{len(figures)} figures, the limit is {_MOST_FIGURES}")
    for name, value in figures.items():
        if not isinstance(name, str) or not (name.isascii() and name.isidentifier()):
            raise SampleError("a figure without a proper name")
        if isinstance(value, dict) and depth > 1:
            _check(value, depth - 1)
        elif isinstance(value, list) and len(value) <= _MOST_FIGURES:
            if not all(map(_is_figure, value)):
                raise SampleError("a list of something else than figures")
        elif not _is_figure(value):
            raise SampleError("something else than a figure")


def _is_figure(value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= _LONGEST_TEXT and value.isprintable()
    return value is None or isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
