"""Sends one very long statement as a query, and prepares and executes it; prints what it sent as length and SHA-256."""

from __future__ import annotations

import argparse
from hashlib import sha256
from typing import Final

from tests.support.client import Client
from tests.support.servers import DATABASE, PASSWORD, USER

LENGTH: Final = 20 << 20
_HEAD: Final = b"SELECT LENGTH('"
_TAIL: Final = b"')"
_PIECE: Final = b"0123456789abcdef\xc3\xa9 "


def text(mark: bytes) -> bytes:
    """A statement of LENGTH bytes; no two of its pieces of one size are alike at the same place for other marks."""
    room = LENGTH - len(_HEAD) - len(mark) - len(_TAIL)
    return _HEAD + mark + (_PIECE * (room // len(_PIECE))).ljust(room, b".") + _TAIL


def main() -> None:
    """Speak to the server of that port."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    arguments = parser.parse_args()
    queried, prepared = text(b"queried"), text(b"prepared")
    with Client(arguments.port, user=USER, password=PASSWORD, database=DATABASE) as client:
        client.query(queried)
        for _ in range(2):
            client.execute(client.prepare(prepared))
        client.query(b"SELECT 1")
    for sent in (queried, prepared):
        print(len(sent), sha256(sent).hexdigest())


if __name__ == "__main__":
    main()
