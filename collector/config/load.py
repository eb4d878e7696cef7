"""From a TOML file and overrides to a Config, with every problem reported at once."""

from __future__ import annotations

import dataclasses
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from collector.config import places
from collector.config.errors import ConfigError, Problem
from collector.config.option import Value, convert, toml
from collector.config.rules import RULES
from collector.config.schema import OPTIONS, SECTIONS, Config
from collector.config.suggest import unknown_option, unknown_section

DEFAULT_PATH = Path("/etc/querytap/querytap.toml")
"""The file that is read where none is named and this one exists."""

_LONGEST_SHOWN_VALUE = 80
_OVERRIDE = "--set"


def default_path(path: Path = DEFAULT_PATH) -> Path | None:
    """*path* where it exists; None where the defaults alone apply."""
    try:
        found = path.exists()
    except PermissionError:
        found = True  # load() says that it cannot be read; to go on without it would hide what it says
    return path if found else None


def load(path: Path | None, overrides: Sequence[str] = ()) -> Config:
    """The configuration of the file *path* (None: defaults alone) with `section.name=value` *overrides* on top.

    Values of overrides are TOML; the last one of a name counts. Raises ConfigError with all problems of both.
    """
    gathered = _Gathered()
    if path is not None:
        _gather_file(path, gathered)
    for text in overrides:
        _gather_override(text, gathered)
    return _resolve(gathered)


def to_mapping(config: Config) -> dict[str, dict[str, object]]:
    """*config* as sections of plain values that JSON and TOML can carry."""
    return {
        section: {name: list(value) if isinstance(value, tuple) else value for name, value in options.items()}
        for section, options in dataclasses.asdict(config).items()
    }


def from_mapping(mapping: Mapping[str, object]) -> Config:
    """What `to_mapping` gave, as a Config again; what is absent has its default. Raises ConfigError."""
    gathered = _Gathered()
    _gather_tables(mapping, lambda _: "", gathered)
    return _resolve(gathered)


@dataclasses.dataclass(frozen=True, slots=True)
class _Setting:
    raw: object
    place: str


@dataclasses.dataclass(slots=True)
class _Gathered:
    settings: dict[str, _Setting] = dataclasses.field(default_factory=dict)
    problems: list[Problem] = dataclasses.field(default_factory=list)

    def refuse(self, key: str, text: str, place: str, value: str = "") -> None:
        self.problems.append(Problem(_legible(key), text, value, place))


def _gather_file(path: Path, gathered: _Gathered) -> None:
    try:
        text = path.read_bytes().decode()
        tables = tomllib.loads(text)
    except OSError as error:
        gathered.refuse("", f"cannot be read: {error.strerror}", str(path))
    except UnicodeDecodeError as error:
        gathered.refuse("", f"is not UTF-8 at byte {error.start}", str(path))
    except (ValueError, RecursionError) as error:  # TOMLDecodeError, a number or a nesting that Python refuses
        gathered.refuse("", f"is not TOML: {error}", str(path))
    else:
        lines = places.lines_of(text)
        _gather_tables(tables, lambda key: f"{path}:{lines[key]}" if key in lines else str(path), gathered)


def _gather_tables(tables: Mapping[str, object], place_of: Callable[[str], str], gathered: _Gathered) -> None:
    for section, table in tables.items():
        place = place_of(section)
        if section not in SECTIONS:
            gathered.refuse(section, unknown_section(section, is_table=isinstance(table, dict)), place)
        elif not isinstance(table, dict):
            gathered.refuse(section, f"must be a section, once: [{section}]", place, shown(table))
        else:
            for name, raw in table.items():
                key = f"{section}.{name}"
                gathered.settings[key] = _Setting(raw, place_of(key))


def _gather_override(text: str, gathered: _Gathered) -> None:
    key, equals, value = text.partition("=")
    key = key.strip()
    section, dot, name = key.partition(".")
    if not (equals and dot and section and name):
        gathered.refuse("", "must be section.name=value", f"{_OVERRIDE} {shown(text)}")
        return
    if section not in SECTIONS:
        gathered.refuse(key, unknown_section(section, is_table=True), _OVERRIDE)
        return
    try:
        parsed = tomllib.loads(f"value = {value}")
    except (ValueError, RecursionError):  # as for a file
        parsed = {}
    if list(parsed) != ["value"]:
        gathered.refuse(key, "is not a TOML value (a text needs its quotes)", _OVERRIDE, _legible(value))
        return
    gathered.settings[key] = _Setting(parsed["value"], _OVERRIDE)


def _resolve(gathered: _Gathered) -> Config:
    read = {key: _value_of(key, setting, gathered) for key, setting in gathered.settings.items()}
    values = {key: value for key, value in read.items() if value is not None}
    of_section: dict[str, dict[str, Any]] = {section: {} for section in SECTIONS}
    for key, value in values.items():
        option = OPTIONS[key]
        of_section[option.section][option.name] = value
    config = Config(**{section: owner(**of_section[section]) for section, owner in SECTIONS.items()})
    _check_rules(config, gathered, refused=gathered.settings.keys() - values.keys())
    if gathered.problems:
        raise ConfigError(gathered.problems, config)
    return config


def _value_of(key: str, setting: _Setting, gathered: _Gathered) -> Value | None:
    """The setting as a value of its option; None when it was refused."""
    option = OPTIONS.get(key)
    if option is None:
        gathered.refuse(key, unknown_option(key), setting.place)
        return None
    value = convert(option.kind, setting.raw)
    wrong = f"must be {option.kind.value}" if value is None else option.check.problem(value)
    if wrong is not None:
        gathered.refuse(key, wrong, setting.place, shown(setting.raw))
        return None
    return value


def _check_rules(config: Config, gathered: _Gathered, refused: Iterable[str]) -> None:
    """Rules between options; one about an option that was refused would only repeat that."""
    for rule in RULES:
        if rule.holds(config) or not set(rule.keys).isdisjoint(refused):
            continue
        key = next(key for key in rule.keys if key in gathered.settings)
        setting = gathered.settings[key]
        gathered.refuse(key, rule.text, setting.place, shown(setting.raw))


def shown(raw: object) -> str:
    """A value as TOML, for a message: on one line, bounded, and without what may be a secret in a URL."""
    return _legible(toml(raw))


def _legible(text: str) -> str:
    """*text* for a message: on one line, bounded, and without what may be a secret in a URL."""
    text = re.sub(r"(://)[^\"]*@", r"\1...@", text)
    text = re.sub(r"(://[^?\"]*\?)[^\"]*", r"\1...", text)
    text = "".join(sign if sign.isprintable() else " " for sign in text)
    return text if len(text) <= _LONGEST_SHOWN_VALUE else text[: _LONGEST_SHOWN_VALUE - 3] + "..."
