"""Seeded mutations of a pool of inputs; those with an outcome not seen before join the pool."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Final

MOST_BYTES: Final = 320
_MOST_INPUTS: Final = 4096
_MOST_OUTCOMES: Final = 1 << 18
_EDGES: Final = bytes((0, 1, 2, 3, 4, 8, 16, 32, 64, 127, 128, 250, 251, 252, 253, 254, 255))


class Mutator:
    """The same seed, corpus and outcomes give the same inputs."""

    def __init__(self, corpus: Sequence[bytes], seed: int) -> None:
        self._random = random.Random(seed)
        self._pool = list(corpus) or [b"\0"]
        self._outcomes: set[object] = set()

    def inputs(self) -> Iterator[bytes]:
        """The corpus first, then mutations without end."""
        yield from list(self._pool)
        while True:
            yield self._mutated()

    @property
    def outcomes(self) -> int:
        """How many different ones there were."""
        return len(self._outcomes)

    def learn(self, data: bytes, outcome: object) -> bool:
        """What came of an input; whether it was new."""
        if outcome in self._outcomes or len(self._outcomes) >= _MOST_OUTCOMES:
            return False
        self._outcomes.add(outcome)
        if len(self._pool) < _MOST_INPUTS:
            self._pool.append(data)
        else:
            self._pool[int(self._random.random() * _MOST_INPUTS)] = data
        return True

    def _mutated(self) -> bytes:
        bits = self._random.getrandbits(64)
        pool = self._pool
        data = bytearray(pool[(bits & 0xFFFF) % len(pool)])
        bits >>= 16
        for _ in range(1 + (bits & 3)):
            bits = self._random.getrandbits(64)
            kind, bits = bits & 7, bits >> 3
            at, bits = (bits & 0xFFFF) % (len(data) + 1), bits >> 16
            size, bits = 1 + (bits & 15), bits >> 4
            if kind <= 1:
                if at < len(data):
                    data[at] = bits & 0xFF
            elif kind == 2:
                if at < len(data):
                    data[at] = _EDGES[bits % len(_EDGES)]
            elif kind == 3:
                del data[at : at + size]
            elif kind == 4:
                data[at:at] = (bits & (1 << 40) - 1).to_bytes(5, "little")[: 1 + size % 5]
            elif kind == 5:
                data[at:at] = data[at : at + size * 4]
            elif kind == 6:
                other = pool[(bits & 0xFFFF) % len(pool)]
                begin = (bits >> 16 & 0xFFFF) % (len(other) + 1)
                data[at:] = other[begin:]
            elif at < len(data):
                data[at] ^= 1 << (bits & 7)
        return bytes(data[:MOST_BYTES])
