"""What carries a conversation: clear bytes, compressed frames, or TLS, which nobody reads. No I/O, no clock.

It is told by what is said in the conversation, and, where that was not heard, by the bytes themselves.
"""

import struct
from collections.abc import Iterable
from typing import Final

import cython

from workers.mysql import proxy
from workers.mysql.commands import is_tls_record
from workers.mysql.compression import CompressedFraming, inflate, is_frame
from workers.mysql.conversation import MySQLConversation
from workers.mysql.events import Outbox, Session
from workers.mysql.rules import COMPRESSED, DESYNC, ENCRYPTED, UNMATCHED, USED, Rules
from workers.mysql.snapshot import CLASSIC, SessionState, StatementState
from workers.mysql.unsaved import Unsaved

if not cython.compiled:
    from workers.wire import u24

COMPILED: Final[bool] = cython.compiled

_USED = cython.declare(cython.int, USED)
_UNMATCHED = cython.declare(cython.int, UNMATCHED)
_DESYNC = cython.declare(cython.int, DESYNC)
_ENCRYPTED = cython.declare(cython.int, ENCRYPTED)
_COMPRESSED = cython.declare(cython.int, COMPRESSED)

# How the bytes are carried.
_CLEAR = cython.declare(cython.int, 0)
_FRAMES = cython.declare(cython.int, 1)
_TLS = cython.declare(cython.int, 2)
_PREFIX = cython.declare(cython.int, 3)  # clear, and a PROXY header may stand before it

_FRAME_HEADER = cython.declare(cython.Py_ssize_t, 7)
_BEGINNING = cython.declare(cython.Py_ssize_t, 4096)
"""Of a compressed answer, how much is opened to read its beginning."""
_NEVER_INSIDE = cython.declare(cython.longlong, 1 << 40)
"""More bytes than a packet can have: a frame that is lost holds nobody knows what."""
_LONGEST_PREFIX = cython.declare(cython.Py_ssize_t, 4096)
_ENDS = struct.Struct("<QQHQQH")  # a session's, as the pipeline packs them


