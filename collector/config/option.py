"""How an option is declared: default, meaning, unit and bounds, kept in the dataclass field itself.

Knows no option and reads no file: `schema.py` declares them, `load.py` and `reference.py` read the declarations.
"""

from __future__ import annotations

import dataclasses
import enum
import ipaddress
import json
import math
import re
import typing
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, Literal, TypeVar
from urllib.parse import urlsplit

Value = int | float | str | tuple[int, ...] | tuple[str, ...]
"""What an option can hold once it is resolved."""

Applies = Literal["reload", "restart"]
"""When a change of an option takes effect: when a running querytap reads its file again, or when it starts anew."""
IN_WORDS: Final[dict[Applies, str]] = {
    "reload": "on a reload (SIGHUP)",
    "restart": "after a restart",
}

_T = TypeVar("_T")
_METADATA_KEY = "querytap"
_LONGEST_SOCKET_PATH_BYTES: Final = 107  # sun_path with its end (unix(7))


class Kind(enum.Enum):
    """The type of an option's value, in the words a message uses for it."""

    INTEGER = "a whole number"
    NUMBER = "a number"
    TEXT = "a text in quotes"
    INTEGERS = "a list of whole numbers"
    TEXTS = "a list of texts in quotes"


_KIND_OF_TYPE: dict[object, Kind] = {
    int: Kind.INTEGER,
    float: Kind.NUMBER,
    str: Kind.TEXT,
    tuple[int, ...]: Kind.INTEGERS,
    tuple[str, ...]: Kind.TEXTS,
}


@dataclasses.dataclass(frozen=True, slots=True)
class Check:
    """A rule for one value: what is allowed, in words, and what is wrong with a value (None: nothing)."""

    bounds: str
    problem: Callable[[Any], str | None]


@dataclasses.dataclass(frozen=True, slots=True)
class Option:
    """One declared option, as the loader and the reference see it."""

    section: str
    name: str
    kind: Kind
    default: Value
    meaning: str
    unit: str
    check: Check
    applies: Applies
    example: Value | None

    @property
    def key(self) -> str:
        """`section.name`, as messages and `--set` spell it."""
        return f"{self.section}.{self.name}"


@dataclasses.dataclass(frozen=True, slots=True)
class _Declaration:
    meaning: str
    unit: str
    check: Check
    applies: Applies
    example: Value | None


def option(
    default: _T, meaning: str, *, check: Check, applies: Applies, unit: str = "", example: _T | None = None
) -> _T:
    """Declare a dataclass field as an option.

    *meaning* opens with one sentence that can stand alone. *example* is given where the default shows no shape. One
    that *applies* on a reload is in the table of a process that takes it (LIVE).
    """
    declaration = _Declaration(meaning, unit, check, applies, typing.cast("Value | None", example))
    return dataclasses.field(default=default, metadata={_METADATA_KEY: declaration})


def options_of(section: str, owner: type) -> tuple[Option, ...]:
    """The options declared in the dataclass *owner*, in the order of declaration."""
    types = typing.get_type_hints(owner)
    found = []
    for field in dataclasses.fields(owner):
        declared: _Declaration = field.metadata[_METADATA_KEY]
        kind = _KIND_OF_TYPE[types[field.name]]
        found.append(
            Option(
                section=section,
                name=field.name,
                kind=kind,
                default=typing.cast("Value", field.default),
                meaning=declared.meaning,
                unit=declared.unit,
                check=declared.check,
                applies=declared.applies,
                example=declared.example,
            )
        )
    return tuple(found)


def convert(kind: Kind, raw: object) -> Value | None:
    """*raw* as TOML or JSON gave it, as a value of *kind*; None when it is of another type."""
    if kind is Kind.INTEGER:
        return raw if _is_integer(raw) else None
    if kind is Kind.NUMBER:
        return _as_float(raw) if isinstance(raw, float) or _is_integer(raw) else None
    if kind is Kind.TEXT:
        return raw if isinstance(raw, str) else None
    if not isinstance(raw, list | tuple):
        return None
    if kind is Kind.INTEGERS:
        return tuple(raw) if all(_is_integer(item) for item in raw) else None
    return tuple(raw) if all(isinstance(item, str) for item in raw) else None


