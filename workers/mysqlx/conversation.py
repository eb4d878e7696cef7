"""One X Protocol connection seen from outside: bytes in, events out. No I/O, no clock, no logging.

As with the classic protocol the client's direction is a stream that comes in order, gaps declared, and segments are
enough of the server's. A malformed message does not put a stream out of step: its length says where the next begins.
"""

from collections.abc import Iterable
from typing import Final

from workers.mysql.commands import database_chosen, is_tls_record
from workers.mysql.errors import StreamViolation
from workers.mysql.events import AFTER_GAP, JOINED_LATE, RESTORED, TRUNCATED, Exchange, Outbox, new_session
from workers.mysql.rules import COMPRESSED, DESYNC, ENCRYPTED, UNMATCHED, USED, Rules
from workers.mysql.snapshot import SessionState, StatementState, X
from workers.mysql.unsaved import Unsaved
from workers.mysqlx import messages, phases
from workers.mysqlx.arguments import bound_values
from workers.mysqlx.compression import Tunnel
from workers.mysqlx.framing import LARGEST_COMPRESSED, Framing, TlsRecord
from workers.mysqlx.replies import Replies
from workers.mysqlx.statements import Statements
from workers.mysqlx.waiting import Request, Waiting

_OVERHEAD: Final = 16384
"""Of a message that is kept beside its text."""
_UTF8MB4: Final = 255
"""utf8mb4_0900_ai_ci: whatever is text in this protocol is UTF-8."""
_NOBODY_KNOWS: Final = 1 << 40
"""A gap of so many bytes or more is one whose size is not known."""
_TEXTS: Final = messages.CRUD | {phases.STMT_EXECUTE, phases.PREPARE}


