"""Names of objects: they sort by instance and time, tell the time span without opening, and differ with the content."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from typing import Final

SUFFIX: Final = ".querytap"
TEMPORARY: Final = "."  # names that begin with it are writes in progress

_NS: Final = 1_000_000_000
_NAME: Final = re.compile(
    r"(?:.*/)?(?P<instance>[0-9a-f]{32})/(?P<day>\d{4}-\d\d-\d\d)/"
    r"(?P<first>\d{8}T\d{6}\.\d{9}Z)_(?P<last>\d{8}T\d{6}\.\d{9}Z)_(?P<sequence>\d{10,20})_(?P<hash>[0-9a-f]{16})"
    + re.escape(SUFFIX)
)


@dataclass(frozen=True, slots=True, order=True)
class ObjectName:
    """What the name of an object tells."""

    instance: str
    first_ns: int
    last_ns: int
    sequence: int
    hash_start: str
    """The first 16 hexadecimal digits of the SHA-256 of the whole object."""


def write_name(name: ObjectName) -> str:
    """The path of an object below the archive: <instance>/<day>/<first>_<last>_<sequence>_<hash>.querytap."""
    first = _stamp(name.first_ns)
    day = f"{first[:4]}-{first[4:6]}-{first[6:8]}"
    file = f"{first}_{_stamp(name.last_ns)}_{name.sequence:010d}_{name.hash_start}{SUFFIX}"
    return f"{name.instance}/{day}/{file}"


def read_name(path: str) -> ObjectName | None:
    """The parts of a name; None for a path that is not one of ours."""
    match = _NAME.fullmatch(path)
    if match is None:
        return None
    first = _nanoseconds(match["first"])
    last = _nanoseconds(match["last"])
    if first is None or last is None:
        return None
    return ObjectName(match["instance"], first, last, int(match["sequence"]), match["hash"])


def _stamp(time_ns: int) -> str:
    seconds, nanoseconds = divmod(time_ns, _NS)
    moment = dt.datetime.fromtimestamp(seconds, dt.UTC)
    return f"{moment.year:04d}{moment:%m%dT%H%M%S}.{nanoseconds:09d}Z"


def _nanoseconds(stamp: str) -> int | None:
    try:
        moment = dt.datetime.strptime(stamp[:15], "%Y%m%dT%H%M%S").replace(tzinfo=dt.UTC)
    except ValueError:
        return None
    return int(moment.timestamp()) * _NS + int(stamp[16:25])