def _as_float(raw: float) -> float:
    try:
        return float(raw)
    except OverflowError:
        return math.inf  # beyond every bound, and refused for it


def _is_integer(raw: object) -> typing.TypeGuard[int]:
    return isinstance(raw, int) and not isinstance(raw, bool)


def toml(value: object) -> str:
    """*value* as TOML has it on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {toml(item)}" for name, item in value.items()) + "}"
    if isinstance(value, int) and value.bit_length() > 64:
        return hex(value)  # Python refuses to write very long ones in decimal
    return str(value)


def between(low: float, high: float) -> Check:
    """A number from *low* to *high*, both allowed."""

    def problem(value: float) -> str | None:
        return None if low <= value <= high else f"must be between {low} and {high}"

    return Check(f"{low} to {high}", problem)


def power_of_two(low: int, high: int) -> Check:
    """A power of two from *low* to *high*, which are such themselves."""

    def problem(value: int) -> str | None:
        return None if low <= value <= high and value & value - 1 == 0 else f"must be a power of two, {low} to {high}"

    return Check(f"a power of two, {low} to {high}", problem)


def one_of(*allowed: str, later: Sequence[str] = ()) -> Check:
    """One of the words *allowed*; those in *later* are refused as not available yet."""
    listed = " or ".join(toml(word) for word in allowed)

    def problem(value: str) -> str | None:
        if value in allowed:
            return None
        return f"not available yet; must be {listed}" if value in later else f"must be {listed}"

    return Check(listed, problem)


def each(check: Check, *, most: int | None = None) -> Check:
    """A list, perhaps empty, without repetition, of *most* values at most that each pass *check*."""

    def problem(values: Sequence[object]) -> str | None:
        if most is not None and len(values) > most:
            return f"has {len(values)} entries, and there can be {most}"
        for index, value in enumerate(values):
            found = check.problem(value)
            if found is not None:
                return f"{toml(value)} {found}"
            if value in values[:index]:
                return f"{toml(value)} is there twice"
        return None

    limit = "" if most is None else f", at most {most} of them"
    return Check(f"each {check.bounds}{limit}", problem)


def absolute_path(longest_bytes: int = 4096) -> Check:
    """A path from the root on, of at most *longest_bytes* bytes in UTF-8."""

    def problem(value: str) -> str | None:
        if not value.startswith("/") or not value.isprintable():
            return "must be an absolute path"
        if len(value.encode()) > longest_bytes:
            return f"must be at most {longest_bytes} bytes long"
        return None

    limit = "" if longest_bytes == 4096 else f", at most {longest_bytes} bytes"
    return Check(f"an absolute path{limit}", problem)


def interface_name() -> Check:
    """A network interface's name, by the kernel's rule (dev_valid_name in net/core/dev.c)."""

    def problem(value: str) -> str | None:
        if value == "any":
            return "is no interface; leave the list empty for all"
        if re.fullmatch(r"[^\s/:]{1,15}", value) is None or not value.isprintable() or value in (".", ".."):
            return "is no interface name"
        return None

    return Check("of 1 to 15 characters, without space, / and :", problem)


def namespace() -> Check:
    """A network namespace: by path, by the number of a process, or "own"."""
    path = absolute_path()

    def problem(value: str) -> str | None:
        if value == "own" or re.fullmatch(r"[1-9]\d{0,9}", value, re.ASCII):
            return None
        return None if path.problem(value) is None else 'must be an absolute path, a process number, or "own"'

    return Check('an absolute path, a process number, or "own"', problem)


def network() -> Check:
    """An IP address, or a network as address/prefix, its other bits zero."""

    def problem(value: str) -> str | None:
        try:
            ipaddress.ip_network(value)
        except ValueError as error:
            return f"must be an address or a network: {error}"
        return None

    return Check("an IP address or a network as address/prefix", problem)


def name_in(what: str, names: Collection[str]) -> Check:
    """One of *names*, of which there are too many to list each time; *what* says which they are."""

    def problem(value: str) -> str | None:
        return None if value in names else f"is no {what}; there are {', '.join(sorted(names))}"

    return Check(f"a {what}", problem)


def wire_name() -> Check:
    """The name of a user or a database as clients send it."""

    def problem(value: str) -> str | None:
        return None if value and value.isprintable() else "must be a name"

    return Check("a name", problem)


def user_name() -> Check:
    """A name as in passwd(5), or empty."""

    def problem(value: str) -> str | None:
        if value and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.-]{0,30}\$?", value) is None:
            return "must be a user's name"
        return None

    return Check("empty, or a user name", problem)


def server_url() -> Check:
    """The URL of a server, perhaps with a path there; it names no user."""

    def problem(value: str) -> str | None:
        if re.fullmatch(r"https?://[A-Za-z0-9.:\[\]_-]+(/[A-Za-z0-9._~-]+)*/?", value, re.ASCII) is None:
            return "must be https:// and a host, perhaps with a port and a path"
        return None

    return Check("https:// and a host, perhaps with a port and a path", problem)


def listen_address() -> Check:
    """An IP address and a port; an address with colons is in brackets."""

    def problem(value: str) -> str | None:
        try:
            split_address(value)
        except ValueError:
            return "must be an IP address and a port, such as 127.0.0.1:9893 or [::1]:9893"
        return None

    return Check("an IP address and a port", problem)


def split_address(text: str) -> tuple[str, int]:
    """The IP address and the port of `address:port`. Raises ValueError."""
    address, colon, port = text.rpartition(":")
    bare = address[1:-1] if address.startswith("[") and address.endswith("]") else address
    if not colon or (":" in bare) != (bare != address) or re.fullmatch(r"\d{1,5}", port, re.ASCII) is None:
        raise ValueError(text)
    if not 1 <= int(port) <= 65535:
        raise ValueError(text)
    return str(ipaddress.ip_address(bare)), int(port)


def server_address() -> Check:
    """A database server: a host and a port, or the path of a Unix socket."""

    def problem(value: str) -> str | None:
        try:
            split_server(value)
        except ValueError:
            return "must be host:port, such as 127.0.0.1:3306 or [::1]:3306, or the path of a Unix socket"
        return None

    return Check("host:port or the path of a Unix socket", problem)


def split_server(text: str) -> str | tuple[str, int]:
    """The path of a Unix socket, or host and port. Raises ValueError."""
    if text.startswith("/"):
        if not text.isprintable() or len(text.encode()) > _LONGEST_SOCKET_PATH_BYTES:
            raise ValueError(text)
        return text
    host, _, port = text.rpartition(":")
    if re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,252})", host, re.ASCII) and re.fullmatch(r"\d{1,5}", port, re.ASCII):
        if 1 <= int(port) <= 65535:
            return host, int(port)
        raise ValueError(text)
    return split_address(text)


def region_name() -> Check:
    """A region of a store, such as eu-central-1."""

    def problem(value: str) -> str | None:
        return None if re.fullmatch(r"[A-Za-z0-9_-]{1,64}", value, re.ASCII) else "must be a region's name"

    return Check("a region's name", problem)


def empty_or(check: Check) -> Check:
    """Empty, or what passes *check*."""
    return Check(f"empty, or {check.bounds}", lambda value: check.problem(value) if value else None)


def store_url(*schemes: str) -> Check:
    """Empty, an absolute path, or a URL of one of *schemes* that carries no secret."""
    listed = ", ".join(f"{scheme}://" for scheme in schemes)

    def problem(value: str) -> str | None:
        if not value.isprintable():
            return "must have printable characters alone"
        if not value or value.startswith("/"):
            return None
        scheme, found, rest = value.partition("://")
        if not found or scheme not in schemes:
            return f"must be an absolute path or begin with one of {listed}"
        if "@" in rest or "?" in rest:
            return "must not carry a password, key or query"
        parts = urlsplit(value)
        if scheme == "file" and (parts.netloc or len(parts.path) < 2):
            return "must have three slashes and a path: file:///srv/archive"
        if scheme != "file" and not parts.netloc:
            return f"must name a bucket: {scheme}://bucket/folder"
        return None

    return Check(f"empty, an absolute path, or a URL with {listed}", problem)
