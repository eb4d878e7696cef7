"""The answer to one command, from its first packet to its last: page_protocol_command_phase. No I/O, no clock.

Told by the packets' own shapes, so that it can be read on a connection whose login was not seen: an EOF has at most 5
bytes, an OK that stands for one at least 7 (CLIENT_DEPRECATE_EOF), and no row begins as they do. Rows are stepped over
by their headers.
"""

from typing import Final

import cython

from workers.mysql import constants
from workers.mysql.answers import read_error
from workers.mysql.beginnings import (
    COLUMNS,
    FILE,
    INTERIM,
    MORE,
    NOTHING,
    PREPARED,
    ROWS,
    STREAM,
    Beginning,
    is_progress,
    read_end,
)
from workers.mysql.events import RESULT, UNKNOWN, Exchange
from workers.mysql.framing import Allowance

if not cython.compiled:
    from workers.wire import u16, u24

COMPILED: Final[bool] = cython.compiled

_NOTHING = cython.declare(cython.int, NOTHING)
_INTERIM = cython.declare(cython.int, INTERIM)
_FILE = cython.declare(cython.int, FILE)
_MORE = cython.declare(cython.int, MORE)
_COLUMNS = cython.declare(cython.int, COLUMNS)
_ROWS = cython.declare(cython.int, ROWS)
_PREPARED = cython.declare(cython.int, PREPARED)
_STREAM = cython.declare(cython.int, STREAM)

# What the next packet is.
_FIRST = cython.declare(cython.int, 0)
_DEFINITION = cython.declare(cython.int, 1)
_BEHIND_DEFINITIONS = cython.declare(cython.int, 2)
_ROW = cython.declare(cython.int, 3)

# Whether definitions end with an EOF; where the login was not seen it is learnt from the first result.
_FORM_UNKNOWN = cython.declare(cython.int, 0)
_WITH_EOF = cython.declare(cython.int, 1)
_WITHOUT_EOF = cython.declare(cython.int, 2)
_DEPRECATE_EOF = cython.declare(cython.ulonglong, constants.CLIENT_DEPRECATE_EOF)

_EOF_HEADER = cython.declare(cython.uint, constants.EOF_HEADER)
_ERR_HEADER = cython.declare(cython.uint, constants.ERR_HEADER)
_CURSOR_EXISTS = cython.declare(cython.uint, constants.SERVER_STATUS_CURSOR_EXISTS)
_STATUS_UNKNOWN = cython.declare(cython.uint, UNKNOWN)
_STATUS_RESULT = cython.declare(cython.uint, RESULT)

_MAX_PACKET = cython.declare(cython.uint, constants.MAX_PACKET)
_HEADER_SIZE = cython.declare(cython.Py_ssize_t, 4)
_LONGEST_EOF = cython.declare(cython.longlong, 5)
_KEEP_LIMIT = cython.declare(cython.Py_ssize_t, 2048)
"""Of an OK or an error that comes in several segments: nothing that is read lies behind it."""


