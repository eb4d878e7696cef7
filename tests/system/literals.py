"""How executions stand in the general logs: MariaDB's by serverrules.py, MySQL's by the same rules but two.

MySQL 9.7 writes dates and times as strings, always with six digits of fraction where the type has a time. And it has no
backslash before bytes that belong to no character.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tests.support import serverrules
from tests.support.serverrules import Temporal, Value

_NO_FRACTION = re.compile(rb"'((?:[-\d]{10} )?-?\d\d+:\d\d:\d\d)\.000000'")


def execution(sql: bytes, parameters: Sequence[Value], charset: str, server: str) -> bytes:
    """What the server's log has of an execution, types of parameters left out."""
    written = _written_by_mysql if server == "mysql" else None
    return without_types(serverrules.execution(sql, parameters, charset, written), server)


def _written_by_mysql(value: Value | Temporal, charset: str) -> bytes:
    if isinstance(value, bytes) and charset == "utf8mb4":
        charset = "binary"  # so that bytes are not looked at as characters
    return serverrules.literal(value, charset)


def without_types(text: bytes, server: str) -> bytes:
    """A log's text of an execution without what a record does not tell: the types of parameters."""
    plain = serverrules.without_types(text)
    return _NO_FRACTION.sub(rb"'\1'", plain) if server == "mysql" else plain
