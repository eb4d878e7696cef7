"""Which statements are asked for. Pure."""

from __future__ import annotations

import datetime as dt
import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from collector.reading.shapes import shape_id
from workers.records import Statement, decode_sql
from workers.sql import tracecontext
from workers.sql.fingerprint import fingerprint

_NS: Final = 1_000_000_000
_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_RELATIVE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])")
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(ns|us|ms|s|m|h)?")
_DURATIONS: Final = {"ns": 1, "us": 1000, "ms": 1_000_000, "s": _NS, "m": 60 * _NS, "h": 3600 * _NS}
_MOMENT: Final = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?\s*([Zz]|[+-]\d\d:\d\d)?)?"
)


class SearchError(ValueError):
    """A search cannot be understood; the message says what is allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What a statement must be to be shown; what is None or empty asks for nothing. Times in ns since 1970."""

    since_ns: int | None = None
    until_ns: int | None = None
    user: str | None = None
    database: str | None = None
    client: Callable[[str], bool] | None = None
    text: str | None = None
    """Part of the SQL, of a bound value or of a query attribute's, in any case of letters."""
    regex: re.Pattern[str] | None = None
    """Found in the SQL."""
    trace: str | None = None
    """A traceparent, or the trace id in it."""
    commands: frozenset[str] = field(default_factory=frozenset)
    statuses: frozenset[str] = field(default_factory=frozenset)
    error_codes: frozenset[int] = field(default_factory=frozenset)
    min_latency_ns: int | None = None
    """To the first byte of the answer, at least."""
    shape: str | None = None
    """The id of the statement's shape."""

    def overlaps(self, first_ns: int, last_ns: int) -> bool:
        """Whether something between these times may be asked for."""
        return not (
            (self.since_ns is not None and last_ns < self.since_ns)
            or (self.until_ns is not None and first_ns > self.until_ns)
        )

    def matches(self, statement: Statement) -> bool:
        """Whether *statement* is asked for."""
        return (
            self.overlaps(statement.time_ns, statement.time_ns)
            and (not self.commands or statement.command in self.commands)
            and (not self.statuses or statement.status in self.statuses)
            and (self.user is None or statement.session.user == self.user)
            and (self.database is None or statement.database == self.database)
            and (self.client is None or self.client(statement.session.client))
            and (not self.error_codes or statement.error_code in self.error_codes)
            and (self.min_latency_ns is None or _at_least(statement.latency_ns, self.min_latency_ns))
            and (self.regex is None or self.regex.search(_sql(statement)) is not None)
            and (self.shape is None or self._is_of_shape(statement))
            and self.matches_values(statement)
        )

    def matches_values(self, statement: Statement) -> bool:
        """Whether what is asked for of the text together with the values beside it is there."""
        return (self.trace is None or self._is_of_trace(statement)) and (self.text is None or self._has_text(statement))

    def _is_of_shape(self, statement: Statement) -> bool:
        return statement.sql is not None and shape_id(fingerprint(statement.sql)) == self.shape

    def _is_of_trace(self, statement: Statement) -> bool:
        found = statement.traceparent
        return found is not None and self.trace in {found, tracecontext.trace_id(found)}

    def _has_text(self, statement: Statement) -> bool:
        wanted = (self.text or "").casefold()
        if wanted in _sql(statement).casefold():
            return True
        named = (value for _, value in statement.query_attributes or ())
        return any(wanted in _value(value).casefold() for value in (*statement.bound(), *named))


@dataclass(frozen=True, slots=True)
class Client:
    """A test of a client's address:port."""

    network: ipaddress.IPv4Network | ipaddress.IPv6Network
    port: str | None

    def __call__(self, client: str) -> bool:
        """Whether *client* is of this network, and has this port."""
        host, port = _endpoint(client)
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            return False
        return address in self.network and (self.port is None or port == self.port)


def parse_time(text: str, now_ns: int) -> int:
    """A moment in ns since 1970: RFC 3339 (without offset: UTC), a date, or a time before *now_ns* such as 10m."""
    relative = _RELATIVE.fullmatch(text.strip())
    if relative is not None:
        return now_ns - int(float(relative[1]) * _UNITS[relative[2]] * _NS)
    moment = _MOMENT.fullmatch(text.strip())
    if moment is not None:
        date, clock, seconds, fraction, offset = moment.groups()
        zone = "+00:00" if offset is None or offset in "Zz" else offset
        try:
            whole = dt.datetime.fromisoformat(f"{date}T{clock or '00:00'}:{seconds or '00'}{zone}")
        except ValueError as error:
            raise SearchError(f"{text!r}: {error}") from error
        return int(whole.timestamp()) * _NS + int((fraction or "0").ljust(9, "0"))
    raise SearchError(f"{text!r} is no time: write 2026-01-31T03:12:00Z, 2026-01-31, or 10m for ten minutes ago")


def parse_duration(text: str) -> int:
    """A duration in ns: 250ms, 1.5s, 800us; a number alone is of seconds."""
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        raise SearchError(f"{text!r} is no duration: write 250ms, 1.5s or 800us")
    return int(float(found[1]) * _DURATIONS[found[2] or "s"])


def parse_client(text: str) -> Client:
    """A test of a client's address:port, from an address, an address with port, or a network such as 10.0.0.0/8."""
    host, port = _endpoint(text)
    try:
        network = ipaddress.ip_network(host, strict=False)
    except ValueError as error:
        raise SearchError(f"{text!r} is no address, address:port or network") from error

    return Client(network, port)


def parse_regex(text: str) -> re.Pattern[str]:
    """A regular expression as Python's re module has them; a dot matches a line end too."""
    try:
        return re.compile(text, re.DOTALL)
    except re.error as error:
        raise SearchError(f"{text!r} is no regular expression: {error}") from error


def parse_trace(text: str) -> str:
    """A traceparent, or a trace id alone, in any case of letters."""
    found = tracecontext.parse(text.lower()) or tracecontext.trace_id(text.lower())
    if found is None:
        raise SearchError(
            f"{text!r} is no traceparent and no trace id: write 00-<32 digits>-<16 digits>-<2 digits>, "
            "or the 32 alone, hexadecimal and not all zero"
        )
    return found


def _endpoint(text: str) -> tuple[str, str | None]:
    """Host and port of "10.0.0.1:4711", "[::1]:4711", or an address alone."""
    if text.startswith("["):
        host, _, port = text[1:].partition("]")
        return host, port.removeprefix(":") or None
    if text.count(":") == 1:
        host, _, port = text.partition(":")
        return host, port
    return text, None


def _at_least(latency_ns: int | None, least_ns: int) -> bool:
    return latency_ns is not None and latency_ns >= least_ns


def _sql(statement: Statement) -> str:
    return "" if statement.sql is None else decode_sql(statement)[0]


def _value(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
