"""The two errors a user is meant to read: the configuration is wrong, or the host cannot start it.

The command line turns both into a message on stderr, without a traceback: ConfigError ends with exit code 2,
StartError with 3.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from collector.config.schema import Config


@dataclasses.dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with the configuration."""

    key: str
    """`section.name`, a section alone, or empty when the source as a whole is meant."""
    text: str
    """What is wrong and what is allowed, to follow the key and its value."""
    value: str = ""
    """The value as TOML, where one was given."""
    place: str = ""
    """Where it was written: `/etc/querytap/querytap.toml:12`, `--set`, or empty."""

    def __str__(self) -> str:
        subject = f"{self.key} = {self.value}" if self.value else self.key
        return ": ".join(part for part in (self.place, subject, self.text) if part)


class ConfigError(Exception):
    """The configuration cannot be used; holds every problem that was found, not the first alone.

    *rest*: what it says apart from these, for whoever only looks for something that runs.
    """

    problems: tuple[Problem, ...]
    rest: Config

    def __init__(self, problems: Iterable[Problem], rest: Config | None = None) -> None:
        self.problems = tuple(problems)
        self.rest = rest or Config()
        super().__init__(self.problems)

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)


class StartError(Exception):
    """This host cannot run what was asked: a right, an interface, a key or a server is missing.

    *message* says what is missing, *remedy* the command or the setting that mends it.
    """

    message: str
    remedy: str

    def __init__(self, message: str, remedy: str = "") -> None:
        self.message = message
        self.remedy = remedy
        super().__init__(message, remedy)

    def __str__(self) -> str:
        return f"{self.message}\n{self.remedy}" if self.remedy else self.message
