"""Durations counted in buckets: percentiles of any number of them in bounded memory. Pure.

A bucket is a 32nd of a power of two wide, so that a percentile is off by no more than 1/64 of itself. Histograms of
parts add up to that of the whole, whatever the parts are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

MOST_ERROR: Final = 1 / 64
"""By how much of itself a percentile may be off."""

_BITS: Final = 5
_EXACT: Final = 2 << _BITS
"""Values below have a bucket each."""

Histogram = Counter[int]
"""How many values each bucket has."""


def histogram(values: Iterable[int]) -> Histogram:
    """The numbers from 0 in *values*, counted."""
    return Counter(map(_bucket, values))


def percentile(counted: Histogram, percent: float) -> int:
    """The value that *percent* of all are not above: the middle of its bucket; 0 of none."""
    wanted = max(1, -(-counted.total() * percent // 100))
    for bucket in sorted(counted):
        wanted -= counted[bucket]
        if wanted <= 0:
            return _middle(bucket)
    return 0


def _bucket(value: int) -> int:
    if value < _EXACT:
        return value
    shift = value.bit_length() - _BITS - 1
    return (shift << _BITS) + (value >> shift)


def _middle(bucket: int) -> int:
    if bucket < _EXACT:
        return bucket
    shift = (bucket >> _BITS) - 1
    low = (bucket - (shift << _BITS)) << shift
    return low + (1 << shift) // 2