class XConversation:
    """Turns the two directions of one connection into exchanges, put into an Outbox; as MySQLConversation does.

    Promises, each pinned by a property test: input never makes client() or server() raise; cutting the client's
    bytes differently never changes the exchanges; what is kept stays within the allowance.
    """

    def __init__(self, outbox: Outbox, rules: Rules, ends: bytes, from_start: bool) -> None:
        """*from_start*: its SYN was seen, so the first bytes begin a message. *ends* goes into the session."""
        self.session = new_session(ends, from_start)
        self.session.charset = _UTF8MB4
        self._rules = rules
        self._outbox = outbox
        self._encrypted = False
        self.concealed_bytes = 0
        self._synced = from_start
        self._after_gap = False
        self._unread = False
        kept = dict.fromkeys(phases.CLIENT_MESSAGES, rules.keep_bytes + _OVERHEAD)
        kept[phases.COMPRESSION] = max(kept[phases.COMPRESSION], LARGEST_COMPRESSED)
        self._framing = Framing(kept, rules.allowance)
        self._tunnel = Tunnel(kept, rules.allowance)
        self.unsaved = Unsaved(outbox, ends)
        self.unsaved.open(self)
        self._statements = Statements(outbox, rules.allowance, self.unsaved)
        self._waiting = Waiting(outbox, rules.allowance, self.unsaved)
        self._replies = Replies(outbox, self._waiting, rules, from_start)

    # --- the client's direction

    def client(self, data: bytes, at: int, end: int, time_ns: int, acknowledgment: int) -> int:
        """Take the next in-order bytes ``data[at:end]``; the acknowledgment number tells what the client has read."""
        if self._encrypted or (not self._synced and not self._join(data, at, end)):
            if not self._encrypted:
                return DESYNC
            self.concealed_bytes += end - at
            return ENCRYPTED
        self._unread = False
        try:
            while at < end:
                at = self._framing.next(data, at, end)
                if self._framing.complete:
                    self._message(self._framing, time_ns, acknowledgment)
                    self._framing.reset_message()
        except TlsRecord as record:
            self._blind()
            self.concealed_bytes += record.begun + end - at
            return ENCRYPTED
        except StreamViolation:
            self._lose_step(acknowledgment)
            return DESYNC
        return COMPRESSED if self._unread else USED

    def gap(self, missing: int, time_ns: int, acknowledgment: int) -> int:
        """*missing* bytes of the client were lost at this place.

        Inside a message the count goes on, what it asks for is flagged, and 1 is returned; else the next message that
        can be trusted is looked for, and flagged.
        """
        if self._encrypted:
            if missing < _NOBODY_KNOWS:
                self.concealed_bytes += missing
            return 0
        if not self._synced:
            return 0
        if self._framing.gap(missing):
            self._after_gap = True
            if self._framing.complete:
                self._message(self._framing, time_ns, acknowledgment)
                self._framing.reset_message()
            return 1
        self._lose_step(acknowledgment)
        self._after_gap = True
        return 0

    def close(self) -> int:
        """The connection is over: whatever waits for an answer gets none."""
        self.unsaved.end()
        self._waiting.close()
        self._statements.forget()
        self._framing.reset()
        self._tunnel.close()
        self._replies.close()
        return 0

    def _join(self, data: bytes, at: int, end: int) -> bool:
        """Try to find the beginning of a message in a connection that is out of step or was joined late."""
        if is_tls_record(data, at, end):
            self._blind()
        elif messages.is_boundary(data, at, end):
            self._synced = True
            self._framing.reset()
        return self._synced

    def _lose_step(self, acknowledgment: int) -> None:
        self._outbox.desyncs += 1
        self._synced = False
        self._after_gap = False
        self._framing.reset()
        self._tunnel.close()  # of what was lost some may have been compressed
        self._waiting.unread(acknowledgment)

    def _blind(self) -> None:
        """Nothing more can be read here: the rest is encrypted."""
        self._encrypted = True
        self._synced = False
        self.session.encrypted = True
        self._changed()
        self._framing.reset()
        self._tunnel.close()
        self._replies.close()

    def _message(self, framing: Framing, time_ns: int, acknowledgment: int) -> None:
        """A whole message of the client is there."""
        kind = framing.kind
        if kind == phases.COMPRESSION:
            self._compressed(framing, time_ns, acknowledgment)
        elif kind == phases.AUTHENTICATE_CONTINUE:
            self._prove(framing, time_ns, acknowledgment)
        else:
            self._replies.settle(acknowledgment)
            if kind == phases.CAPABILITIES_SET:
                self._negotiate(framing, acknowledgment)
            elif kind == phases.AUTHENTICATE_START:
                self._log_in(framing, time_ns, acknowledgment)
            elif phases.BY_NUMBER[kind].recorded:
                self._request(framing, time_ns, acknowledgment)
            else:
                self._waiting.add(Request(kind), acknowledgment)

    def _compressed(self, framing: Framing, time_ns: int, acknowledgment: int) -> None:
        """Read the messages in a Compression message; where that can't be done, what they were is not known."""
        self._note_compression()
        try:
            for inside in self._tunnel.messages(framing):
                self._message(inside, time_ns, acknowledgment)
        except StreamViolation:
            self._unread = True
            self._waiting.unread(acknowledgment)

    def _changed(self) -> None:
        self.session.packed = None
        self.unsaved.changed()

    def _note_compression(self) -> None:
        if not self.session.compressed:
            self.session.compressed = True
            self._changed()

    # --- the login

    def _negotiate(self, framing: Framing, acknowledgment: int) -> None:
        """CapabilitiesSet: taken to be granted until the server says otherwise."""
        wanted = messages.capabilities(framing.data, framing.begin, framing.finish)
        if wanted.attributes:
            self.session.attributes = wanted.attributes
            self._changed()
        if wanted.tls:
            self._framing.tls = True
        if wanted.compression is not None:
            self._compress(wanted.compression)
        self._waiting.add(Request(phases.CAPABILITIES_SET, wanted=wanted), acknowledgment)

    def _compress(self, algorithm: bytes | None) -> None:
        self._tunnel.use(algorithm)
        self._replies.use(algorithm)

    def _log_in(self, framing: Framing, time_ns: int, acknowledgment: int) -> None:
        """AuthenticateStart. Its answer is waited for in any mode, as who logs in may become known only later."""
        if self.session.user is not None:  # the session before was reset or closed
            attributes = self.session.attributes
            self.session = self.session.successor()
            self.session.attributes = attributes
            self.session.charset = _UTF8MB4
            self._statements.forget()
        exchange = self._exchange(framing, time_ns)
        exchange.database = None
        self._identify(framing, exchange)
        self._begin(exchange, framing)
        self._waiting.add(Request(phases.AUTHENTICATE_START, exchange), acknowledgment)

    def _prove(self, framing: Framing, time_ns: int, acknowledgment: int) -> None:
        """AuthenticateContinue: another step of the login, or all of it that was seen."""
        exchange = self._waiting.login(acknowledgment)
        if exchange is not None:
            exchange.bytes_in += framing.length + phases.HEADER_SIZE
            self._identify(framing, exchange)
            return
        self._replies.settle(acknowledgment)
        exchange = self._exchange(framing, time_ns)
        self._identify(framing, exchange)
        self._begin(exchange, framing)
        self._waiting.add(Request(phases.AUTHENTICATE_START, exchange), acknowledgment)

    def _identify(self, framing: Framing, exchange: Exchange) -> None:
        user, schema = messages.auth_data(framing.kind, framing.data, framing.begin, framing.finish)
        if user is not None:
            exchange.session.user = user
            exchange.session.packed = None
            self.unsaved.changed()
            exchange.database = self._waiting.database = schema

    # --- requests

    def _exchange(self, framing: Framing, time_ns: int) -> Exchange:
        exchange = Exchange()
        exchange.command = phases.command(framing.kind)
        exchange.session = self.session
        exchange.time_ns = time_ns
        exchange.charset = _UTF8MB4
        exchange.database = self._waiting.database
        exchange.bytes_in = framing.length + phases.HEADER_SIZE
        return exchange

    def _request(self, framing: Framing, time_ns: int, acknowledgment: int) -> None:
        kind = framing.kind
        exchange = self._exchange(framing, time_ns)
        cursor_id = self._read(exchange, framing)
        prepared = 0
        if kind == phases.STMT_EXECUTE and exchange.command != phases.ADMIN and exchange.text is not None:
            exchange.moves_to = database_chosen(exchange.text)
        elif kind == phases.PREPARE:
            prepared = self._statements.prepare(exchange)
        elif kind in {phases.EXECUTE, phases.CURSOR_OPEN}:
            self._statements.execute(exchange)
            if kind == phases.CURSOR_OPEN:
                self._statements.open_cursor(cursor_id, exchange.statement_id)
        elif kind == phases.DEALLOCATE:
            self._statements.close(exchange.statement_id)
        elif kind in {phases.CURSOR_FETCH, phases.CURSOR_CLOSE}:
            exchange.statement_id = self._statements.of_cursor(cursor_id, over=kind == phases.CURSOR_CLOSE)
        elif kind in {phases.SESSION_RESET, phases.SESSION_CLOSE}:
            self._statements.forget()
        self._begin(exchange, framing)
        if self._rules.answers:
            request = Request(kind, exchange, statement_id=exchange.statement_id, prepared=prepared)
            self._waiting.add(request, acknowledgment)
        else:
            self._waiting.finish(exchange)

    def _read(self, exchange: Exchange, framing: Framing) -> int:
        """Text, arguments and statement of a request; the id of its cursor is returned."""
        data, kind = framing.data, framing.kind
        found = messages.request(
            kind, data, framing.begin, framing.finish, cut=framing.cut, keep=self._rules.keep_bytes
        )
        if kind == phases.STMT_EXECUTE and found.namespace != messages.SQL:
            exchange.command = phases.ADMIN
        exchange.statement_id = found.statement_id
        if kind in _TEXTS and found.text is not None:
            exchange.text = found.text
            exchange.text_length = max(len(found.text), min(found.text_length, framing.length))
            if exchange.text_length > len(found.text):
                exchange.flags |= TRUNCATED
        if found.arguments and not found.whole:
            self._outbox.unread_parameters += 1
        elif found.arguments:
            try:
                exchange.parameters = bound_values(data, found.arguments, scalars=found.scalars)
            except StreamViolation:
                self._outbox.unread_parameters += 1
        return found.cursor_id

    def _begin(self, exchange: Exchange, framing: Framing) -> None:
        """The request has been read and is counted: it is certain to be reported."""
        self._outbox.decoded += 1
        if not self.session.from_start:
            exchange.flags |= JOINED_LATE | (RESTORED if self.session.restored else 0)
        if framing.cut or exchange.flags & TRUNCATED:
            exchange.flags |= TRUNCATED
            self._outbox.truncated += 1
        if self._after_gap:
            exchange.flags |= AFTER_GAP
            self._after_gap = False

    # --- the server's direction

    def server(
        self, data: bytes, at: int, end: int, time_ns: int, missing: int = 0, sequence: int | None = None
    ) -> int:
        """Take one segment ``data[at:end]`` of the server, by itself; *missing* bytes behind it were not captured.

        *sequence*: its TCP sequence number, None where it comes right behind the one before. Segments may be missing.
        """
        if self._encrypted:
            return ENCRYPTED
        return self._note(self._replies.segment(data, at, end, time_ns, missing, sequence))

    def server_stream(self, data: bytes, at: int, end: int, time_ns: int, sequence: int) -> int:
        """Take the server's next in-order bytes ``data[at:end]``, the first at that TCP sequence number.

        Who gives the server's direction in this way gives none of it to server().
        """
        if self._encrypted:
            return ENCRYPTED
        return self._note(self._replies.stream(data, at, end, time_ns, sequence))

    def server_gap(self, missing: int, sequence: int) -> int:
        """*missing* bytes of the server were lost, up to that TCP sequence number."""
        if not self._encrypted:
            self._replies.gap(missing, sequence)
            self._note(True)
        return 0

    def server_position(self, sequence: int, holding: bool) -> int:  # noqa: ARG002 - it is the same for both protocols
        """server_stream() has come to *sequence*; *holding*: what lies behind it waits for a hole to be filled."""
        self._replies.hold(holding)
        return 0

    def _note(self, used: bool) -> int:
        """Take over what the server's direction has told of the connection; what its bytes were."""
        replies = self._replies
        if replies.number:
            self.session.connection_id = replies.number
            self._changed()
            replies.number = 0
        if replies.ended:
            ended, replies.ended = replies.ended, []
            for request, kind in ended:
                self._answered(request, kind)
        unread, replies.unread = replies.unread, False
        if unread:
            return COMPRESSED
        return USED if used else UNMATCHED

    def _answered(self, request: Request, kind: int) -> None:
        """What was asked of the connection is granted or refused."""
        wanted = request.wanted
        if request.kind == phases.PREPARE and kind == phases.ERROR:
            self._statements.refuse(request.statement_id, request.prepared)
        if wanted is None:
            return
        if kind == phases.ERROR:
            self._framing.tls = False
            if wanted.compression is not None:
                self._compress(None)
        elif wanted.tls:
            self._blind()
        elif wanted.compression is not None:
            self._note_compression()

    # --- what another worker takes over

    def statement_ids(self) -> list[int]:
        """Of the prepared statements."""
        return self._statements.ids()

    def statement(self, statement_id: int) -> StatementState | None:
        """One of them; None where it is none."""
        return self._statements.state(statement_id)

    def state(self) -> SessionState:
        """What is known of the session."""
        session = self.session
        return SessionState(
            protocol=X,
            ends=session.ends,
            connection_id=session.connection_id,
            server_version=session.server_version,
            user=session.user,
            attributes=session.attributes,
            login_charset=_UTF8MB4,
            charset=_UTF8MB4,
            database=self._waiting.database,
            client_capabilities=0,
            server_capabilities=0,
            encrypted=session.encrypted,
            compressed=session.compressed,
        )

    def restore(self, state: SessionState, statements: Iterable[StatementState]) -> None:
        """Go on with what another worker knew of this connection, which has just been made and was joined late."""
        state.fill(self.session)
        self._waiting.database = state.database
        for one in statements:
            self._statements.restore(one)
        if state.encrypted:
            self._blind()
