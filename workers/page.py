"""The page of memory that capture shares with a worker: what stands where, in words of 8 bytes.

Each word has one writer. What the worker writes, capture bounds before it believes it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from workers.arrivals import MOST_INTERFACES, WORDS

COMMAND_WORD: Final = 0
"""What capture wants of the worker."""
RUN: Final = 0
DRAIN: Final = 1
"""Empty the ring, send the last block, exit."""
LEAVE: Final = 2
"""Leave in the ring what has not been taken, send the last block, exit."""

HEARTBEAT_WORD: Final = 1
"""When the worker was last seen at work: CLOCK_MONOTONIC in ns, 0 before its first step."""

PORTS_VERSION_WORD: Final = 2
"""How often capture has written the ports below; 0: the worker's are those of its settings."""
PORTS_KNOWN_WORD: Final = 3
"""The version by which the worker goes, so that capture lets a new port through the filter only then."""
PORT_COUNT_WORD: Final = 4
X_PORT_COUNT_WORD: Final = 5

BLOCK_AGE_WORD: Final = 6
"""After how many ns a block is handed on; 0: as the worker's settings say."""

ANSWERS_WORD: Final = 7
"""Not 0: less of the answers is captured than the worker's settings say."""

FIRST_PORT_WORD: Final = 8
MOST_PORTS: Final = 64
"""Of the MySQL protocol, and as many again of the X Protocol."""
FIRST_X_PORT_WORD: Final = FIRST_PORT_WORD + MOST_PORTS

FIRST_COUNTER_WORD: Final = FIRST_X_PORT_WORD + MOST_PORTS
"""From here on the counters, in the order of workers.counters.NAMES."""

FIRST_INTERFACE_WORD: Final = 448
"""From here on packets by interface: WORDS for each of MOST_INTERFACES (workers.arrivals)."""
INTERFACE_WORDS: Final = slice(FIRST_INTERFACE_WORD, FIRST_INTERFACE_WORD + WORDS * MOST_INTERFACES)

_COUNT_WORDS: Final = (PORT_COUNT_WORD, X_PORT_COUNT_WORD)
_FIRST_WORDS: Final = (FIRST_PORT_WORD, FIRST_X_PORT_WORD)


class Ports(NamedTuple):
    """Where servers speak."""

    classic: tuple[int, ...]
    """The MySQL protocol."""
    x: tuple[int, ...]
    """The X Protocol."""

    @property
    def all(self) -> tuple[int, ...]:
        """Either."""
        return self.classic + self.x


def write_ports(words: memoryview, ports: Ports, version: int) -> None:
    """Let the worker know the servers' ports; *version* is one it has not seen."""
    for found, count_word, first_word in zip(ports, _COUNT_WORDS, _FIRST_WORDS, strict=True):
        if len(found) > MOST_PORTS:
            raise ValueError(f"{len(found)} ports, the page has room for {MOST_PORTS}")
        for at, port in enumerate(found):
            words[first_word + at] = port
        words[count_word] = len(found)
    words[PORTS_VERSION_WORD] = version  # last: who sees it sees the rest


def read_ports(words: memoryview) -> tuple[int, Ports]:
    """The version, and the ports of that version."""
    while True:
        version: int = words[PORTS_VERSION_WORD]
        found = [
            words[first : first + min(words[count], MOST_PORTS)].tolist()
            for count, first in zip(_COUNT_WORDS, _FIRST_WORDS, strict=True)
        ]
        if words[PORTS_VERSION_WORD] == version:  # else they were written meanwhile
            return version, Ports(*(tuple(port & 0xFFFF for port in ports) for ports in found))


def read_interfaces(words: memoryview) -> dict[int, tuple[int, int]]:
    """Packets that came in and went out, by the index of their interface; 0 stands for others."""
    found: dict[int, tuple[int, int]] = {}
    counts = words[INTERFACE_WORDS].tolist()
    for index, came, went in zip(*(counts[at::WORDS] for at in range(WORDS)), strict=True):
        if came or went:
            before = found.get(index, (0, 0))
            found[index] = (before[0] + came, before[1] + went)
    return found
