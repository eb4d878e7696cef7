"""Names in an archive.

Those of objects sort by instance and time, tell the time span without opening, and differ with the content.
"""

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
_PRUNED: Final = re.compile(
    r"(?:.*/)?(?P<instance>[0-9a-f]{32})/pruned/(?P<through>\d{10,20})_(?P<hash>[0-9a-f]{16})\.json"
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


@dataclass(frozen=True, slots=True, order=True)
class PrunedName:
    """What the name of a note tells: up to which object those of an instance were removed on purpose."""

    instance: str
    through: int
    """Sequence of the last one that was removed."""
    hash_start: str
    """Its own: the object behind it names it as the one before."""


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


def write_pruned(name: PrunedName) -> str:
    """The path of a note below the archive: <instance>/pruned/<through>_<hash>.json."""
    return f"{name.instance}/pruned/{name.through:010d}_{name.hash_start}.json"


def read_pruned(path: str) -> PrunedName | None:
    """The parts of a note's name; None for a path that is not one."""
    match = _PRUNED.fullmatch(path)
    return None if match is None else PrunedName(match["instance"], int(match["through"]), match["hash"])


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
