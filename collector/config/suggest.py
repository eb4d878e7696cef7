"""What to say of a key that is not declared: the closest one that is, or all there are."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from collector.config.schema import OPTIONS, SECTIONS


def unknown_section(section: str, *, is_table: bool) -> str:
    """For a key on the top level of the file that is no section; *is_table*: it was written as one."""
    homes = _homes_of(section)
    if not is_table and homes:
        return f"is in no section, did you mean {homes[0]}?"
    return f"unknown section, {closest(section, SECTIONS)}"


def unknown_option(key: str) -> str:
    """For a `section.name` whose section is declared and whose name is not."""
    section, _, name = key.partition(".")
    homes = _homes_of(name)
    if homes:
        return f"unknown option, did you mean {homes[0]}?"
    siblings = [option.name for option in OPTIONS.values() if option.section == section]
    return f"unknown option, {closest(name, siblings)}"


def unknown_word(word: str) -> str:
    """For a word that is no section, no key and no option's name."""
    names = [option.name for option in OPTIONS.values()]
    return f"unknown option, {closest(word, [*OPTIONS, *names, *SECTIONS], otherwise=SECTIONS)}"


def _homes_of(name: str) -> list[str]:
    return [key for key, option in OPTIONS.items() if option.name == name]


def closest(word: str, known: Iterable[str], otherwise: Iterable[str] | None = None) -> str:
    """The one of *known* that may be meant by *word*, or else all that are *otherwise* there."""
    candidates = list(known)
    close = difflib.get_close_matches(word, candidates, n=1)
    if close:
        return f"did you mean {close[0]}?"
    return f"there are {', '.join(candidates if otherwise is None else otherwise)}"
