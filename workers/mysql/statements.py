"""The prepared statements of one connection, by id, and what clients send for them: page_protocol_command_phase_ps."""

from typing import Final

import cython

from workers.mysql import charsets, constants
from workers.mysql.attributes import take_behind_values
from workers.mysql.bulk import bulk_values
from workers.mysql.errors import StreamViolation
from workers.mysql.events import INFERRED_ID, TRUNCATED, UNKNOWN, Exchange, Outbox
from workers.mysql.forms import CUT, CUT_ROWS, NAMED, PLAIN, ROWS, bound_in_full, form_of
from workers.mysql.framing import Allowance
from workers.mysql.numbering import Candidate, Numbering
from workers.mysql.placeholders import counts
from workers.mysql.prepared import Prepared, bound_values, bound_values_with_attributes, prepared_by
from workers.mysql.snapshot import StatementState
from workers.mysql.unsaved import Unsaved

if not cython.compiled:
    from workers.wire import u16, u32

MOST_STATEMENTS: Final = 16382
"""The server's default max_prepared_stmt_count: more than one connection can have open."""

_MOST_STATEMENTS = cython.declare(cython.Py_ssize_t, MOST_STATEMENTS)
_NO_ID = cython.declare(cython.uint, constants.PREPARE_NO_ID)
_COM_STMT_CLOSE = cython.declare(cython.uint, constants.COM_STMT_CLOSE)
_COM_STMT_RESET = cython.declare(cython.uint, constants.COM_STMT_RESET)
_FLAG_TRUNCATED = cython.declare(cython.uint, TRUNCATED)
_FLAG_INFERRED_ID = cython.declare(cython.uint, INFERRED_ID)
_STATUS_UNKNOWN = cython.declare(cython.uint, UNKNOWN)
_PLAIN = cython.declare(cython.int, PLAIN)
_NAMED = cython.declare(cython.int, NAMED)
_ROWS = cython.declare(cython.int, ROWS)
_CUT_ROWS = cython.declare(cython.int, CUT_ROWS)
_CUT = cython.declare(cython.int, CUT)
_OVERHEAD = cython.declare(cython.longlong, 512)
"""Bytes a statement or a piece of long data is charged beside its own."""
_MOST_EARLY = cython.declare(cython.Py_ssize_t, 65536)
"""Bytes of values that an execution may bring before it is known how many they are."""


