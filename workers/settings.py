"""What a worker has to know; whoever starts it decides. Plain values, no files, no defaults of the product."""

from dataclasses import dataclass
from typing import Final, Literal, get_args

Responses = Literal["none", "first", "timing", "all"]
"""How much of the answers is looked at: nothing but statement ids; the beginning of each; its size and end as well; all
of it."""
RESPONSES: Final[tuple[Responses, ...]] = get_args(Responses)

Literals = Literal["keep", "mask"]
"""What becomes of literals, bound values and what else is data in statements."""
LITERALS: Final[tuple[Literals, ...]] = get_args(Literals)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What a rule names. Users and databases as they are named on the wire, clients as addresses or networks."""

    users: tuple[str, ...] = ()
    databases: tuple[str, ...] = ()
    clients: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.users or self.databases or self.clients or self.commands)


_NOTHING: Final = Selection()


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
    literals: Literals = "keep"
    omit: Selection = _NOTHING
    """Whose statements are left out;"""
    only: Selection = _NOTHING
    """where it names something, all others are."""
    secret: int = 0
    """64 bits that clients do not know: where in the table of connections theirs stand."""
