"""Counts packets by the interface on which they were captured, and by their direction."""

from array import array
from typing import Final

import cython

MOST_INTERFACES: Final = 16
"""Told apart; the first place is for those beyond, and for packets that do not tell theirs."""
WORDS: Final = 3
"""Of one interface: its index, packets that came in, packets that went out."""

_OUTGOING = cython.declare(cython.uint, 4)  # PACKET_OUTGOING, linux/if_packet.h
_WORDS = cython.declare(cython.Py_ssize_t, WORDS)
_ALL_WORDS = cython.declare(cython.Py_ssize_t, WORDS * MOST_INTERFACES)


@cython.final
@cython.cclass
class Arrivals:
    """The counts since the beginning. Its memory is bounded, whatever a ring says."""

    _at: cython.Py_ssize_t

    def __init__(self) -> None:
        self._numbers = array("Q", bytes(8 * WORDS * MOST_INTERFACES))
        self._slots = self._numbers  # compiled: a typed view of it, so that an addition is one
        self._at = 0

    @cython.ccall
    def count(self, interface: cython.uint, kind: cython.uint) -> cython.int:
        """A packet of the interface with this index (0: not known), and of a kind PACKET_* of linux/if_packet.h."""
        if self._slots[self._at] != interface:
            self._at = self._place(interface)
        if kind == _OUTGOING:
            self._slots[self._at + 2] += 1
        else:
            self._slots[self._at + 1] += 1
        return 0

    @cython.cfunc
    def _place(self, interface: cython.uint) -> cython.Py_ssize_t:
        at: cython.Py_ssize_t = _WORDS
        while interface and at < _ALL_WORDS:
            if self._slots[at] == 0:
                self._slots[at] = interface
            if self._slots[at] == interface:
                return at
            at += _WORDS
        return 0

    def store(self, words: memoryview) -> None:
        """Write all of it into *words*, unsigned 64-bit numbers: WORDS for each of MOST_INTERFACES."""
        words[:] = memoryview(self._numbers)
