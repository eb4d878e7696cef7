"""tcpdump as the yardstick: it writes the same packets to a file, undecoded.

The filter expression passes exactly what the product's own filter passes of this traffic, so that both pay for the
same packets; the count that both report is compared.
"""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench import traffic, veth

_TIMEOUT_S: Final = 30
_PAYLOAD: Final = "(tcp[12] & 0xf0) >> 2"
_GREETING: Final = (
    f"(tcp[({_PAYLOAD}) + 2:2] = 0 and (tcp[({_PAYLOAD}) + 4] = 10 or tcp[({_PAYLOAD}) + 4] = 9 "
    f"or tcp[({_PAYLOAD}) + 4] = 255))"
)
_PREPARE_OK: Final = f"(tcp[{_PAYLOAD}:4] = 0x0c000001 and tcp[({_PAYLOAD}) + 4] = 0)"
_ANSWERS: Final = {
    "none": f"({_GREETING} or {_PREPARE_OK})",
    "first": f"(tcp[({_PAYLOAD}) + 2] = 0 and tcp[({_PAYLOAD}) + 3] <= 8)",
    # "timing" cuts long answers short besides, which no answer of the workload is.
    "timing": f"src port {traffic.SERVER_PORT}",
    "all": f"src port {traffic.SERVER_PORT}",
}


def expression(responses: str) -> str:
    """What the product's filter passes, in tcpdump's language: control segments, requests, and some answers."""
    control = "tcp[tcpflags] & (tcp-syn | tcp-fin | tcp-rst) != 0"
    payload = f"ip[2:2] - ((ip[0] & 0x0f) << 2) - ({_PAYLOAD}) != 0"
    port = traffic.SERVER_PORT
    return f"tcp port {port} and ({control} or ({payload} and (dst port {port} or {_ANSWERS[responses]})))"


@dataclass(slots=True)
class Tcpdump:
    """A running tcpdump; *captured* and *dropped* are known once it has ended."""

    process: subprocess.Popen[str]
    file: Path
    captured: int = 0
    dropped: int = 0


@contextmanager
def tcpdump(pair: veth.Pair, folder: Path, ring_mib: int, condition: str) -> Iterator[Tcpdump]:
    """`tcpdump -w` on the capturing side, with a ring of *ring_mib*; it captures when this returns."""
    file = folder / f"tcpdump-{'all' if not condition else 'filtered'}.pcap"
    command = ["tcpdump", "-n", "-i", veth.INTERFACE, "-B", str(ring_mib << 10), "-Z", "root", "-w", str(file)]
    process = subprocess.Popen(
        veth.inside(pair.db, [*command, *([condition] if condition else [])]), stderr=subprocess.PIPE, text=True
    )
    running = Tcpdump(process, file)
    assert process.stderr is not None
    try:
        first = process.stderr.readline()
        if "listening on" not in first:
            raise RuntimeError(f"tcpdump does not start: {first}{process.stderr.read()}")
        yield running
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=_TIMEOUT_S)
        running.captured = _number(said, r"(\d+) packets? captured")
        running.dropped = _number(said, r"(\d+) packets? dropped by kernel")
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def _number(text: str, pattern: str) -> int:
    found = re.search(pattern, text)
    if found is None:
        raise RuntimeError(f"tcpdump did not say {pattern!r}: {text}")
    return int(found.group(1))
