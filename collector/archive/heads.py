"""Reads the head of a block, which comes from a process that read hostile bytes: everything is bounded. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from collector.archive.layout import MAX_BODY_BYTES, MAX_HEAD_BYTES, MOST_STATEMENTS
from collector.archive.packing import pack, unpack_bounded
from collector.channel import MOST_WORKERS

HEAD_FORMAT: Final = 1
MOST_COUNTERS: Final = 128
MAX_COUNTER_NAME: Final = 48
MAX_SUMMARY_BYTES: Final = 64 << 10

_U32: Final = 0xFFFF_FFFF
_U64: Final = 0xFFFF_FFFF_FFFF_FFFF
_I63: Final = 1 << 63


class HeadError(ValueError):
    """A message from a worker is not a block; the message says what is wrong, without its content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockHead:
    """What a worker says about one block; `before` and `after` are its counters around it."""

    worker: int
    incarnation: int
    sequence: int
    first_ns: int
    last_ns: int
    clock_ns: int
    """How far the clock of its times was ahead of the host's monotonic one; 0 where it does not say."""
    statements: int
    before: Mapping[str, int]
    after: Mapping[str, int]
    summary: Mapping[str, Any]
    final: bool


def read_head(head: bytes, body_bytes: int) -> BlockHead:
    """The head of a block whose body has *body_bytes*; HeadError when it is malformed or over a limit."""
    if len(head) > MAX_HEAD_BYTES:
        raise HeadError(f"a head of {len(head)} bytes, the limit is {MAX_HEAD_BYTES}")
    if body_bytes > MAX_BODY_BYTES:
        raise HeadError(f"a body of {body_bytes} bytes, the limit is {MAX_BODY_BYTES}")
    try:
        fields = unpack_bounded(head, bin_bytes=MAX_SUMMARY_BYTES)
    except ValueError as error:
        raise HeadError(f"a head that is not msgpack ({error})") from error
    if not isinstance(fields, dict):
        raise HeadError("a head that is not a map")
    if fields.get("format") != HEAD_FORMAT:
        raise HeadError(f"a head that is not of format {HEAD_FORMAT}")
    summary = fields.get("summary", {})
    final = fields.get("final", False)
    if not isinstance(final, bool):
        raise HeadError("final is not true or false")
    _check_summary(summary)
    first_ns = _number(fields, "first_ns", _U64)
    last_ns = _number(fields, "last_ns", _U64)
    if last_ns < first_ns:
        raise HeadError("last_ns is before first_ns")
    before = _counters(fields, "before")
    after = _counters(fields, "after")
    if any(value > after.get(name, 0) for name, value in before.items()):
        raise HeadError("a counter that falls within the block")
    return BlockHead(
        worker=_number(fields, "worker", MOST_WORKERS - 1),
        incarnation=_number(fields, "incarnation", _U32),
        sequence=_number(fields, "sequence", _U64),
        first_ns=first_ns,
        last_ns=last_ns,
        clock_ns=_offset(fields),
        statements=_number(fields, "statements", MOST_STATEMENTS),
        before=before,
        after=after,
        summary=summary,
        final=final,
    )


def _check_summary(summary: object) -> None:
    if not isinstance(summary, dict):
        raise HeadError("summary is not a map")
    try:
        size = len(pack(summary))
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise HeadError("a summary that is nested too deeply") from error
    if size > MAX_SUMMARY_BYTES:
        raise HeadError(f"a summary of {size} bytes, the limit is {MAX_SUMMARY_BYTES}")


def _number(fields: Mapping[str, Any], name: str, limit: int) -> int:
    value = fields.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= limit:
        raise HeadError(f"{name} is not a number from 0 to {limit}")
    return value


def _offset(fields: Mapping[str, Any]) -> int:
    value = fields.get("clock_ns", 0)
    if not isinstance(value, int) or isinstance(value, bool) or not -_I63 <= value < _I63:
        raise HeadError("clock_ns is not a number of 64 bits with a sign")
    return value


def _counters(fields: Mapping[str, Any], name: str) -> dict[str, int]:
    counters = fields.get(name)
    if not isinstance(counters, dict) or len(counters) > MOST_COUNTERS:
        raise HeadError(f"{name} is not a map of at most {MOST_COUNTERS} counters")
    for key in counters:
        if not isinstance(key, str) or len(key) > MAX_COUNTER_NAME or not (key.isascii() and key.isidentifier()):
            raise HeadError(f"{name} has a counter without a proper name")
        _number(counters, key, _U64)
    return counters
