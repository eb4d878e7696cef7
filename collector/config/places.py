"""Finds the line of an option in a TOML text, for messages; the standard parser does not tell.

A line that is not found, or not found for certain, is left out: a message without a line beats one with a wrong line.
"""

from __future__ import annotations

import re

_HEADER = re.compile(r"""\s*\[\s*["']?([A-Za-z0-9_-]+)["']?\s*\]\s*(?:#.*)?""")
_KEY = re.compile(r"""\s*["']?([A-Za-z0-9_-]+)["']?(?:\s*\.\s*["']?([A-Za-z0-9_-]+)["']?)?\s*=.*""")


def lines_of(text: str) -> dict[str, int]:
    """Line numbers, from 1, of the keys of *text*: `section`, `section.name`, or `name` before any section."""
    found: dict[str, int] = {}
    ambiguous: set[str] = set()
    section = ""
    for number, line in enumerate(text.splitlines(), start=1):
        header = _HEADER.fullmatch(line)
        key = _KEY.fullmatch(line)
        if header is not None:
            name = section = header[1]
        elif key is not None:
            name = ".".join(part for part in (section, key[1], key[2]) if part)
        else:
            continue
        if name in found:
            ambiguous.add(name)
        found[name] = number
    return {name: number for name, number in found.items() if name not in ambiguous}
