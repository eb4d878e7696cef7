"""Numbers out of what servers answer as text. Pure."""

from __future__ import annotations

import datetime as dt
import re
from typing import Final

_WORDS: Final = {
    "yes": 1.0, "on": 1.0, "primary": 1.0,
    "no": 0.0, "off": 0.0, "connecting": 0.0, "non-primary": 0.0, "disconnected": 0.0, "disabled": 0.0,
}  # fmt: skip
_NUMBER: Final = re.compile(r"[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?", re.ASCII)
_TIME: Final = "%b %d %H:%M:%S %Y GMT"  # of Ssl_server_not_after
_LONGEST: Final = 64


def number(value: object) -> float | None:
    """A number, a switch as 1 or 0, a time in GMT as Unix time; None for what is none of these."""
    if isinstance(value, int | float):
        return float(value)
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    if len(text) > _LONGEST:
        return None
    if _NUMBER.fullmatch(text):
        return float(text)
    if text.endswith(" GMT"):
        try:
            return dt.datetime.strptime(text, _TIME).replace(tzinfo=dt.UTC).timestamp()
        except ValueError:
            return None
    return _WORDS.get(text.lower())


def whole(value: object) -> float:
    """A number, 0 for NULL and for what is none."""
    return (value is not None and number(value)) or 0.0


def text(value: object) -> str:
    """A value as a label: what is no text or none becomes one, bounded."""
    found = value.decode("utf-8", "replace") if isinstance(value, bytes) else "" if value is None else str(value)
    return found[:128].encode("utf-8", "replace").decode()


def metric_name(name: str) -> str:
    """The name of a status counter or a variable as the ending of a metric's name."""
    return re.sub(r"[^a-z0-9_]", "_", name.lower())
