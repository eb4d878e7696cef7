"""What a worker has to know; whoever starts it decides. Plain values, no files, no defaults of the product."""

from dataclasses import dataclass
from typing import Final, Literal, get_args

Responses = Literal["none", "first", "timing", "all"]
"""How much of the answers is looked at: nothing but statement ids; the beginning of each; its size and end as well; all
of it."""
RESPONSES: Final[tuple[Responses, ...]] = get_args(Responses)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How packets become blocks."""

    ports: tuple[int, ...]
    """TCP ports of the servers; whatever talks to none of them is not looked at."""
    x_ports: tuple[int, ...] = ()
    """Ports where the servers speak the X Protocol."""
    responses: Responses = "first"
    max_statement_bytes: int = 16 << 20
    """Of a longer statement the rest is not kept, and it is flagged."""
    max_flows: int = 65536
    max_flow_buffer_bytes: int = 1 << 20
    """Segments that wait for one before them: beyond it the missing one is given up."""
    max_buffer_bytes: int = 256 << 20
    """Unfinished statements and waiting segments of all connections together."""
    gap_timeout_ns: int = 1_000_000_000
    """How long a missing segment is waited for."""
    idle_timeout_ns: int = 28_800_000_000_000
    """A connection silent for longer is forgotten."""
    block_age_ns: int = 500_000_000
    """A block with statements in it is handed on no later than this."""
    tunnels: tuple[str, ...] = ()
    """What carries packets in packets and is gone through: names of tunnels.TUNNELS."""
    secret: int = 0
    """64 bits that clients do not know: where in the table of connections theirs stand."""
