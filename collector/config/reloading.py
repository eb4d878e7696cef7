"""What reading the configuration again comes to, for the processes, the log and `querytap status`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from collector.config import Config, ConfigError
from collector.config.changes import Change, changes, live, reloaded, waiting

MOST_SAID: Final = 20
"""Problems that the log and the status name, and settings that the status does."""

Read = Callable[[], Config]
"""Reads the file and what was set over it. Raises ConfigError."""


class Line(NamedTuple):
    """One for the log."""

    level: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of it."""

    config: Config
    """To go on with: the one before, where the new one has problems."""
    changed: tuple[Change, ...] = ()
    waiting: tuple[Change, ...] = ()
    """What differs and takes a restart."""
    problems: tuple[str, ...] = ()

    def lines(self) -> Iterator[Line]:
        """For the log."""
        if self.problems:
            count = f"{len(self.problems)} problem{'' if len(self.problems) == 1 else 's'}"
            yield Line(logging.ERROR, f"reload: {count}, so nothing is changed and the settings from before go on:")
            for problem in self.problems[:MOST_SAID]:
                yield Line(logging.ERROR, f"reload: {problem}")
        elif self.changed:
            yield Line(logging.INFO, f"reload: changed: {'; '.join(map(str, self.changed))}")
        else:
            yield Line(logging.INFO, "reload: no setting that can be changed without a restart differs")
        if self.waiting:
            names = ", ".join(change.key for change in self.waiting)
            yield Line(logging.WARNING, f"reload: differs, and takes effect after a restart: {names}")

    def as_map(self) -> dict[str, Any]:
        """For the status: plain values, bounded."""
        return {
            "applied": not self.problems,
            "changed": [str(change) for change in self.changed[:MOST_SAID]],
            "waiting": [change.key for change in self.waiting],
            "problems": list(self.problems[:MOST_SAID]),
        }


def reload(running: Config, read: Read) -> Outcome:
    """Read the configuration again, beside the one that is *running*."""
    try:
        wanted = read()
    except ConfigError as error:
        return Outcome(config=running, problems=tuple(map(str, error.problems)))
    found = changes(running, wanted)
    return Outcome(config=reloaded(running, wanted), changed=live(found), waiting=waiting(found))
