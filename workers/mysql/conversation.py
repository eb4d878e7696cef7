"""One MySQL connection seen from outside: bytes in, events out. No I/O, no clock, no logging.

The client's direction is a stream; it must come in order, gaps declared. Of the server's direction segments are
enough, each taken by itself by server(): what the filter lets through are beginnings of answers. server_stream() takes
the whole of it, in order too.
"""

from typing import Final

import cython

from workers.mysql import constants, events, handshake
from workers.mysql.answers import read_answer
from workers.mysql.attributes import text_begins
from workers.mysql.capabilities import Capabilities
from workers.mysql.clone import Clone
from workers.mysql.commands import charset_chosen, database_chosen, database_named, is_boundary
from workers.mysql.errors import StreamViolation
from workers.mysql.events import Exchange, Outbox, Session, new_exchange, new_session
from workers.mysql.framing import Framing
from workers.mysql.phases import ANSWERED, KNOWN, RECORDED, TEXT, TRAITS
from workers.mysql.replies import Replies
from workers.mysql.rules import COMPRESSED, DESYNC, ENCRYPTED, UNMATCHED, USED, Rules
from workers.mysql.statements import Statements
from workers.mysql.unsaved import Unsaved
from workers.mysql.waiting import Waiting

if not cython.compiled:
    from workers.memory import cut
    from workers.wire import u8, u24

COMPILED: Final[bool] = cython.compiled

_USED = cython.declare(cython.int, USED)
_UNMATCHED = cython.declare(cython.int, UNMATCHED)
_DESYNC = cython.declare(cython.int, DESYNC)
_ENCRYPTED = cython.declare(cython.int, ENCRYPTED)
_COMPRESSED = cython.declare(cython.int, COMPRESSED)

# Phases: page_protocol_connection_lifecycle.
_GREETING = cython.declare(cython.int, 0)
_LOGIN = cython.declare(cython.int, 1)
_COMMAND = cython.declare(cython.int, 2)

_TRAITS = cython.declare(bytes, TRAITS)
_KNOWN = cython.declare(cython.uint, KNOWN)
_TEXT = cython.declare(cython.uint, TEXT)
_ANSWERED = cython.declare(cython.uint, ANSWERED)
_RECORDED = cython.declare(cython.uint, RECORDED)
_STATUS_OK = cython.declare(cython.uint, events.OK)
_FLAG_TRUNCATED = cython.declare(cython.uint, events.TRUNCATED)
_FLAG_AFTER_GAP = cython.declare(cython.uint, events.AFTER_GAP)
_FLAG_RESTORED = cython.declare(cython.uint, events.RESTORED)
_FLAG_JOINED_LATE = cython.declare(cython.uint, events.JOINED_LATE)
_CONNECT = cython.declare(cython.uint, constants.CONNECT)
_COM_QUERY = cython.declare(cython.uint, constants.COM_QUERY)
_COM_INIT_DB = cython.declare(cython.uint, constants.COM_INIT_DB)
_COM_FIELD_LIST = cython.declare(cython.uint, constants.COM_FIELD_LIST)
_COM_CLONE = cython.declare(cython.uint, constants.COM_CLONE)
_COM_CHANGE_USER = cython.declare(cython.uint, constants.COM_CHANGE_USER)
_COM_STMT_PREPARE = cython.declare(cython.uint, constants.COM_STMT_PREPARE)
_COM_STMT_EXECUTE = cython.declare(cython.uint, constants.COM_STMT_EXECUTE)
_COM_STMT_CLOSE = cython.declare(cython.uint, constants.COM_STMT_CLOSE)
_COM_STMT_RESET = cython.declare(cython.uint, constants.COM_STMT_RESET)
_COM_STMT_FETCH = cython.declare(cython.uint, constants.COM_STMT_FETCH)
_COM_STMT_BULK_EXECUTE = cython.declare(cython.uint, constants.COM_STMT_BULK_EXECUTE)
_COM_RESET_CONNECTION = cython.declare(cython.uint, constants.COM_RESET_CONNECTION)
_LONGEST_LOGIN = cython.declare(cython.uint, 0xFFFF)
"""Of a packet before the first command: connection attributes come to 64 KiB at most."""
_LOAD_WITHIN = cython.declare(cython.Py_ssize_t, 1024)
"""Bytes of a statement within which LOAD DATA would stand."""
_COMPRESSION = cython.declare(cython.ulonglong, constants.CLIENT_COMPRESS | constants.CLIENT_ZSTD_COMPRESSION_ALGORITHM)
_OVERHEAD: Final = 16384
"""Of a payload that is kept beside its text: more than any command has before it."""


