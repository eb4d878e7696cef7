"""The page of memory that capture shares with a worker: what stands where, in words of 8 bytes.

Each word has one writer. What the worker writes, capture bounds before it believes it.
"""

from __future__ import annotations

from typing import Final

from workers.arrivals import MOST_INTERFACES, WORDS

COMMAND_WORD: Final = 0
"""What capture wants of the worker."""
RUN: Final = 0
DRAIN: Final = 1
"""Empty the ring, send the last block, exit."""

HEARTBEAT_WORD: Final = 1
"""When the worker was last seen at work: CLOCK_MONOTONIC in ns, 0 before its first step."""

PORTS_VERSION_WORD: Final = 2
"""How often capture has written the ports below; 0: the worker's are those of its settings."""
PORTS_KNOWN_WORD: Final = 3
"""The version by which the worker goes, so that capture lets a new port through the filter only then."""
PORT_COUNT_WORD: Final = 4
FIRST_PORT_WORD: Final = 8
MOST_PORTS: Final = 64

FIRST_COUNTER_WORD: Final = FIRST_PORT_WORD + MOST_PORTS
"""From here on the counters, in the order of workers.counters.NAMES."""

FIRST_INTERFACE_WORD: Final = 448
"""From here on packets by interface: WORDS for each of MOST_INTERFACES (workers.arrivals)."""
INTERFACE_WORDS: Final = slice(FIRST_INTERFACE_WORD, FIRST_INTERFACE_WORD + WORDS * MOST_INTERFACES)


def write_ports(words: memoryview, ports: tuple[int, ...], version: int) -> None:
    """Let the worker know on which ports servers speak the MySQL protocol; *version* is one it has not seen."""
    if len(ports) > MOST_PORTS:
        raise ValueError(f"{len(ports)} ports, the page has room for {MOST_PORTS}")
    for at, port in enumerate(ports):
        words[FIRST_PORT_WORD + at] = port
    words[PORT_COUNT_WORD] = len(ports)
    words[PORTS_VERSION_WORD] = version  # last: who sees it sees the rest


def read_ports(words: memoryview) -> tuple[int, tuple[int, ...]]:
    """The version, and the ports of that version."""
    while True:
        version: int = words[PORTS_VERSION_WORD]
        ports = words[FIRST_PORT_WORD : FIRST_PORT_WORD + min(words[PORT_COUNT_WORD], MOST_PORTS)].tolist()
        if words[PORTS_VERSION_WORD] == version:  # else they were written meanwhile
            return version, tuple(port & 0xFFFF for port in ports)


def read_interfaces(words: memoryview) -> dict[int, tuple[int, int]]:
    """Packets that came in and went out, by the index of their interface; 0 stands for others."""
    found: dict[int, tuple[int, int]] = {}
    counts = words[INTERFACE_WORDS].tolist()
    for index, came, went in zip(*(counts[at::WORDS] for at in range(WORDS)), strict=True):
        if came or went:
            before = found.get(index, (0, 0))
            found[index] = (before[0] + came, before[1] + went)
    return found
