"""Where the decode of a capture is not what its reference says, each judged by the bytes of the frames and by tshark.

A row that no longer applies fails the run, as a disagreement without a row does.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Deviation(NamedTuple):
    """Disagreements that are known, as ``place: what``, and why they stand."""

    file: str
    what: tuple[str, ...]
    why: str
    ours: bool = False
    """The reference is right: a fault of ours that is not cured yet."""


_PERCONA: Final = "percona__percona-toolkit__"

DEVIATIONS: Final = (
    Deviation(
        f"{_PERCONA}tcpdump015.txt.pcap",
        ("command 1: extra", "command 2: extra"),
        "502 bytes before frame 6 were edited out. The reference delivers nothing behind them; the source has both.",
    ),
    Deviation(
        f"{_PERCONA}tcpdump015.txt.pcap",
        ("source 2: latency_ns",),
        "The statement in frame 6 waits for those 502 bytes when its answer comes 3 ms later, and has none then.",
    ),
    Deviation(
        f"{_PERCONA}tcpdump032.txt.pcap",
        ("source 1: missing", "command 1: extra", "command 2: extra"),
        "Twice, a day apart: the parts of a statement are thousands of sequence numbers apart, and two of them have the"
        " same; the source pays no heed, the reference has nothing. We have what is before the hole, and flag it.",
    ),
    Deviation(
        f"{_PERCONA}tcpdump036.txt.pcap",
        ("connection: logins", "command 1: extra", "command 2: extra"),
        "Frame 10 opens the connection a second time, an hour later, with the same numbers; behind its login 37 bytes"
        " are missing. The reference takes all of it for retransmissions; the source has what we have.",
    ),
    Deviation(
        f"{_PERCONA}tcpdump036.txt.pcap",
        ("source 3: latency_ns",),
        "The statement in frame 18 waits for those 37 bytes when its answer comes in frame 19.",
    ),
    Deviation(
        f"{_PERCONA}tcpdump038.txt.pcap",
        ("frame 1: status", "frame 1: affected_rows", "frame 1: latency", "command 2: extra"),
        "Two dumps in one: frame 1 is never answered, frames 2 to 6 are another connection with the same ports months"
        " later. The reference gives the OK in frame 5 to frame 1; it answers the INSERT in frames 2 and 4.",
    ),
    Deviation(
        f"{_PERCONA}tcpdump042.txt.pcap",
        ("source 1: missing",),
        "The client closes the connection after the greeting. It never said who it is, and that is no login.",
    ),
    Deviation(
        f"{_PERCONA}tcpdump044.txt.pcap",
        ("source 1: missing",),
        "The client closes the connection after the greeting, as in tcpdump042.",
    ),
    *[
        Deviation(
            f"{_PERCONA}{name}.txt.pcap",
            ("connection: from_start",),
            "No SYN was captured, but the server's greeting was: for us the connection is seen from its start.",
        )
        for name in ("tcpdump015", "tcpdump016")
    ],
)
