"""What differs between two configurations, and what of it a running querytap can take over. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from collector.config.load import shown
from collector.config.option import Value
from collector.config.schema import OPTIONS, SECTIONS, Config

_Owner = TypeVar("_Owner")

Live = Mapping[str, Callable[[_Owner], None] | None]
"""The options of which a process takes a change while it runs, and with what: None where it looks them up whenever it
needs them. Each process has one table, called LIVE."""


@dataclasses.dataclass(frozen=True, slots=True)
class Change:
    """One option that has another value."""

    key: str
    before: Value
    after: Value

    def __str__(self) -> str:
        return f"{self.key} from {shown(self.before)} to {shown(self.after)}"


def changes(before: Config, after: Config) -> tuple[Change, ...]:
    """The options in which *after* differs, in the order of the file."""
    pairs = ((key, value_of(before, key), value_of(after, key)) for key in OPTIONS)
    return tuple(Change(key, old, new) for key, old, new in pairs if old != new)


def live(found: Iterable[Change]) -> tuple[Change, ...]:
    """Those that take effect on a reload."""
    return tuple(one for one in found if OPTIONS[one.key].applies == "reload")


def waiting(found: Iterable[Change]) -> tuple[Change, ...]:
    """Those that take effect after a restart."""
    return tuple(one for one in found if OPTIONS[one.key].applies == "restart")


def reloaded(running: Config, wanted: Config) -> Config:
    """*running* with what *wanted* has of the options that take effect on a reload.

    It keeps every rule between options, as those of a rule all take effect at the same time.
    """
    of_section: dict[str, dict[str, Value]] = {section: {} for section in SECTIONS}
    for change in live(changes(running, wanted)):
        option = OPTIONS[change.key]
        of_section[option.section][option.name] = change.after
    sections = {name: dataclasses.replace(getattr(running, name), **new) for name, new in of_section.items()}
    return dataclasses.replace(running, **sections)


def value_of(config: Config, key: str) -> Value:
    """The value that an option has in *config*."""
    option = OPTIONS[key]
    value: Value = getattr(getattr(config, option.section), option.name)
    return value


def take_over(owner: _Owner, table: Live[_Owner]) -> None:
    """Have *owner* take over what its configuration says now: call each function of *table* once."""
    for function in dict.fromkeys(table.values()):
        if function is not None:
            function(owner)
