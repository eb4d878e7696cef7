"""What a worker is sealed by: found out once, before there are workers, and then all of it or no worker.

Each step is taken when nothing that comes later needs what it takes away: Landlock binds the thread that asks for it
and those it starts, so it comes before ZeroMQ's threads; the filter forbids to start any, so it comes after them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from collector.capture import calls, landlock, seccomp
from collector.config import StartError

OFF = "off"
REQUIRED = "required"


@dataclass(frozen=True, slots=True)
class Sandbox:
    """The walls around a worker."""

    wanted: bool
    """False: it was switched off."""
    seccomp: int | None = None
    """Flags of the filter; None: there is none."""
    landlock: int = 0
    """Version of the interface; 0: it is not used."""

    def before_threads(self) -> None:
        """Lose what can be lost before other threads start. Raises OSError."""
        if self.landlock:
            landlock.restrict(self.landlock)

    def after_threads(self) -> None:
        """Lose the rest, once all threads run and all sockets are there. Raises OSError."""
        name = seccomp.machine()
        if self.seccomp is not None and name is not None:
            seccomp.install(seccomp.build(name, calls.WORKER, os.getpid()), self.seccomp)

    @property
    def text(self) -> str:
        """What is in force, for people."""
        walls = ["seccomp"] if self.seccomp is not None else []
        walls += [f"Landlock (version {self.landlock})"] if self.landlock else []
        if walls:
            return " and ".join(walls)
        return "none (the kernel has neither seccomp nor Landlock)" if self.wanted else "off (workers.sandbox)"

    @property
    def missing(self) -> tuple[str, ...]:
        """What was wanted and is not there."""
        if not self.wanted:
            return ()
        absent = (("a seccomp filter for all threads", self.seccomp is None), ("Landlock", not self.landlock))
        return tuple(name for name, lacks in absent if lacks)


def sandbox(setting: str) -> Sandbox:
    """What this kernel can do of what workers.sandbox asks for; StartError where it demands more."""
    if setting == OFF:
        return Sandbox(wanted=False)
    found = Sandbox(wanted=True, seccomp=seccomp.flags(), landlock=landlock.version())
    if setting == REQUIRED and found.missing:
        raise StartError(
            f'workers.sandbox is "required", and this kernel has not {", nor ".join(found.missing)}',
            'switch it on (seccomp: from Linux 3.17; Landlock: from 5.13, "landlock" in the list of the boot parameter'
            ' lsm=), or set workers.sandbox to "auto"',
        )
    return found
