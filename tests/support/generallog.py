"""Reads the general log that MariaDB or MySQL writes to a file.

An entry is one line, `[time]<TAB>[<TAB>]id command<TAB>argument` (MySQL's always has its time), unless its argument
holds line ends: the server writes those as they are. So a statement can contain what looks like the next entry. Only
who sent it can tell: *known* holds the texts, as the log writes them, in which that happens, and an entry that goes on
as one of them does, and ends there, is taken to be it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tests.support.statements import COMPARED, Statement

_COMMANDS = (
    b"Binlog Dump|Bulk_execute|Change user|Close stmt|Connect|Create DB|Daemon|Debug|Delayed insert|Drop DB|Execute|"
    b"Fetch|Field List|Init DB|Kill|Long Data|Ping|Prepare|Processlist|Query|Quit|Refresh|Register Slave|"
    b"Reset [Cc]onnection|Reset stmt|Set option|Shutdown|Sleep|Statistics|Table Dump"
)
_TIME = rb"\d{6} [ \d]\d:\d\d:\d\d\t|\t\t|[-\d]{10}T[\d:.]+Z\t"
_ENTRY = re.compile(rb"^(?:" + _TIME + rb") *(\d+) (" + _COMMANDS + rb")\t", re.MULTILINE)


def looks_like_entries(text: bytes) -> bool:
    """Whether the log of a statement with this text cannot be read without knowing the text."""
    return _ENTRY.search(text) is not None


def entries(log: bytes, known: Iterable[bytes] = ()) -> Iterator[Statement]:
    """All entries of the log, with their arguments as written."""
    ambiguous = sorted(set(known), key=len, reverse=True)
    start = _ENTRY.search(log)
    while start is not None:
        begin = start.end()
        end = next((begin + len(text) for text in ambiguous if _is_at(log, begin, text)), None)
        following = _ENTRY.search(log, begin if end is None else end)
        if end is None:
            end = (following.start() if following else len(log)) - 1  # the line end belongs to the log
        yield Statement(int(start[1]), start[2].decode(), log[begin:end])
        start = following


def network_statements(log: bytes, known: Iterable[bytes] = ()) -> list[Statement]:
    """The statements to compare: of connections over TCP, and of the commands that every source tells."""
    over_tcp: set[int] = set()
    found = []
    for entry in entries(log, known):
        if entry.command == "Connect" and entry.text.endswith(b"using TCP/IP"):
            over_tcp.add(entry.connection_id)
        elif entry.command in COMPARED and entry.connection_id in over_tcp:
            found.append(entry)
    return found


def _is_at(log: bytes, begin: int, text: bytes) -> bool:
    end = begin + len(text)
    return (
        log.startswith(text, begin)
        and log[end : end + 1] == b"\n"
        and (end + 1 == len(log) or _ENTRY.match(log, end + 1) is not None)
    )
