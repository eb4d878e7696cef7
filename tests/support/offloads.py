"""Switches of an interface that say whether large packets cross it whole: segmentation (tso, gso) and joining (gro).

A module of its own to run inside a namespace, as ethtool is no part of a minimal system.
"""

from __future__ import annotations

import array
import fcntl
import socket
import struct
import sys
from typing import Final

_SIOCETHTOOL: Final = 0x8946  # linux/sockios.h
_REQUEST: Final = struct.Struct("16sP16x")  # struct ifreq on a 64-bit machine: name, pointer
_SWITCHES: Final = {"tso": (0x1E, 0x1F), "gso": (0x23, 0x24), "gro": (0x2B, 0x2C)}  # linux/ethtool.h: get, set


def switch(interface: str, name: str, on: bool) -> None:
    """Set a switch. Raises OSError, also where the kernel takes the call and does something else."""
    get, put = _SWITCHES[name]
    _call(interface, put, int(on))
    if bool(_call(interface, get, 0)) != on:
        raise OSError(f"{interface}: {name} cannot be {'on' if on else 'off'}")


def _call(interface: str, command: int, value: int) -> int:
    data = array.array("I", (command, value))  # struct ethtool_value
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCETHTOOL, _REQUEST.pack(interface.encode(), data.buffer_info()[0]))
    return data[1]


if __name__ == "__main__":
    for word in sys.argv[2:]:
        wanted, _, state = word.partition("=")
        switch(sys.argv[1], wanted, state == "on")