@cython.final
@cython.cclass
class Statements:
    """What was prepared, and what was sent for it ahead of an execution; bounded.

    Texts are charged to ``Allowance.remembered``, half the allowance itself: beyond it, or beyond MOST_STATEMENTS, the
    oldest is forgotten. Long data is charged to the allowance. The outbox counts what is given up, cut or not read.

    Where the server is not heard its ids are inferred, and believed as long as each execution brings as many values as
    the text has placeholders: a text that does not fit its execution is left out, and nothing is inferred from then on.
    """

    _outbox: Outbox
    _allowance: Allowance
    _keep_bytes: cython.longlong
    _known: dict[int, Prepared]
    _newest: Prepared | None
    _numbering: Numbering | None
    _unheard: cython.bint
    _unsaved: Unsaved

    def __init__(self, outbox: Outbox, allowance: Allowance, keep_bytes: int, unsaved: Unsaved) -> None:
        """*keep_bytes*: how much long data one execution may have."""
        self._outbox = outbox
        self._allowance = allowance
        self._keep_bytes = keep_bytes
        self._known = {}
        self._newest = None
        self._numbering = None
        self._unheard = True
        self._unsaved = unsaved

    # --- ids that the server was not heard to give

    @cython.ccall
    def infer_ids(self) -> cython.int:
        """The login was seen and the server was not: its ids are to be inferred."""
        if self._unheard:
            self._numbering = Numbering()
        return 0

    @cython.ccall
    def queried(self, text: bytes, whole: cython.bint) -> cython.int:
        """A query was sent, for which the server may take ids."""
        if self._numbering is not None:
            self._numbering.query(text, whole)
        return 0

    @cython.ccall
    def lose_ids(self) -> cython.int:
        """Something was lost or is not as it was thought to be, or the server is heard: nothing is inferred anymore."""
        numbering: Numbering | None = self._numbering
        self._unheard = False
        self._numbering = None
        if numbering is None:
            return 0
        prepared: Prepared
        for prepared in [*self._known.values(), *numbering.unnumbered()]:
            if prepared.inferred:
                self._known.pop(prepared.statement_id, None)
            elif prepared.statement_id:
                continue
            prepared.statement_id = 0
            prepared.inferred = prepared.kept = False
            if prepared is not self._newest:
                self._discard(prepared)
        return 0

    @cython.cfunc
    def _number(self, prepared: Prepared) -> cython.int:
        """A PREPARE takes the next number, whether it fails or not."""
        if not self._make_room(prepared) or self._numbering is None or self._numbering.full():
            self.lose_ids()
            return 0
        prepared.kept = True
        self._name(prepared, self._numbering.add(prepared))
        return 0

    @cython.cfunc
    def _name(self, prepared: Prepared, number: cython.uint) -> cython.int:
        if number:
            prepared.statement_id = number
            prepared.inferred = True
            self._known[number] = prepared
        return 0

    @cython.cfunc
    def _settle(self, candidate: Candidate, number: cython.uint) -> Prepared | None:
        prepared: Prepared
        if self._numbering is not None:
            for prepared in self._numbering.settle(candidate, number):
                self._name(prepared, prepared.statement_id)
        return self._known.get(number)

    @cython.cfunc
    def _infer(
        self, exchange: Exchange, data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t, form: cython.int
    ) -> Prepared | None:
        """The statement that an id must be of, by the order alone; None where that tells nothing."""
        numbering: Numbering | None = self._numbering
        candidates: list[Candidate] | None = None if numbering is None else numbering.candidates(exchange.statement_id)
        if candidates is None or form == _CUT:
            return None
        fitting: list[Candidate] = []
        for candidate in candidates:
            prepared: Prepared = candidate[0].members[candidate[1]]
            possible = counts(prepared, charsets.codec(charsets.name(prepared.charset)))
            if not possible:  # it can be no other's, or anyone's
                return self._settle(candidate, exchange.statement_id) if len(candidates) == 1 else None
            for count in possible:
                if bound_in_full(prepared, count, data, at, end, form, False) is not None:
                    fitting.append(candidate)
                    break
        if not fitting:
            self.lose_ids()
        return self._settle(fitting[0], exchange.statement_id) if len(fitting) == 1 else None

    # --- what was prepared

    @cython.cfunc
    def _find(self, statement_id: cython.uint) -> Prepared | None:
        """The statement of that id, or the one prepared last; None where it is not known."""
        if statement_id == _NO_ID:
            return self._newest
        found: Prepared | None = self._known.get(statement_id)
        if found is None and self._numbering is not None:
            candidates = self._numbering.candidates(statement_id)
            if candidates is not None and len(candidates) == 1:
                found = self._settle(candidates[0], statement_id)
        return found

    @cython.ccall
    @cython.exceptval(-1)
    def prepare(self, exchange: Exchange) -> cython.int:
        """A PREPARE was sent: until it is answered it has no id, but an execution may follow it at once."""
        self._drop_newest()
        prepared: Prepared = prepared_by(exchange)  # the text is charged with the exchange
        prepared.charset = exchange.charset
        self._newest = prepared
        if self._numbering is not None:
            self._number(prepared)
        return 0

    @cython.ccall
    def refused(self, exchange: Exchange) -> cython.int:
        """A PREPARE failed, or its answer is waited for no longer; then it can still be executed as the last one."""
        newest: Prepared | None = self._newest
        if newest is None or newest.text is not exchange.text:
            return 0
        if exchange.status != _STATUS_UNKNOWN or not (newest.charged or self._charge(newest)):
            self._drop_newest()
        else:
            self._read_early(newest)
        return 0

    @cython.cfunc
    def _charge(self, prepared: Prepared) -> cython.bint:
        """Charge for the text, if there is room for it."""
        text: bytes | None = prepared.text
        size: cython.longlong = _OVERHEAD + (0 if text is None else len(text))
        if self._allowance.remembered + size > self._allowance.limit // 2:
            return False
        self._allowance.remembered += size
        prepared.charged = size
        return True

    @cython.cfunc
    def _discard(self, prepared: Prepared) -> cython.int:
        prepared.kept = False
        self._allowance.remembered -= prepared.charged
        prepared.charged = 0
        self._drop_long_data(prepared)
        return 0

    @cython.cfunc
    def _may_wait(self, prepared: Prepared, size: cython.longlong) -> cython.bint:
        """Whether values are kept until the PREPARE is answered."""
        return not prepared.restored and prepared.early is None and size <= _MOST_EARLY and self._has_room(size)

    @cython.cfunc
    def _has_room(self, size: cython.longlong) -> cython.bint:
        return self._allowance.used + size + _OVERHEAD <= self._allowance.limit

    @cython.cfunc
    def _charge_waiting(self, prepared: Prepared, size: cython.longlong) -> cython.int:
        """Charge for values that are kept until a PREPARE is answered."""
        prepared.waiting_charged += size + _OVERHEAD
        self._allowance.used += size + _OVERHEAD
        return 0

    @cython.cfunc
    def _answered(self, prepared: Prepared) -> cython.int:
        self._allowance.used -= prepared.waiting_charged
        prepared.waiting_charged = 0
        return 0

    @cython.ccall
    @cython.exceptval(-1)
    def prepared(self, exchange: Exchange) -> cython.int:
        """A PREPARE was answered with an id. An execution that was sent ahead of the answer gets its values now."""
        self.lose_ids()
        prepared: Prepared | None = self._newest
        if prepared is None or prepared.text is not exchange.text or prepared.kept:  # another one was sent since
            prepared = prepared_by(exchange)
        elif prepared.charged:
            self._allowance.remembered -= prepared.charged
            prepared.charged = 0
        self._answered(prepared)
        prepared.statement_id = exchange.statement_id
        prepared.parameter_count = exchange.parameter_count
        early: Exchange | None = prepared.early
        if early is not None:
            values: bytes = prepared.early_values
            prepared.early = None
            prepared.early_values = b""
            early.statement_id = prepared.statement_id
            self._read_values(early, prepared, values, 0, len(values), prepared.early_form)
        if exchange.statement_id == _NO_ID:
            return 0  # from no server: it would be the statement prepared last, whichever that is
        self.close(exchange.statement_id)
        if self._make_room(prepared):
            prepared.kept = True
            self._known[exchange.statement_id] = prepared
            self._unsaved.prepared(exchange.statement_id)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _make_room(self, prepared: Prepared) -> cython.bint:
        """Charge for the text; False where there is no room even without any other statement of the connection."""
        while len(self._known) >= _MOST_STATEMENTS or not self._charge(prepared):
            self._outbox.forgotten_statements += 1
            if not self._known:
                return False
            self.close(next(iter(self._known)))
        return True

    @cython.ccall
    @cython.exceptval(-1)
    def execute(
        self,
        exchange: Exchange,
        data: bytes,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        cut: cython.bint,
        waits: cython.bint,
        attributes: cython.int,
    ) -> cython.int:
        """page_protocol_com_stmt_execute in ``data[at:end]``: statement id, flags, iteration count, then the values.

        Or a bulk execution: statement id, flags, rows. *cut*: the end of it was not kept. *waits*: the exchange is not
        reported before what was sent ahead of it is answered. *attributes*: whether commands may bring query
        attributes, -1 where that is not known. Raises IndexError where the packet is too short for an execution.
        """
        exchange.statement_id = u32(data, at, end)
        prepared: Prepared | None = self._known.get(exchange.statement_id)
        if exchange.statement_id == _NO_ID:
            prepared = self._newest
            exchange.statement_id = 0
        form: cython.int = form_of(exchange, prepared, data, at, end, cut, attributes, self._keep_bytes)
        if form == _ROWS or form == _CUT_ROWS:
            at += 4
            end = min(end, at + cython.cast(cython.Py_ssize_t, self._keep_bytes))
        else:
            at += 9
        if self._numbering is not None:
            self._numbering.disturb()
            if prepared is None and exchange.statement_id:
                prepared = self._infer(exchange, data, at, end, form)
        if prepared is not None:
            types: bytes = prepared.types
            self._take_values(exchange, prepared, data, at, end, form, waits)
            if prepared.types is not types and prepared.types != types and not prepared.inferred:
                self._unsaved.prepared(prepared.statement_id)
        elif form == _NAMED:
            self._take_attributes(exchange, None, data, at, end)
        return 0

    @cython.cfunc
    def _take_values(
        self,
        exchange: Exchange,
        prepared: Prepared,
        data: bytes,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        form: cython.int,
        waits: cython.bint,
    ) -> cython.int:
        """The text and values of an execution of *prepared*."""
        if prepared.inferred and exchange.statement_id:
            if not self._guess(exchange, prepared, data, at, end, form):
                self._deny(prepared, form)
                return 0
            exchange.flags |= _FLAG_INFERRED_ID
            self._join(exchange, prepared)
            return 0
        self._join(exchange, prepared)
        if prepared.statement_id and not prepared.inferred:
            exchange.statement_id = prepared.statement_id
        if form == _CUT:
            self._outbox.unread_parameters += prepared.parameter_count != 0
            self._drop_long_data(prepared)
        elif prepared.parameter_count >= 0 and not prepared.restored:
            self._read_values(exchange, prepared, data, at, end, form)
        elif waits and self._may_wait(prepared, end - at):
            self._charge_waiting(prepared, end - at)
            prepared.early = exchange
            prepared.early_values = data[at:end]
            prepared.early_form = form
        elif self._guess(exchange, prepared, data, at, end, form):
            prepared.restored = False  # the types that were known hold, and what changes from here on is seen
        else:
            self._outbox.unread_parameters += 1
            if form == _NAMED:
                self._take_attributes(exchange, None, data, at, end)
        return 0

    @cython.cfunc
    def _join(self, exchange: Exchange, prepared: Prepared) -> cython.int:
        exchange.text = prepared.text
        exchange.prepared = True
        exchange.text_length = prepared.text_length
        if prepared.text is not None and prepared.text_length > cython.cast(cython.ulonglong, len(prepared.text)):
            exchange.text_sha256 = prepared.text_sha256
            exchange.flags |= _FLAG_TRUNCATED
        return 0

    @cython.cfunc
    def _deny(self, prepared: Prepared, form: cython.int) -> cython.int:
        """An execution does not have the values of the statement that its id was thought to be of, or may not have."""
        self._outbox.unread_parameters += 1
        if form != _CUT and counts(prepared, charsets.codec(charsets.name(prepared.charset))):
            self.lose_ids()
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _read_values(
        self,
        exchange: Exchange,
        prepared: Prepared,
        data: bytes,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        form: cython.int,
    ) -> cython.int:
        if prepared.parameter_count == 0 and form != _NAMED:
            return 0
        try:
            if form == _PLAIN:
                exchange.parameters = bound_values(prepared, data, at, end)
            elif form == _NAMED:
                if prepared.parameter_count:
                    exchange.parameters = bound_values_with_attributes(prepared, data, at, end)
                take_behind_values(exchange, prepared, data, at, end)
            else:
                exchange.parameters = bulk_values(prepared, data, at, end, form == _CUT_ROWS)
        except (StreamViolation, IndexError):
            self._outbox.unread_parameters += 1
        if prepared.long_data_cut:
            exchange.flags |= _FLAG_TRUNCATED
        if prepared.long_data is not None or prepared.long_data_cut:
            self._drop_long_data(prepared)
        return 0

    @cython.cfunc
    def _guess(
        self,
        exchange: Exchange,
        prepared: Prepared,
        data: bytes,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        form: cython.int,
    ) -> cython.bint:
        """Read values of which the text alone tells how many they are. Whether they fill their packet."""
        possible: list[int] = [prepared.parameter_count]
        if prepared.parameter_count < 0:
            possible = sorted(counts(prepared, charsets.codec(charsets.name(prepared.charset))))
        for count in possible:
            bound = bound_in_full(prepared, count, data, at, end, form, True)
            if bound is not None:
                exchange.parameters = bound or None
                if form == _NAMED:
                    self._take_attributes(exchange, prepared, data, at, end)
                if prepared.long_data_cut:
                    exchange.flags |= _FLAG_TRUNCATED
                self._drop_long_data(prepared)
                return True
        self._drop_long_data(prepared)
        return False

    @cython.cfunc
    def _take_attributes(
        self,
        exchange: Exchange,
        prepared: Prepared | None,
        data: bytes,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
    ) -> cython.int:
        """Take the query attributes; *prepared* is None where it is not known how many values the statement takes."""
        try:
            take_behind_values(exchange, prepared, data, at, end)
        except (StreamViolation, IndexError):
            self._outbox.unread_parameters += prepared is not None
        return 0

    @cython.cfunc
    def _read_early(self, prepared: Prepared) -> cython.int:
        """The answer that would tell how many values were sent ahead of it will not come."""
        early: Exchange | None = prepared.early
        values: bytes = prepared.early_values
        self._answered(prepared)
        prepared.early = None
        prepared.early_values = b""
        if early is not None and not self._guess(early, prepared, values, 0, len(values), prepared.early_form):
            self._outbox.unread_parameters += 1
            if prepared.early_form == _NAMED:
                self._take_attributes(early, None, values, 0, len(values))
        return 0

    @cython.ccall
    def long_data(self, data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.int:
        """page_protocol_com_stmt_send_long_data: a piece of one parameter, kept until the execution.

        Raises IndexError where the packet is too short to say of which.
        """
        prepared: Prepared | None = self._find(u32(data, at, end))
        index: cython.uint = u16(data, at + 4, end)
        if prepared is None:
            return 0
        size: cython.longlong = end - at - 6
        charge: cython.longlong = size + _OVERHEAD
        if prepared.long_data_bytes + size > self._keep_bytes or not self._has_room(size):
            prepared.long_data_cut = True
        if prepared.long_data_cut:  # what comes behind a hole would be joined to what is before it
            return 0
        long_data: dict[int, list[bytes]] | None = prepared.long_data
        if long_data is None:
            long_data = {}
            prepared.long_data = long_data
        pieces: list[bytes] = long_data.setdefault(index, [])
        pieces.append(data[at + 6 : end])
        prepared.long_data_bytes += size
        prepared.long_data_charged += charge
        self._allowance.used += charge
        return 0

    @cython.cfunc
    def _drop_long_data(self, prepared: Prepared) -> cython.int:
        self._allowance.used -= prepared.long_data_charged
        prepared.long_data_charged = 0
        prepared.long_data_bytes = 0
        prepared.long_data_cut = False
        prepared.long_data = None
        return 0

    @cython.cfunc
    def _drop_newest(self) -> cython.int:
        """Let go of what was prepared last where it has no id: nothing else would."""
        newest: Prepared | None = self._newest
        self._newest = None
        if newest is not None:
            self._read_early(newest)
            if not newest.kept:
                self._discard(newest)
        return 0

    @cython.ccall
    def command(self, exchange: Exchange, data: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.int:
        """CLOSE, RESET or FETCH: it names a statement, and nothing else that is recorded.

        Raises IndexError where the packet is too short for that.
        """
        exchange.statement_id = u32(data, at, end)
        if exchange.command == _COM_STMT_CLOSE:
            self.close(exchange.statement_id)
        elif exchange.command == _COM_STMT_RESET:
            prepared: Prepared | None = self._find(exchange.statement_id)
            if prepared is not None:
                self._drop_long_data(prepared)
        return 0

    @cython.ccall
    @cython.exceptval(-1)
    def close(self, statement_id: cython.uint) -> cython.int:
        """The statement is no more; nothing happens where it is not known."""
        prepared: Prepared | None = self._find(statement_id)
        self._known.pop(statement_id, None)
        if prepared is not None and statement_id != _NO_ID:
            self._unsaved.closed(statement_id, prepared.saved)
            if prepared is self._newest:
                self._newest = None
                self._read_early(prepared)
            self._discard(prepared)
        return 0

    @cython.ccall
    def forget(self) -> cython.int:
        """All statements are no more: the session was reset, or is over."""
        while self._known:
            self.close(next(iter(self._known)))
        prepared: Prepared
        if self._numbering is not None:
            for prepared in self._numbering.forget():
                if prepared is not self._newest:
                    self._discard(prepared)
                prepared.kept = False
        self._drop_newest()
        return 0

    # --- what another worker takes over

    def ids(self) -> list[int]:
        """Of all that the server was heard to give one."""
        return [number for number, prepared in self._known.items() if not prepared.inferred]

    def state(self, statement_id: int) -> StatementState | None:
        """What is known of that statement; None where it is none. It is taken to be written down."""
        prepared: Prepared | None = self._known.get(statement_id)
        if prepared is None or prepared.inferred or prepared.text is None:
            return None
        prepared.saved = True
        return StatementState(
            statement_id,
            prepared.parameter_count,
            prepared.charset,
            prepared.types,
            prepared.text_length,
            prepared.text_sha256,
            prepared.text,
        )

    def restore(self, state: StatementState) -> None:
        """Know that statement from now on; its types are believed once the values of an execution fill their packet."""
        prepared: Prepared = Prepared(state.text, state.text_length, state.parameter_count, state.text_sha256)
        prepared.statement_id = state.statement_id
        prepared.charset = state.charset
        prepared.types = state.types
        prepared.restored = prepared.saved = True
        if self._make_room(prepared):
            prepared.kept = True
            self._known[state.statement_id] = prepared