@cython.final
@cython.cclass
class MySQLConversation:
    """Turns the two directions of one connection into exchanges, put into an Outbox.

    Promises, each pinned by a property test: input never makes client() or server() raise; cutting the client's
    bytes differently never changes the exchanges, as long as the stream is in step.
    ``synced``: it is in step, so that the end of one payload is the beginning of the next. ``turns_to``: not 0 once the
    two sides have agreed to go on ENCRYPTED or COMPRESSED; what follows is not for this conversation as it is, ``rest``
    bytes of those that client() was given last among it.
    ``may_compress``: it will be COMPRESSED if the server, whose answer has not been seen, takes the login.
    ``frame_sequence``: the sequence id of the compressed frame that the client's bytes come in, -1 in the clear.
    ``capabilities``, ``waiting``, ``statements``: what is known beside the session; ``unsaved``: what of it is new.
    """

    session: Session
    synced: cython.bint
    may_compress: cython.bint
    turns_to: cython.int
    rest: cython.Py_ssize_t
    frame_sequence: cython.int
    capabilities: Capabilities
    waiting: Waiting
    statements: Statements
    unsaved: Unsaved
    _rules: Rules
    _outbox: Outbox
    _framing: Framing
    _phase: cython.int
    _replies: Replies
    _server_framing: Framing | None
    _answer_sequence: cython.uint
    _after_gap: cython.bint
    _clone: Clone

    def __init__(self, outbox: Outbox, rules: Rules, ends: bytes, from_start: bool) -> None:
        """*from_start*: its SYN was seen, so the first thing said is the greeting. *ends* goes into the session."""
        self.session = new_session(ends, from_start)
        self._rules = rules
        self._outbox = outbox
        self._framing = Framing(rules.keep_bytes + _OVERHEAD, rules.allowance)
        self._phase = _GREETING if from_start else _COMMAND
        self.synced = from_start
        self.may_compress = self._after_gap = False
        self.turns_to = self.rest = 0
        self.frame_sequence = -1
        self.capabilities = Capabilities()
        self._server_framing = None
        self._answer_sequence = 1
        self.unsaved = Unsaved(outbox, ends)
        self.statements = Statements(outbox, rules.allowance, rules.keep_bytes, self.unsaved)
        self.waiting = Waiting(outbox, rules.allowance, self.statements, self.unsaved)
        self._replies = Replies(outbox, self.waiting, rules.allowance, rules.timed)
        self._clone = Clone()

    # --- the client's direction

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
        """Take the next in-order bytes ``data[at:end]``.

        *acknowledgment*: the segment's, which tells how much of the answers the client has read.
        """
        if not self.synced and not self.join(data, at, end):
            return _DESYNC
        framing: Framing = self._framing
        while at < end:
            if not framing.inside and not self._sound(data, at, end):
                self.lose_step()
                return _DESYNC
            at = framing.next(data, at, end)
            if framing.complete:
                self._payload(time_ns, acknowledgment)
                framing.reset_payload()
                if not self.synced:
                    return _DESYNC
                if self.turns_to:
                    self.rest = end - at
                    return self.turns_to
            elif framing.full:
                self._hash_text()
        return _USED

    @cython.ccall
    def join(self, data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.bint:
        """Whether a login or a command can be trusted to begin at *at*, of a stream that is out of step or joined late.

        It is in step then.
        """
        if end - at > 40 and data[at + 3] == 1 and handshake.looks_like_login(data, at + 4, end):
            self._phase = _GREETING
        elif is_boundary(data, at, end) and not self._clone.may_begin(data[at + 4]):
            self._phase = _COMMAND
        else:
            return False
        self.synced = True
        self._framing.reset()
        return True

    @cython.cfunc
    @cython.exceptval(-1)
    def _sound(self, data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.bint:
        """Whether what begins at *at*, behind a payload, can be what the phase has there; a short rest always can."""
        if end - at < 5:
            return True
        if self._phase != _COMMAND and data[at + 3] != 0:
            return u24(data, at, end) <= _LONGEST_LOGIN
        if self._in_file(data[at + 3]):
            return self.waiting.file_follows()
        return _TRAITS[data[at + 4]] & _KNOWN != 0 and u24(data, at, end) != 0

    @cython.ccall
    def inside(self) -> cython.bint:
        """Whether a payload of the client has begun and is not complete."""
        return self._framing.inside

    @cython.ccall
    def lose_step(self) -> cython.int:
        """What comes next can't be told from what came before."""
        self._outbox.desyncs += self.synced
        self.synced = False
        self.statements.lose_ids()
        self.waiting.last_query = None
        self._framing.reset()
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _payload(self, time_ns: cython.longlong, acknowledgment: cython.uint) -> cython.int:
        """A whole payload of the client is there: what it is depends on the phase and on its sequence id."""
        framing: Framing = self._framing
        try:
            if self._phase == _COMMAND or (self._phase == _LOGIN and framing.sequence == 0):
                if self._in_file(framing.sequence):
                    self._file_part()
                    return 0
                self._phase = _COMMAND
                if framing.length == 0 or not self._clone.takes(framing.data[framing.begin], framing.length):
                    self._command(time_ns, acknowledgment)
            elif self._phase == _GREETING:
                self._client_greets(time_ns, acknowledgment)
        except (StreamViolation, IndexError):
            self.lose_step()
        return 0

    @cython.cfunc
    def _file_part(self) -> cython.int:
        """A packet of LOAD DATA LOCAL: the file's bytes, an empty packet at the end (page_protocol_com_query)."""
        if not self.waiting.file_follows():
            raise StreamViolation("a command does not begin with sequence id 0")
        self._answer_sequence = self._following()
        self.waiting.behind_file(self._answer_sequence)
        if self._framing.length == 0:
            self.waiting.last_query = None
            self.waiting.wants_file = False
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _following(self) -> cython.uint:
        """The sequence id of what answers a payload; inside compressed frames servers let it go on from the frames'.

        MySQL's and MariaDB's sql/net_serv.cc, "Sync packet number if using compression".
        """
        if self.frame_sequence >= 0:
            return (self.frame_sequence + 1) & 0xFF
        return (self._framing.last_sequence + 1) & 0xFF

    @cython.cfunc
    @cython.exceptval(-1)
    def _in_file(self, sequence: cython.uint) -> cython.bint:
        """Whether a packet of that sequence id is no command: these have 0, and a file comes to it behind 255."""
        if sequence != 0:
            return True
        return self._answer_sequence == 0 and (self.waiting.wants_file or self.waiting.last_query is not None)

    # --- the login

    @cython.cfunc
    def _client_greets(self, time_ns: cython.longlong, acknowledgment: cython.uint) -> cython.int:
        framing: Framing = self._framing
        data: bytes = framing.data
        if framing.sequence == 0 and framing.length >= 1 and _TRAITS[u8(data, framing.begin, framing.finish)] & _KNOWN:
            self._phase = _COMMAND  # the login was not captured
            self._command(time_ns, acknowledgment)
            return 0
        if handshake.asks_for_tls(data, framing.begin, framing.finish):
            self.turns_to = _ENCRYPTED
            return 0
        self._phase = _LOGIN
        login = handshake.login(data, framing.begin, framing.finish)
        if self.session.restored and self.session.user is not None:  # that of a connection which ended unseen
            self.session = new_session(self.session.ends, False)
            self.capabilities.server = 0
            self.statements.forget()
        exchange: Exchange = new_exchange(_CONNECT, self.session, time_ns)
        self._log_in(exchange, login, acknowledgment)
        if self.session.from_start and self.session.server_version is None:
            self.statements.infer_ids()
        return 0

    @cython.cfunc
    def _log_in(self, exchange: Exchange, login: handshake.Login, acknowledgment: cython.uint) -> cython.int:
        """Note who logs in, for the login as for COM_CHANGE_USER; the answer is waited for in any mode."""
        self.unsaved.changed()
        exchange.session.logs_in(login.user, login.attributes, login.charset)
        self.capabilities.client = login.capabilities
        self.may_compress = exchange.command == _CONNECT and self.capabilities.negotiated() & _COMPRESSION != 0
        exchange.database = self.waiting.database = login.database
        exchange.bytes_in = self._framing.length + 4
        exchange.charset = self.waiting.charset = exchange.session.charset
        self._begin(exchange, acknowledgment)
        self.waiting.add(exchange)
        return 0

    # --- commands

    @cython.cfunc
    @cython.exceptval(-1)
    def _command(self, time_ns: cython.longlong, acknowledgment: cython.uint) -> cython.int:
        framing: Framing = self._framing
        if framing.length == 0 or framing.finish == framing.begin:
            raise StreamViolation("a command without its number")
        number: cython.uint = framing.data[framing.begin]
        traits: cython.uint = _TRAITS[cython.cast(cython.Py_ssize_t, number)]
        if traits & _KNOWN == 0:
            raise StreamViolation("no such command")
        self._replies.settle(acknowledgment)
        self.waiting.last_query = None
        self.waiting.wants_file = False
        if self._answer_sequence == 0:
            self._answer_sequence = 1
        if traits & _RECORDED == 0:
            self.statements.long_data(framing.data, framing.begin + 1, framing.finish)
            return 0
        exchange: Exchange = self._exchange_of(number, time_ns)
        if traits & _TEXT:
            self._take_text(exchange, number)
        elif number == _COM_STMT_EXECUTE or number == _COM_STMT_BULK_EXECUTE:
            self.statements.execute(
                exchange, framing.data, framing.begin + 1, framing.finish, framing.cut, self._rules.answers,
                self.capabilities.attributes(),
            )  # fmt: skip
        elif number == _COM_STMT_CLOSE or number == _COM_STMT_RESET or number == _COM_STMT_FETCH:
            self.statements.command(exchange, framing.data, framing.begin + 1, framing.finish)
        elif number == _COM_CHANGE_USER:
            self._change_user(exchange, acknowledgment)
            return 0
        elif number == _COM_RESET_CONNECTION:
            self.statements.forget()
        elif number == _COM_CLONE:
            self._clone.begin(exchange)
        self._begin(exchange, acknowledgment)
        if traits & _ANSWERED and (self._rules.answers or number == _COM_STMT_PREPARE or number == _COM_CLONE):
            exchange.sequence = self._answer_sequence = self._following()
            self.waiting.add(exchange)
        else:
            self.waiting.finish(exchange)
        return 0

    @cython.cfunc
    def _exchange_of(self, number: cython.uint, time_ns: cython.longlong) -> Exchange:
        exchange: Exchange = new_exchange(number, self.session, time_ns)
        exchange.bytes_in = self._framing.length + 4
        exchange.database = self.waiting.database
        exchange.charset = self.waiting.charset
        return exchange

    @cython.cfunc
    @cython.exceptval(-1)
    def _begin(self, exchange: Exchange, acknowledgment: cython.uint) -> cython.int:
        """The command has been read and is counted: it is certain to be reported."""
        self._outbox.decoded += 1
        exchange.acknowledgment = acknowledgment
        if not self.session.from_start:
            exchange.flags |= _FLAG_JOINED_LATE
            if self.session.restored:
                exchange.flags |= _FLAG_RESTORED
        if self._framing.cut or exchange.flags & _FLAG_TRUNCATED:
            exchange.flags |= _FLAG_TRUNCATED
            self._outbox.truncated += 1
        if self._after_gap:
            exchange.flags |= _FLAG_AFTER_GAP
            self._after_gap = False
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _take_text(self, exchange: Exchange, number: cython.uint) -> cython.int:
        """The argument that is text; a COM_QUERY's may stand behind query attributes."""
        framing: Framing = self._framing
        data: bytes = framing.data
        start: cython.Py_ssize_t = framing.begin + 1
        stop: cython.Py_ssize_t = framing.finish
        if number == _COM_QUERY:
            attributes: cython.int = self.capabilities.attributes()
            if attributes != 0:
                start = text_begins(exchange, framing, attributes)
                if start < 0:
                    return 0
        if stop - start > self._rules.keep_bytes:
            stop = start + cython.cast(cython.Py_ssize_t, self._rules.keep_bytes)
            exchange.flags |= _FLAG_TRUNCATED
        exchange.text_length = framing.length - (start - framing.begin)
        if number == _COM_FIELD_LIST and data.find(b"\0", start, stop) >= 0:  # behind it a pattern for columns
            stop = data.find(b"\0", start, stop)
            exchange.text_length = stop - start
        text: bytes = cut(data, start, stop)
        exchange.text = text
        if exchange.text_length > cython.cast(cython.ulonglong, len(text)):
            exchange.text_sha256 = framing.sha256(start)
        if number == _COM_QUERY:
            exchange.moves_to = database_chosen(text)
            exchange.sets_charset = charset_chosen(text)
            self.statements.queried(text, exchange.text_length == cython.cast(cython.ulonglong, len(text)))
            self.waiting.last_query = text if len(text) <= _LOAD_WITHIN else text[:_LOAD_WITHIN]
        elif number == _COM_INIT_DB:
            exchange.moves_to = database_named(text)
        elif number == _COM_STMT_PREPARE:
            self.statements.prepare(exchange)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _hash_text(self) -> cython.int:
        """A payload is longer than what is kept of it: where it is a command with a text, all of this is hashed."""
        framing: Framing = self._framing
        if not self._in_file(framing.sequence):
            framing.hash_from(text_begins(Exchange(), framing, self.capabilities.attributes()))
        return 0

    @cython.cfunc
    def _change_user(self, exchange: Exchange, acknowledgment: cython.uint) -> cython.int:
        framing: Framing = self._framing
        login = handshake.change_user(framing.data, framing.begin + 1, framing.finish, self.capabilities.client)
        self.session = self.session.successor()
        exchange.session = self.session
        self.statements.forget()
        self._phase = _LOGIN
        self._replies.close()
        self._log_in(exchange, login, acknowledgment)
        return 0

    # --- what is lost

    @cython.ccall
    def close(self) -> cython.int:
        """The connection is over: whatever waits for an answer gets none."""
        self.unsaved.end()
        self.waiting.close()
        self._replies.close()
        self.statements.forget()
        self._framing.reset()
        if self._server_framing is not None:
            self._server_framing.reset()
        return 0

    @cython.ccall
    def gap(self, missing: cython.longlong, time_ns: cython.longlong, acknowledgment: cython.uint) -> cython.int:
        """*missing* bytes of the client were lost at this place.

        Inside a payload of known length the count goes on, and 1 is returned; else the next command that can be trusted
        is looked for. What had begun before is flagged, and what it goes on with.
        """
        if not self.synced:
            return 0
        inside: cython.bint = self._framing.inside and self._framing.gap(missing)
        if inside or self._framing.give_up():
            self._after_gap = True
            if self._framing.complete:
                self._payload(time_ns, acknowledgment)
                self._framing.reset_payload()
        if not inside:
            self.lose_step()
            self._after_gap = True
        return inside

    # --- the server's direction

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
        """Take one segment ``data[at:end]`` of the server, by itself.

        Behind it *missing* bytes were not captured, and *before* it so many were not seen: fewer than none where it
        brings some again.
        """
        if self._phase == _COMMAND:
            return _USED if self._replies.segment(data, at, end, time_ns, missing, before) else _UNMATCHED
        if end - at < 5:
            return _UNMATCHED
        stop: cython.Py_ssize_t = at + 4 + u24(data, at, end)
        if stop > end:
            stop = end
        return _USED if self._before_commands(data, at + 4, stop, data[at + 3], time_ns) else _UNMATCHED

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
        """Take the server's next in-order bytes ``data[at:end]``, the first at that TCP sequence number."""
        framing: Framing | None = self._server_framing
        begin: cython.Py_ssize_t = at
        self._replies.strict = self.frame_sequence < 0
        while at < end:
            if self._phase == _COMMAND:
                place: cython.longlong = sequence + (at - begin)
                here: cython.uint = cython.cast(cython.uint, place & 0xFFFFFFFF)
                return _USED if self._replies.stream(data, at, end, time_ns, here) or at > begin else _UNMATCHED
            if framing is None:
                framing = self._server_framing = Framing(_LONGEST_LOGIN, self._rules.allowance)
            at = framing.next(data, at, end)
            if framing.complete:
                self._before_commands(framing.data, framing.begin, framing.finish, framing.sequence, time_ns)
                framing.reset_payload()
                if self._phase == _COMMAND:
                    self._replies.learn(self.capabilities.negotiated())
        return _USED

    @cython.ccall
    def server_gap(self, missing: cython.longlong, sequence: cython.uint) -> cython.int:
        """*missing* bytes of the server were lost, up to that TCP sequence number."""
        if self._server_framing is not None:
            self._server_framing.reset()
        if self._phase == _COMMAND:
            self._replies.gap(missing, sequence)
        return 0

    @cython.ccall
    @cython.exceptval(-1)
    def server_position(self, sequence: cython.uint, holding: cython.bint) -> cython.int:
        """How far the server's stream has come, and whether more of it waits for a hole; asked for by what follows."""
        self._replies.position = sequence
        self._replies.holding = holding
        return 0

    @cython.cfunc
    def _before_commands(
        self,
        data: bytes,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        sequence: cython.uint,
        time_ns: cython.longlong,
    ) -> cython.bint:
        """A packet of the server before the first command; whether it is one."""
        try:
            if self._phase == _LOGIN:
                self._login_answer(data, at, end, time_ns)
            elif sequence != 0:
                return False
            else:
                self._server_greets(data, at, end, time_ns)
        except (StreamViolation, IndexError):
            return False
        return True

    @cython.cfunc
    def _server_greets(
        self, data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t, time_ns: cython.longlong
    ) -> cython.int:
        if u8(data, at, end) == 0xFF:  # turned away before the login: too many connections, host blocked
            exchange: Exchange = new_exchange(_CONNECT, self.session, time_ns)
            read_answer(exchange, data, at, end)
            self._begin(exchange, 0)
            self.waiting.finish(exchange)
            return 0
        greeting = handshake.greeting(data, at, end)
        self.session.greeted(greeting.version, greeting.connection_id)
        self.unsaved.changed()
        self.capabilities.server = greeting.capabilities
        return 0

    @cython.cfunc
    def _login_answer(
        self, data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t, time_ns: cython.longlong
    ) -> cython.int:
        """OK or ERR ends the login; anything else is a step of the proof, which is nobody's business."""
        exchange: Exchange | None = self.waiting.open
        first: cython.uint = u8(data, at, end)
        if exchange is None:
            return 0
        passed: cython.longlong = time_ns - exchange.time_ns if time_ns > exchange.time_ns else 0
        if exchange.latency_ns < 0:
            exchange.latency_ns = passed
        if first != 0x00 and first != 0xFF:
            return 0
        read_answer(exchange, data, at, end)
        if self._rules.timed or self._server_framing is not None:
            exchange.duration_ns = passed
        self.waiting.finish_oldest()
        if exchange.status == _STATUS_OK:
            self._phase = _COMMAND
            if self.may_compress:
                self.turns_to = _COMPRESSED
                self.may_compress = False
        return 0
