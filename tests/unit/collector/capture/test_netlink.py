from __future__ import annotations

import socket
import struct

import pytest

from collector.capture import netlink


def message(kind: int, body: bytes) -> bytes:
    whole = struct.pack("=IHHII", 16 + len(body), kind, 2, 1, 0) + body
    return whole + bytes(-len(whole) % 4)


class Kernel(socket.socket):
    """Answers any request with what it was given."""

    def __init__(self, *answers: bytes) -> None:
        super().__init__(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.answers = list(answers)
        self.asked = b""

    def send(self, data: bytes, flags: int = 0) -> int:  # type: ignore[override]
        self.asked = data
        return flags + len(data)

    def recv(self, bufsize: int, flags: int = 0) -> bytes:  # noqa: ARG002
        return self.answers.pop(0)


def test_a_list_may_come_in_several_parts() -> None:
    with Kernel(message(20, b"one") + message(20, b"two"), message(20, b"three"), message(3, bytes(4))) as kernel:
        assert netlink.dump(kernel, 20, b"which") == [b"one", b"two", b"three"]
    assert kernel.asked == struct.pack("=IHHII", 21, 20, 0x301, 1, 0) + b"which"


def test_an_error_is_raised_as_one() -> None:
    with Kernel(message(2, struct.pack("=i", -2))) as kernel, pytest.raises(FileNotFoundError):
        netlink.dump(kernel, 20, b"")


@pytest.mark.parametrize("data", [bytes(15), struct.pack("=IHHII", 17, 20, 0, 0, 0), bytes(16)])
def test_what_is_cut_is_refused(data: bytes) -> None:
    with pytest.raises(OSError, match="cut"):
        netlink.messages(data)


def test_attributes_come_by_their_type_and_what_is_cut_is_left_out() -> None:
    data = struct.pack("=HH3sxHHIHH", 7, 3, b"lo\0", 8, 10 | 0x8000, 5, 9, 4)
    assert netlink.attributes(data) == {3: b"lo\0", 10: struct.pack("=I", 5)}
