"""The columns of a block, read back one at a time: who looks for a few rows need not make records of all.

The form is specified in docs/block-format.md; blocks.py writes it, records.py makes statements of it. A block may come
from an archive that anyone could have written: everything is checked, nothing is believed.
"""

import functools
import ipaddress
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, TypeVar

import msgpack

from workers.blocks import FORMAT, QUERY_HEADER
from workers.mysql.errors import StreamViolation
from workers.mysql.handshake import pairs

MOST_ROWS: Final = 1 << 18
"""No block has more; a body that says so is not one of ours."""
_LATEST_NS: Final = 1 << 63
_LARGEST: Final = (1 << 64) - 1
_ENDS: Final = struct.Struct("<QQHQQH")
_MOST_KEYS: Final = 256
_PLANES: Final = 8
_T = TypeVar("_T")
_LITTLE: Final = struct.pack("=H", 1) == struct.pack("<H", 1)


class BlockError(ValueError):
    """A block's body is not what a worker writes; says what is wrong with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """The connection a statement came on. What is not known is None."""

    client: str
    """``10.0.0.1:4711`` or ``[::1]:4711``."""
    server: str
    connection_id: int | None = None
    server_version: str | None = None
    user: str | None = None
    program: str | None = None
    connection_attributes: dict[str, str]
    tls: bool = False
    compressed: bool = False
    from_start: bool = False


class Pieces:
    """A column of bytes, cut into the pieces of its rows."""

    def __init__(self, name: str, data: bytes, sizes: Iterable[int]) -> None:
        self.data = data
        self._ends = [0, *accumulate(sizes)]
        if self._ends[-1] > len(data):
            raise BlockError(f"column {name} ends at {len(data)}, its rows want it up to {self._ends[-1]}")

    def __getitem__(self, row: int) -> bytes:
        return self.data[self._ends[row] : self._ends[row + 1]]


class Columns:
    """The parts of a body that is not empty, each checked when it is asked for. All methods raise BlockError."""

    def __init__(self, body: bytes) -> None:
        parts = _unpack(body)
        if parts.get("format") != FORMAT:
            raise BlockError(f"block format {parts.get('format')!r}, this reader knows {FORMAT}")
        self.rows = _natural(parts, "rows")
        if self.rows > MOST_ROWS:
            raise BlockError(f"a block of {self.rows} rows, at most {MOST_ROWS} can be")
        self._base_ns = _natural(parts, "base_ns")
        self._planes = _part(parts, "columns", dict)
        self._bytes = {name: _part(parts, name, bytes) for name in ("sql", "parameters", "error")}
        self._bytes["query_attributes"] = (
            _part(parts, "query_attributes", bytes) if "query_attributes" in parts else b""
        )
        self._strings: list[bytes] = _list_of_bytes(parts, "strings")
        self._packed_sessions = _list_of_bytes(parts, "sessions")
        self._numbers: dict[str, Sequence[int]] = {}

    def numbers(self, name: str) -> Sequence[int]:
        """The numbers of a column; zeros where it is left out."""
        found = self._numbers.get(name)
        if found is None:
            found = self._numbers[name] = self._unplaned(name)
        return found

    @functools.cached_property
    def sessions(self) -> list[Session]:
        """The connections that the column `session` numbers."""
        return [_session(packed) for packed in self._packed_sessions]

    @functools.cached_property
    def session_numbers(self) -> Sequence[int]:
        """The column `session`, each number in it one of a session."""
        numbers = self.numbers("session")
        if self.rows and max(numbers) >= len(self._packed_sessions):
            raise BlockError(f"session {max(numbers)} of {len(self._packed_sessions)}")
        return numbers

    @functools.cached_property
    def times(self) -> list[int]:
        """When each row's last byte was captured, ns since 1970."""
        steps = self.numbers("time")
        signed = (step >> 1 if step & 1 == 0 else -(step >> 1) - 1 for step in steps)
        found = list(accumulate(signed, initial=self._base_ns))[1:]
        if found and not (min(found) >= 0 and max(found) < _LATEST_NS):
            raise BlockError("a time before 1970 or after 2262")
        return found

    def pieces(self, name: str) -> Pieces:
        """A column of bytes: parameters, query_attributes or error."""
        return Pieces(name, self._bytes[name], self.numbers(f"{name}_size"))

    @functools.cached_property
    def own_texts(self) -> Pieces:
        """The texts that rows have for themselves, empty for others."""
        sizes = (size - 1 if size else 0 for size in self.numbers("sql_size"))
        return Pieces("sql", self._bytes["sql"], sizes)

    def text(self, row: int) -> bytes | None:
        """The statement's text, its own or one that rows share; None where there is none."""
        if self.numbers("sql_size")[row]:
            return self.own_texts[row]
        return self.string(self.numbers("sql_string")[row])

    def bytes_in(self, row: int) -> int:
        """Bytes of the command: where they are left out, those of its text and what a COM_QUERY has beside it."""
        written, size = self.numbers("bytes_in")[row], self.numbers("sql_size")[row]
        if written or not size:
            return written
        return min(size - 1 + self.numbers("sql_cut")[row] + QUERY_HEADER, _LARGEST)

    def string(self, number: int) -> bytes | None:
        """The block's string of that number; None for 0."""
        if number > len(self._strings):
            raise BlockError(f"string {number} of {len(self._strings)}")
        return self._strings[number - 1] if number else None

    def strings(self, name: str) -> dict[int, bytes | None]:
        """The strings that a column refers to, by their numbers."""
        return {number: self.string(number) for number in set(self.numbers(name))}

    def rows_where(self, name: str, wanted: Callable[[int], bool], rows: Iterable[int]) -> list[int]:
        """Those of *rows* whose number in a column is *wanted*, which is asked once for each that occurs."""
        numbers = self.numbers(name)
        accepted = {number for number in set(numbers) if wanted(number)}
        return [row for row in rows if numbers[row] in accepted]

    def _unplaned(self, name: str) -> Sequence[int]:
        planes: object = self._planes.get(name, b"")
        most = _PLANES * self.rows
        if not isinstance(planes, bytes) or len(planes) > most or (self.rows and len(planes) % self.rows):
            raise BlockError(f"column {name} does not have a whole number of bytes a row")
        if not planes:
            return [0] * self.rows
        if len(planes) == self.rows:
            return planes  # bytes are a sequence of numbers already
        slots = bytearray(_PLANES * self.rows)
        for plane in range(len(planes) // self.rows):
            slots[plane::_PLANES] = planes[plane * self.rows : (plane + 1) * self.rows]
        return list(memoryview(bytes(slots)).cast("Q")) if _LITTLE else list(struct.unpack(f"<{self.rows}Q", slots))


def decode(text: bytes, codec: str) -> tuple[str, bool]:
    """*text* by a codec, and whether all of it decoded; what does not stands as U+FFFD."""
    try:
        return text.decode(codec), True
    except UnicodeDecodeError:
        return text.decode(codec, "replace"), False


def _unpack(body: bytes) -> dict[str, object]:
    try:
        parts = msgpack.unpackb(
            body, raw=False, strict_map_key=True, max_array_len=MOST_ROWS, max_map_len=_MOST_KEYS, max_ext_len=0
        )
    except (ValueError, TypeError, RecursionError, msgpack.UnpackException) as error:
        raise BlockError(f"not a block: {error}") from error
    if not isinstance(parts, dict):
        raise BlockError("not a block: no map")
    return parts


def _natural(parts: dict[str, object], name: str) -> int:
    value = parts.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise BlockError(f"{name} is {value!r}, not a number from 0")
    return value


def _part(parts: dict[str, object], name: str, kind: type[_T]) -> _T:
    value = parts.get(name)
    if not isinstance(value, kind):
        raise BlockError(f"{name} is not {kind.__name__}")
    return value


def _list_of_bytes(parts: dict[str, object], name: str) -> list[bytes]:
    found = _part(parts, name, list)
    if not all(isinstance(item, bytes) for item in found):
        raise BlockError(f"{name} holds something else than bytes")
    return found


def _address(high: int, low: int, port: int) -> str:
    address = ipaddress.IPv6Address(high << 64 | low)
    if address.ipv4_mapped is not None:
        return f"{address.ipv4_mapped}:{port}"
    return f"[{address}]:{port}"


def _text(parts: dict[str, object], name: str) -> str | None:
    value = parts.get(name)
    if value is None:
        return None
    if not isinstance(value, bytes):
        raise BlockError(f"{name} of a session is not bytes")
    return decode(value, "utf_8")[0]


@functools.lru_cache(maxsize=4096)  # blocks of a connection repeat its session
def _session(packed: bytes) -> Session:
    parts = _unpack(packed)
    ends = _part(parts, "ends", bytes)
    if len(ends) != _ENDS.size:
        raise BlockError(f"a session's ends take {len(ends)} bytes, not {_ENDS.size}")
    client_high, client_low, client_port, server_high, server_low, server_port = _ENDS.unpack(ends)
    try:
        attributes = pairs(_part(parts, "attributes", bytes)) if "attributes" in parts else {}
    except StreamViolation:
        attributes = {}  # the client's own fault: what it sent is no list of pairs
    return Session(
        client=_address(client_high, client_low, client_port),
        server=_address(server_high, server_low, server_port),
        connection_id=_natural(parts, "connection_id") if "connection_id" in parts else None,
        server_version=_text(parts, "server_version"),
        user=_text(parts, "user"),
        program=attributes.get("program_name"),
        connection_attributes=attributes,
        tls=parts.get("tls") is True,
        compressed=parts.get("compressed") is True,
        from_start=parts.get("from_start") is True,
    )
