"""Memory by its address, and what C does at once. Compiled modules get the C of memory.pxd; this is the plain twin.

Words shared with the kernel are read and written in order, which matters where the processor may reorder (arm64): what
a block holds is read after its status says it is ours, and is done with before the status says it is the kernel's.
"""

import ctypes


def load_acquire(address: int) -> int:
    """The 32-bit word at *address*, before anything that is read after it."""
    return ctypes.c_uint32.from_address(address).value


def store_release(address: int, value: int) -> int:
    """Write the 32-bit word at *address*, after anything that was read before it."""
    ctypes.c_uint32.from_address(address).value = value
    return 0


def load(address: int, size: int) -> int:
    """The number of *size* bytes, 8 at most, at *address* (little-endian, as all machines this runs on are)."""
    return int.from_bytes(ctypes.string_at(address, size), "little")


def store32(address: int, value: int) -> int:
    """Write a 32-bit number."""
    ctypes.memmove(address, (value & 0xFFFFFFFF).to_bytes(4, "little"), 4)
    return 0


def move(to: int, from_: int, size: int) -> int:
    """Copy *size* bytes to where nothing of them lies already."""
    ctypes.memmove(to, from_, size)
    return 0


def copy_into(target: bytearray, at: int, source: bytes) -> int:
    """Write *source* over what *target* has at *at*. Raises IndexError where it has no room for it there."""
    if at < 0 or len(source) > len(target) - at:
        raise IndexError("no room to copy into")
    target[at : at + len(source)] = source
    return 0


def cut(data: bytes, at: int, end: int) -> bytes:
    """``data[at:end]``, without numbers from the end: those give nothing."""
    return data[at:end] if 0 <= at < end else b""