@cython.final
@cython.cclass
class Connection:
    """One TCP connection to a server, its two directions given to a conversation as the server and client mean them.

    Promises: input never makes client() or server() raise; cutting the client's bytes differently never changes what
    the conversation hears. ``concealed_bytes``: of those that client() was given, those under TLS.
    """

    conversation: MySQLConversation
    concealed_bytes: cython.longlong
    _rules: Rules
    _carrier: cython.int
    _frames: CompressedFraming | None
    _in_frames: cython.bint
    _server_frames: CompressedFraming | None
    _in_server_frames: cython.bint
    _prefix: bytes

    def __init__(self, outbox: Outbox, rules: Rules, ends: bytes, from_start: bool) -> None:
        """As MySQLConversation."""
        self.conversation = MySQLConversation(outbox, rules, ends, from_start)
        self.conversation.unsaved.open(self)
        self.concealed_bytes = 0
        self._rules = rules
        self._carrier = _PREFIX if from_start else _CLEAR
        self._frames = None
        self._in_frames = False
        self._server_frames = None
        self._in_server_frames = False
        self._prefix = b""

    @property
    def session(self) -> Session:
        """Who talks, as far as it is known by now."""
        return self.conversation.session

    @cython.ccall
    @cython.exceptval(-1)
    def client(
        self,
        data: bytes,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        time_ns: cython.longlong,
        acknowledgment: cython.uint,
    ) -> cython.int:
        """Take the next in-order bytes ``data[at:end]`` of the client; what they were to the conversation."""
        conversation: MySQLConversation = self.conversation
        verdict: cython.int
        if self._carrier == _CLEAR:
            if not conversation.synced:
                verdict = self._recognise(data, at, end)
                if verdict != _USED:
                    return verdict
            if self._carrier == _CLEAR:
                if conversation.may_compress and end - at > _FRAME_HEADER and self._turns_to_frames(data, at, end):
                    return self._open_frames(data, at, end, time_ns, acknowledgment)
                verdict = conversation.client(data, at, end, time_ns, acknowledgment)
                if conversation.turns_to:
                    self._turn(conversation.turns_to)
                    self.concealed_bytes = conversation.rest
                return verdict
        if self._carrier == _FRAMES:
            return self._open_frames(data, at, end, time_ns, acknowledgment)
        if self._carrier == _TLS:
            self.concealed_bytes += end - at
            return _ENCRYPTED
        return self._behind_prefix(data, at, end, time_ns, acknowledgment)

    @cython.cfunc
    def _turn(self, carrier: cython.int) -> cython.int:
        """From here on the bytes are carried otherwise: the conversation said so, or they do."""
        session = self.conversation.session
        session.packed = None
        self.conversation.unsaved.changed()
        self.conversation.turns_to = 0
        if carrier == _ENCRYPTED:
            session.encrypted = True
            self._carrier = _TLS
            self._frames = None
        else:
            session.compressed = True
            if self.conversation.inside():  # what began in the clear does not go on in frames
                self.conversation.lose_step()
            self._carrier = _FRAMES
            self._frames = CompressedFraming(self._rules.allowance)
            self._in_frames = True
        return 0

    # --- a connection joined late, or out of step

    @cython.cfunc
    def _recognise(self, data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.int:
        """USED where the conversation can go on from *at*, in the clear or in frames."""
        if is_tls_record(data, at, end):
            self._turn(_ENCRYPTED)
            self.concealed_bytes = end - at
            return _ENCRYPTED
        if self.conversation.join(data, at, end):
            return _USED
        if data[at + 3 : at + 4] == b"\0" and is_frame(data, at, end) and self._frame_holds_command(data, at, end):
            self._turn(_COMPRESSED)
            return _USED
        return _DESYNC

    @cython.cfunc
    def _frame_holds_command(self, data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.bint:
        """Whether the frame at *at* opens, and a command can be trusted to begin in it."""
        plain: bytes | None = _beginning(data, at, end)
        return plain is not None and self.conversation.join(plain, 0, len(plain))

    @cython.cfunc
    def _turns_to_frames(self, data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.bint:
        """Compression was agreed on and the server's OK was not seen: a first command in a frame tells that it came."""
        if data[at + 3] != 0 or self.conversation.inside() or not is_frame(data, at, end):
            return False
        plain: bytes | None = _beginning(data, at, end)
        if plain is None or len(plain) < 5 or plain[3] != 0:
            return False
        self._turn(_COMPRESSED)
        return True

    # --- compressed

    @cython.cfunc
    def _open_frames(
        self,
        data: bytes,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        time_ns: cython.longlong,
        acknowledgment: cython.uint,
    ) -> cython.int:
        frames: CompressedFraming | None = self._frames
        conversation: MySQLConversation = self.conversation
        verdict: cython.int = _USED
        plain: bytes | None
        if frames is None:
            return _COMPRESSED
        if not self._in_frames:
            if not is_frame(data, at, end):
                return _DESYNC
            self._in_frames = True
        while at < end:
            at = frames.next(data, at, end)
            if not frames.complete:
                continue
            plain = frames.payload
            if plain is None:
                conversation.lose_step()
                self._in_frames = False
                frames.reset()
                return _COMPRESSED
            if not conversation.synced and not conversation.join(plain, 0, len(plain)):
                verdict = _DESYNC
                continue
            conversation.frame_sequence = cython.cast(cython.int, frames.sequence)
            verdict = conversation.client(plain, 0, len(plain), time_ns, acknowledgment)
        return verdict

    # --- a PROXY header

    @cython.cfunc
    def _behind_prefix(
        self,
        data: bytes,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        time_ns: cython.longlong,
        acknowledgment: cython.uint,
    ) -> cython.int:
        """The client's first bytes: past a PROXY header, which may come in pieces, the conversation begins."""
        if not self._prefix and not proxy.may_begin(data[at : at + 16] if end - at > 16 else data[at:end]):
            self._carrier = _CLEAR
            return self.client(data, at, end, time_ns, acknowledgment)
        whole: bytes = self._prefix + data[at:end]
        header = proxy.read(whole)
        if header is None and len(whole) < _LONGEST_PREFIX:
            self._prefix = whole
            return _USED
        self._prefix = b""
        self._carrier = _CLEAR
        length: cython.Py_ssize_t = 0
        if header is not None:
            length = header.length
            if header.client is not None:
                session = self.conversation.session
                session.ends = _ENDS.pack(*header.client, *_ENDS.unpack(session.ends)[3:])
                session.packed = None
                self.conversation.unsaved.changed()
        if length == len(whole):
            return _USED
        return self.client(whole, length, len(whole), time_ns, acknowledgment)

    # --- the server's direction, and what is lost

    @cython.ccall
    @cython.exceptval(-1)
    def server(
        self,
        data: bytes,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        time_ns: cython.longlong,
        missing: cython.Py_ssize_t = 0,
        before: cython.Py_ssize_t = 0,
    ) -> cython.int:
        """Take one segment ``data[at:end]`` of the server, by itself; *missing* and *before* as MySQLConversation."""
        conversation: MySQLConversation = self.conversation
        verdict: cython.int
        if self._carrier == _TLS:
            return _ENCRYPTED
        if self._carrier == _FRAMES:
            plain: bytes = _beginning(data, at, end) or b""
            return conversation.server(plain, 0, len(plain), time_ns, end - at + missing - len(plain), before)
        verdict = conversation.server(data, at, end, time_ns, missing, before)
        if conversation.turns_to:
            self._turn(conversation.turns_to)
        return verdict

    @cython.ccall
    @cython.exceptval(-1)
    def server_stream(
        self,
        data: bytes,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        time_ns: cython.longlong,
        sequence: cython.uint,
    ) -> cython.int:
        """Take the server's next in-order bytes ``data[at:end]``, the first at that TCP sequence number.

        Who gives the server's direction in this way gives none of it to server().
        """
        conversation: MySQLConversation = self.conversation
        if self._carrier == _TLS:
            return _ENCRYPTED
        if self._carrier == _FRAMES:
            return self._open_server_frames(data, at, end, time_ns, sequence)
        verdict: cython.int = conversation.server_stream(data, at, end, time_ns, sequence)
        if conversation.turns_to:
            self._turn(conversation.turns_to)
            self._in_server_frames = True
        return verdict

    @cython.cfunc
    def _open_server_frames(
        self,
        data: bytes,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        time_ns: cython.longlong,
        sequence: cython.uint,
    ) -> cython.int:
        frames: CompressedFraming | None = self._server_frames
        verdict: cython.int = _UNMATCHED
        plain: bytes | None
        if frames is None:
            frames = self._server_frames = CompressedFraming(self._rules.allowance)
        if not self._in_server_frames and not is_frame(data, at, end):
            return _UNMATCHED
        self._in_server_frames = True
        while at < end:
            at = frames.next(data, at, end)
            if not frames.complete:
                verdict = _USED
                continue
            plain = frames.payload
            if plain is None:
                self.server_gap(end - at, sequence)
                return _COMPRESSED
            verdict = self.conversation.server_stream(plain, 0, len(plain), time_ns, sequence)
        return verdict

    @cython.ccall
    def server_gap(self, missing: cython.longlong, sequence: cython.uint) -> cython.int:
        """*missing* bytes of the server were lost, up to that TCP sequence number."""
        if self._server_frames is not None:
            self._server_frames.reset()
            self._in_server_frames = False
            missing = _NEVER_INSIDE
        if self._carrier != _TLS:
            self.conversation.server_gap(missing, sequence)
        return 0

    @cython.ccall
    @cython.exceptval(-1)
    def server_position(self, sequence: cython.uint, holding: cython.bint) -> cython.int:
        """As MySQLConversation."""
        return self.conversation.server_position(sequence, holding)

    @cython.ccall
    def gap(self, missing: cython.longlong, time_ns: cython.longlong, acknowledgment: cython.uint) -> cython.int:
        """*missing* bytes of the client were lost at this place."""
        if self._carrier == _TLS:
            if missing < _NEVER_INSIDE:  # else nobody knows how many
                self.concealed_bytes += missing
            return 0
        if self._frames is not None:
            self._frames.reset()
            self._in_frames = False
            missing = _NEVER_INSIDE  # of what was compressed, nobody knows how much
        self._prefix = b""
        if self._carrier == _PREFIX:
            self._carrier = _CLEAR
        return self.conversation.gap(missing, time_ns, acknowledgment)

    @cython.ccall
    def close(self) -> cython.int:
        """The connection is over."""
        if self._frames is not None:
            self._frames.reset()
        if self._server_frames is not None:
            self._server_frames.reset()
        return self.conversation.close()

    # --- what another worker takes over

    @property
    def unsaved(self) -> Unsaved:
        """What of it has changed."""
        return self.conversation.unsaved

    def statement_ids(self) -> list[int]:
        """Of the prepared statements."""
        return self.conversation.statements.ids()

    def statement(self, statement_id: int) -> StatementState | None:
        """One of them; None where it is none. It is taken to be written down."""
        return self.conversation.statements.state(statement_id)

    def state(self) -> SessionState:
        """What is known of the session."""
        known: MySQLConversation = self.conversation
        session = known.session
        return SessionState(
            protocol=CLASSIC,
            ends=session.ends,
            connection_id=session.connection_id,
            server_version=session.server_version,
            user=session.user,
            attributes=session.attributes,
            login_charset=session.charset,
            charset=known.waiting.charset,
            database=known.waiting.database,
            client_capabilities=known.capabilities.client,
            server_capabilities=known.capabilities.server,
            encrypted=session.encrypted,
            compressed=session.compressed,
        )

    def restore(self, state: SessionState, statements: Iterable[StatementState]) -> None:
        """Go on with what another worker knew of this connection, which has just been made and was joined late."""
        known: MySQLConversation = self.conversation
        state.fill(known.session)
        known.waiting.charset = state.charset
        known.waiting.database = state.database
        known.capabilities.client = state.client_capabilities
        known.capabilities.server = state.server_capabilities
        for one in statements:
            known.statements.restore(one)
        if state.encrypted:
            self._carrier = _TLS
        elif state.compressed:
            self._carrier = _FRAMES
            self._frames = CompressedFraming(self._rules.allowance)


@cython.cfunc
def _beginning(data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> bytes | None:
    """What the frame at *at* begins with: of a compressed one up to 4 KiB. None where it does not open."""
    if end - at <= _FRAME_HEADER:
        return None
    length: cython.Py_ssize_t = u24(data, at, end)
    stop: cython.Py_ssize_t = at + _FRAME_HEADER + length
    if stop > end:
        stop = end
    if u24(data, at + 4, end) == 0:
        return data[at + _FRAME_HEADER : stop]
    return inflate(data[at + _FRAME_HEADER : stop], _BEGINNING)