@cython.final
@cython.cclass
class Answers:
    """Reads the answers of one connection, one at a time; what they say goes into the exchange they answer.

    Promises, each pinned by a property test: no bytes make take() raise; cutting them differently never changes what it
    tells; what it keeps is bounded, and charged to the allowance.
    ``exchange``: whose answer is being read; None between answers. ``sequence``: the sequence id its next packet must
    have; who reads the client's direction sets it anew behind a file. ``done``: the answer is complete; ``broken``:
    what came is no part of it; neither takes more until the next begin(). ``wants_file``: the server waits for a file.
    ``streaming``: what follows is replication, and no answer. ``strict``: sequence ids are to be checked; in compressed
    frames servers let them jump to the frames'.
    """

    exchange: Exchange | None
    sequence: cython.uint
    done: cython.bint
    broken: cython.bint
    wants_file: cython.bint
    streaming: cython.bint
    strict: cython.bint
    _allowance: Allowance
    _beginning: Beginning
    _form: cython.int
    _next: cython.int
    _definitions: cython.longlong
    _columns: cython.longlong
    _prepared: cython.bint
    _rows: cython.longlong
    _left: cython.longlong
    _length: cython.longlong
    _fresh: cython.bint
    _continued: cython.bint
    _keeping: cython.bint
    _cut: cython.bint
    _header: bytes
    _kept: list[bytes]
    _kept_bytes: cython.Py_ssize_t

    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance
        self._beginning = Beginning()
        self._form = _FORM_UNKNOWN
        self._kept = []
        self._kept_bytes = 0
        self.exchange = None
        self.sequence = 1
        self.streaming = False
        self.strict = True
        self._clear()

    @cython.ccall
    @cython.exceptval(-1)
    def learn(self, capabilities: cython.ulonglong) -> cython.int:
        """The login was seen: *capabilities* are those that both sides have, 0 where they are not known."""
        if capabilities == 0:
            self._form = _FORM_UNKNOWN
        elif capabilities & _DEPRECATE_EOF:
            self._form = _WITHOUT_EOF
        else:
            self._form = _WITH_EOF
        return 0

    @cython.ccall
    @cython.exceptval(-1)
    def begin(self, exchange: Exchange, sequence: cython.uint) -> cython.int:
        """The next bytes answer *exchange*; their first packet has that sequence id."""
        self._clear()
        self.streaming = False
        self.exchange = exchange
        self.sequence = sequence
        return 0

    @cython.ccall
    @cython.exceptval(-1)
    def end(self) -> cython.int:
        """Of this answer no more is read, complete or not."""
        self._clear()
        self.exchange = None
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _clear(self) -> cython.int:
        self.done = self.broken = self.wants_file = False
        self._next = _FIRST
        self._definitions = self._columns = 0
        self._prepared = False
        self._rows = -1
        self._left = self._length = 0
        self._fresh = self._continued = False
        self._header = b""
        self._forget()
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _forget(self) -> cython.int:
        """Let go of what is kept of a packet."""
        self._keeping = self._cut = False
        self._allowance.used -= self._kept_bytes
        self._kept_bytes = 0
        if self._kept:
            self._kept = []
        return 0

    # --- bytes

    @cython.ccall
    @cython.exceptval(-1)
    def take(
        self, data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t, time_ns: cython.longlong
    ) -> cython.Py_ssize_t:
        """Take the answer's next in-order bytes from ``data[at:end]``; where to go on, *end* unless it is over."""
        exchange: Exchange | None = self.exchange
        begin: cython.Py_ssize_t = at
        if exchange is None:
            return at
        while at < end and not self.done and not self.broken:
            if exchange.latency_ns < 0:
                exchange.latency_ns = time_ns - exchange.time_ns if time_ns > exchange.time_ns else 0
            if self._left:
                at = self._more(data, at, end)
                continue
            if (self._next == _ROW or self._next == _DEFINITION) and not self._header and not self._continued:
                at = self._step_over(data, at, end)
            if at < end and not self.done:
                at = self._packet(data, at, end)
        exchange.bytes_out += at - begin
        if self.done:
            exchange.duration_ns = time_ns - exchange.time_ns if time_ns > exchange.time_ns else 0
            exchange.rows = self._rows
        return at

    @cython.cfunc
    @cython.exceptval(-1)
    def _step_over(self, data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Step over the rows or definitions that are whole in ``data[at:end]``, up to what is none: the hot path."""
        sequence: cython.uint = self.sequence
        size: cython.Py_ssize_t
        count: cython.longlong = 0
        most: cython.longlong = self._definitions if self._next == _DEFINITION else end
        while count < most and end - at > _HEADER_SIZE:
            size = u24(data, at, end)
            if size > end - at - _HEADER_SIZE or size == 0 or size == _MAX_PACKET:
                break
            if data[at + 3] != sequence or data[at + 4] >= _EOF_HEADER:
                break
            sequence = (sequence + 1) & 0xFF
            at += _HEADER_SIZE + size
            count += 1
        self.sequence = sequence
        if self._next == _ROW:
            self._rows += count
        elif count:
            self._defined(count)
        return at

    @cython.cfunc
    @cython.exceptval(-1)
    def _packet(self, data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Take the packet that begins at *at*; its header alone, or what is here of it, where it is not whole."""
        size: cython.Py_ssize_t
        if not self._header and end - at >= _HEADER_SIZE:
            size = u24(data, at, end)
            at += _HEADER_SIZE
            if not self._in_turn(data[at - 1]):
                return at
            if size <= end - at and size != _MAX_PACKET and not self._continued:
                self._payload(data, at, at + size, size)
                return at + size
            self._begin_packet(size)
            return at
        need: cython.Py_ssize_t = _HEADER_SIZE - len(self._header)
        piece: cython.Py_ssize_t = need if end - at >= need else end - at
        header: bytes = self._header + data[at : at + piece]
        if len(header) < _HEADER_SIZE:
            self._header = header
            return end
        self._header = b""
        if self._in_turn(header[3]):
            self._begin_packet(u24(header, 0, _HEADER_SIZE))
        return at + piece

    @cython.cfunc
    @cython.exceptval(-1)
    def _in_turn(self, sequence: cython.uint) -> cython.bint:
        if sequence != self.sequence and self.strict:
            self.broken = True
            return False
        self.sequence = (sequence + 1) & 0xFF
        return True

    @cython.cfunc
    @cython.exceptval(-1)
    def _begin_packet(self, size: cython.longlong) -> cython.int:
        """A header was read: *size* bytes follow, of a new payload or of one that one packet could not hold."""
        if self._continued:
            self._length += size
        else:
            self._length = size
            self._fresh = True
            self._cut = False
        self._left = size
        self._continued = size == _MAX_PACKET
        if size == 0:
            self._end_packet()
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _more(self, data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Take bytes of the packet that is not complete; keep those that will be read."""
        piece: cython.Py_ssize_t = end - at
        if piece > self._left:
            piece = cython.cast(cython.Py_ssize_t, self._left)
        if self._fresh:
            self._fresh = False
            self._keeping = self._next == _FIRST or (data[at] >= _EOF_HEADER and not self._continued)
        if self._keeping and not self._cut:
            self._keep(data, at, piece)
        self._left -= piece
        if self._left == 0:
            self._end_packet()
        return at + piece

    @cython.cfunc
    @cython.exceptval(-1)
    def _keep(self, data: bytes, at: cython.Py_ssize_t, piece: cython.Py_ssize_t) -> cython.int:
        room: cython.Py_ssize_t = _KEEP_LIMIT - self._kept_bytes
        if room > piece:
            room = piece
        if room <= 0 or self._allowance.used + room > self._allowance.limit:
            self._cut = True
            return 0
        self._kept.append(data[at : at + room])
        self._kept_bytes += room
        self._allowance.used += room
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _end_packet(self) -> cython.int:
        if self._continued:
            return 0
        self._fresh = False
        if not self._keeping:
            if self._next == _ROW and self._length:  # the usual case
                self._rows += 1
            else:
                self._payload(b"", 0, 0, self._length)
            return 0
        kept: bytes = b"".join(self._kept)
        self._forget()
        self._payload(kept, 0, len(kept), self._length)
        return 0

    @cython.ccall
    @cython.exceptval(-1)
    def gap(self, missing: cython.longlong) -> cython.bint:
        """*missing* bytes of the answer never came. True where they lie inside one packet, so that its end is known."""
        exchange: Exchange | None = self.exchange
        if exchange is None or self._left == 0 or missing > self._left or self._fresh:
            return False
        exchange.bytes_out += missing
        self._cut = True
        self._left -= missing
        if self._left == 0:
            self._end_packet()
            if self.done:
                exchange.rows = self._rows
        return not self.broken

    # --- payloads

    @cython.cfunc
    @cython.exceptval(-1)
    def _payload(
        self, data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t, length: cython.longlong
    ) -> cython.int:
        """A payload of *length* bytes is over; ``data[at:end]`` is what is there of it, nothing where it is a row."""
        exchange: Exchange | None = self.exchange
        first: cython.uint = data[at] if end > at else 0
        if exchange is None or length == 0:
            self.broken = True
            return 0
        try:
            if self._next == _FIRST:
                self._begin_result(exchange, data, at, end, length)
            elif first == _ERR_HEADER:
                if not is_progress(data, at, end):
                    read_error(exchange, data, at, end)
                    self.done = True
            elif first == _EOF_HEADER and length < _MAX_PACKET:
                self._ending(exchange, data, at, end, length)
            elif self._next == _DEFINITION:
                self._defined(1)
            else:
                if self._next == _BEHIND_DEFINITIONS:
                    self._form = _WITHOUT_EOF
                    self._next = _ROW
                self._rows += 1
        except IndexError:
            self.broken = True
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _begin_result(
        self,
        exchange: Exchange,
        data: bytes,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        length: cython.longlong,
    ) -> cython.int:
        """The first packet of the answer, or of the next result in it: what comes behind it."""
        beginning: Beginning = self._beginning
        kind: cython.int = beginning.read(exchange, data, at, end, length)
        self.wants_file = kind == _FILE
        self._definitions = beginning.definitions
        self._columns = beginning.columns
        if kind == _NOTHING:
            self.broken = True
        elif kind == _INTERIM or kind == _FILE:
            if exchange.status == _STATUS_UNKNOWN:
                exchange.latency_ns = -1  # its answer is still to come
        elif kind == _COLUMNS or kind == _ROWS:
            if self._rows < 0:
                self._rows = 0
            self._rows += kind == _ROWS
            self._next = _ROW if kind == _ROWS else _DEFINITION if self._definitions else _BEHIND_DEFINITIONS
        elif kind == _PREPARED:
            self._prepared = True
            if self._definitions == 0:
                self._next_definitions()
            else:
                self._next = _DEFINITION
        elif kind != _MORE:
            if exchange.status == _STATUS_RESULT and self._rows < 0:
                self._rows = 0
            self.streaming = kind == _STREAM
            self.done = True
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _defined(self, count: cython.longlong) -> cython.int:
        """So many definitions have come: behind the last one stands an EOF, or a row, or, of a PREPARE, nothing."""
        self._definitions -= count
        if self._definitions == 0:
            if self._prepared and self._form != _WITH_EOF:
                self._next_definitions()
            else:
                self._next = _BEHIND_DEFINITIONS
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _next_definitions(self) -> cython.int:
        """What was prepared has its parameters defined, then its columns, then nothing."""
        if self._columns:
            self._definitions = self._columns
            self._columns = 0
            self._next = _DEFINITION
        else:
            self.done = True
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _ending(
        self,
        exchange: Exchange,
        data: bytes,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        length: cython.longlong,
    ) -> cython.int:
        """An EOF, or an OK in its place, which ends definitions or rows."""
        if self._next != _ROW and length <= _LONGEST_EOF:
            self._form = _WITH_EOF
            if self._prepared:
                if self._next == _BEHIND_DEFINITIONS:
                    self._next_definitions()
                return 0
            if end - at < _LONGEST_EOF or u16(data, at + 3, end) & _CURSOR_EXISTS == 0:
                self._next = _ROW
                return 0
        elif self._next == _BEHIND_DEFINITIONS:
            self._form = _WITHOUT_EOF
        if read_end(exchange, data, at, end, length):
            self._next = _FIRST
        else:
            self.done = True
        return 0
