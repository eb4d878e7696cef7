"""The shape of a statement, and the name it goes by: what differs in values alone is one shape. Pure."""

from __future__ import annotations

import hashlib
import re
from typing import Final

from workers.sql.fingerprint import fingerprint

ID_DIGITS: Final = 16
_ID: Final = re.compile(f"[0-9a-f]{{{ID_DIGITS}}}")
_MOST_KEPT: Final = 50_000
_LONGEST_KEPT: Final = 4096


def shape_id(shape: bytes) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of a shape."""
    return hashlib.sha256(shape).hexdigest()[:ID_DIGITS]


def wanted_id(text: str) -> str:
    """The id that *text* is, or that of the shape of the statement that it is."""
    return text.lower() if _ID.fullmatch(text.lower()) else shape_id(fingerprint(text.encode()))


class Shapes:
    """Shapes of texts, those of texts that come again from memory, which is bounded."""

    def __init__(self) -> None:
        self._known: dict[bytes, bytes] = {}

    def __call__(self, text: bytes) -> bytes:
        """The shape of *text*."""
        shape = self._known.get(text)
        if shape is None:
            shape = fingerprint(text)
            if len(text) <= _LONGEST_KEPT:
                if len(self._known) >= _MOST_KEPT:
                    self._known.clear()
                self._known[text] = shape
        return shape
