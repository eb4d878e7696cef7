"""What capture tells the supervisor of itself, for `querytap status`: a message each time something of it changes."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from collector.outlet import Inherited, Outlet

MOST_BYTES: Final = 32_768
"""Of one message."""

_MOST_WARNINGS: Final = 20
_MOST_NOTES: Final = 5
_MOST_CHARACTERS: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """How far capture is."""

    ready: bool = False
    """Every worker is at work."""
    waiting: str = ""
    """What it waits for before it can begin."""
    ports: tuple[int, ...] = ()
    """Those it records."""
    notes: tuple[str, ...] = ()
    """How packets are taken from the kernel, and why so."""
    warnings: tuple[str, ...] = ()
    """What is to be seen to, each with its remedy."""

    def pack(self) -> bytes:
        """The message; of warnings the first, and of each the beginning, so that it fits."""
        warnings = [text[:_MOST_CHARACTERS] for text in self.warnings[:_MOST_WARNINGS]]
        notes = [text[:_MOST_CHARACTERS] for text in self.notes[:_MOST_NOTES]]
        return json.dumps({**asdict(self), "warnings": warnings, "notes": notes}).encode()


def unpack(message: bytes) -> State:
    """Read a message; ValueError when it is none."""
    try:
        found: dict[str, Any] = json.loads(message)
        return State(
            ready=bool(found["ready"]),
            waiting=str(found["waiting"]),
            ports=tuple(int(port) for port in found["ports"]),
            notes=tuple(str(text) for text in found["notes"]),
            warnings=tuple(str(text) for text in found["warnings"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"not a state of capture: {error!r}") from error


class Teller:
    """Holds the state and has it told where it changes. This one tells nobody."""

    def __init__(self) -> None:
        self.state = State()
        self._told: State | None = None

    def tell(self, **changes: Any) -> None:  # noqa: ANN401  # fields of State
        """Change fields of the state, and send it if another one is known; never blocks."""
        self.state = replace(self.state, **changes)
        if self.state != self._told and self._sent(self.state):
            self._told = self.state

    def alive(self) -> None:
        """To be called each second or so, also while something is waited for."""

    def stopping(self, within_s: float) -> None:
        """The end has begun, and takes no longer than that."""

    def close(self) -> None:
        """Tell nothing more."""

    def _sent(self, _: State) -> bool:
        """Send a state; False where it has to be sent again later."""
        return True


class SupervisorTeller(Teller):
    """Tells the supervisor over *fd*. One that does not listen is told when it does, not waited for."""

    def __init__(self, fd: int) -> None:
        super().__init__()
        self._outlet: Outlet | None = Inherited(fd)

    def close(self) -> None:
        """As Teller says."""
        if self._outlet is not None:
            self._outlet.close()
            self._outlet = None

    def _sent(self, state: State) -> bool:
        return self._outlet is not None and self._outlet.send(state.pack())


def teller_over(fd: int) -> Teller:
    """Who tells the supervisor over *fd*; below 0: nobody is told."""
    return SupervisorTeller(fd) if fd >= 0 else Teller()
