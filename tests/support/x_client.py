"""Sends the messages of the X Protocol that MySQL's own client never sends, or never so. Run as a module.

What the server answered goes to standard output as JSON: for each request the types of the messages, and an error's
number.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import socket
import struct

from tests.support import x_packets as x

Answer = tuple[list[int], int]
"""Types of the messages, and the number of the error, 0 without one."""
ENDINGS = (0, 1, 2, 3, 4, 17)
_ERROR = 1

VIEW = x.part(1, x.collection(b"view", b"raw"))
SELECTION = x.part(7, x.part(2, x.collection(b"t", b"raw")) + x.number(3, 2))
SCRIPT = (
    x.query(b"CREATE DATABASE raw"),
    x.query(b"USE raw"),
    x.query(b"CREATE TABLE t (id INT)"),
    x.message(x.CREATE_VIEW, VIEW + SELECTION),
    x.message(x.MODIFY_VIEW, VIEW + SELECTION),
    x.message(x.DROP_VIEW, VIEW),
    x.prepare(1, b"SELECT 1 UNION SELECT 2 UNION SELECT ?"),
    x.cursor_open(1, 1, 7, fetch_rows=2),
    x.message(x.CURSOR_FETCH, x.number(1, 1) + x.number(5, 10)),
    x.message(x.CURSOR_FETCH, x.number(1, 1) + x.number(5, 10)),
    x.message(x.CURSOR_CLOSE, x.number(1, 1)),
    x.message(x.EXPECT_OPEN, x.part(2, x.number(1, 1) + x.number(3, 0))),
    x.query(b"SELEC"),
    x.query(b"SELECT 'not reached'"),
    x.message(x.EXPECT_CLOSE),
    x.query(b"CREATE PROCEDURE p() BEGIN SELECT 1; SELECT 2, 3; END"),
    x.query(b"CALL p()"),
    x.query(b"SELECT ?, ?, ?", 1.5, b"\x00\xff", True),
    # All of these at once:
    x.query(b"INSERT INTO t VALUES (1), (2)")
    + x.prepare(2, b"SELECT * FROM t WHERE id > ?")
    + x.execute(2, 0)
    + x.query(b"SELECT REPEAT('x', 300000)")
    + x.query(b"DELETE FROM t"),
    x.deallocate(2),
    x.prepare(3, b"SELECT 1"),
    x.message(x.RESET, x.number(1, 1)),  # the session stays open
    x.execute(3),
    x.query(b"SELECT * FROM t"),
    x.query(b"DROP DATABASE raw"),
    x.message(x.SESSION_CLOSE),
)


def main() -> None:
    """Log in and send the script."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--socket", required=True)
    parser.add_argument("--user", required=True)
    parser.add_argument("--password", required=True)
    arguments = parser.parse_args()
    user, password = arguments.user.encode(), arguments.password.encode()
    with socket.socket(socket.AF_UNIX) as local:  # the server has to know the password before SHA256_MEMORY works
        local.connect(arguments.socket)
        local.sendall(x.start(b"PLAIN", b"\0" + user + b"\0" + password))
        _answer(local)
    with socket.create_connection(("127.0.0.1", arguments.port)) as connection:
        _log_in(connection, user, password)
        told: list[Answer] = []
        for sent in SCRIPT:
            connection.sendall(sent)
            told += [_answer(connection)[0] for _ in range(_messages(sent))]
    print(json.dumps(told))


def _log_in(connection: socket.socket, user: bytes, password: bytes) -> None:
    """SHA256_MEMORY: page_mysqlx_protocol_authentication."""
    connection.sendall(x.start(b"SHA256_MEMORY"))
    nonce = _answer(connection)[1][2:]
    once = hashlib.sha256(password).digest()
    mask = hashlib.sha256(hashlib.sha256(once).digest() + nonce).digest()
    secret = bytes(one ^ other for one, other in zip(once, mask, strict=True)).hex().upper().encode()
    connection.sendall(x.proof(user, b"", secret))
    (kinds, _), _ = _answer(connection)
    if kinds[-1] != ENDINGS[4]:
        raise RuntimeError("the server does not let us in")


def _messages(sent: bytes) -> int:
    count, at = 0, 0
    while at < len(sent):
        at += 4 + struct.unpack_from("<I", sent, at)[0]
        count += 1
    return count


def _answer(connection: socket.socket) -> tuple[Answer, bytes]:
    """An answer up to its end, and the content of its last message."""
    kinds: list[int] = []
    while True:
        length, kind = struct.unpack("<IB", _exactly(connection, 5))
        content = _exactly(connection, length - 1)
        kinds.append(kind)
        if kind in ENDINGS:
            return (kinds, _number(content) if kind == _ERROR else 0), content


def _number(error: bytes) -> int:
    """The number in an Error, which servers write as its second field, in two bytes or three."""
    at = error.index(b"\x10") + 1
    value = shift = 0
    while True:
        value |= (error[at] & 0x7F) << shift
        if error[at] < 0x80:
            return value
        at, shift = at + 1, shift + 7


def _exactly(connection: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        piece = connection.recv(size - len(found))
        if not piece:
            raise ConnectionError("the server hung up")
        found += piece
    return found


if __name__ == "__main__":
    main()
