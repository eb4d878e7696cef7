"""The prepared statements of one connection by the ids that the client chose: page_mysqlx_protocol, Mysqlx.Prepare."""

from dataclasses import dataclass
from typing import Final

from workers.mysql.events import TRUNCATED, Exchange, Outbox
from workers.mysql.framing import Allowance
from workers.mysql.snapshot import StatementState
from workers.mysql.statements import MOST_STATEMENTS
from workers.mysql.unsaved import Unsaved

_MOST_CURSORS: Final = 256
"""That are kept in mind; clients have one or two."""
_OVERHEAD: Final = 512
"""Bytes a statement is charged beside its text."""


@dataclass(frozen=True, slots=True)
class _Prepared:
    text: bytes
    text_length: int
    charged: int
    number: int
    """How many were prepared before it, and it."""


class Statements:
    """What was prepared, bounded as in the classic protocol: beyond it the oldest is forgotten and counted."""

    def __init__(self, outbox: Outbox, allowance: Allowance, unsaved: Unsaved) -> None:
        self._outbox = outbox
        self._unsaved = unsaved
        self._allowance = allowance
        self._known: dict[int, _Prepared] = {}
        self._cursors: dict[int, int] = {}
        self._prepared = 0

    def prepare(self, exchange: Exchange) -> int:
        """A Prepare was sent; an execution may follow it at once. Its number, for refuse()."""
        self.close(exchange.statement_id)
        self._prepared += 1
        if exchange.text is not None:
            self._remember(exchange.statement_id, exchange.text, exchange.text_length)
            self._unsaved.prepared(exchange.statement_id)
        return self._prepared

    def _remember(self, statement_id: int, text: bytes, text_length: int) -> None:
        charge = len(text) + _OVERHEAD
        while len(self._known) >= MOST_STATEMENTS or self._allowance.remembered + charge > self._allowance.limit // 2:
            self._outbox.forgotten_statements += 1
            if not self._known:
                return
            self.close(next(iter(self._known)))
        self._allowance.remembered += charge
        self._known[statement_id] = _Prepared(text, text_length, charge, self._prepared)

    def execute(self, exchange: Exchange) -> None:
        """Give an execution the text that was prepared, where it is known."""
        prepared = self._known.get(exchange.statement_id)
        if prepared is None:
            return
        exchange.text = prepared.text
        exchange.text_length = prepared.text_length
        exchange.prepared = True
        if prepared.text_length > len(prepared.text):
            exchange.flags |= TRUNCATED

    def refuse(self, statement_id: int, number: int) -> None:
        """The server has not prepared it; another of the same id may have been sent since."""
        prepared = self._known.get(statement_id)
        if prepared is not None and prepared.number == number:
            self.close(statement_id)

    def close(self, statement_id: int) -> None:
        """The statement is no more; nothing happens where it is not known."""
        prepared = self._known.pop(statement_id, None)
        if prepared is not None:
            self._allowance.remembered -= prepared.charged
            self._unsaved.closed(statement_id, True)

    def open_cursor(self, cursor_id: int, statement_id: int) -> None:
        """A cursor was opened for a statement, of which a later one may take its number."""
        self._cursors.pop(cursor_id, None)
        if len(self._cursors) >= _MOST_CURSORS:
            del self._cursors[next(iter(self._cursors))]
        self._cursors[cursor_id] = statement_id

    def of_cursor(self, cursor_id: int, *, over: bool) -> int:
        """The statement that a cursor is for, 0 where that is not known. *over*: it is closed."""
        return self._cursors.pop(cursor_id, 0) if over else self._cursors.get(cursor_id, 0)

    def forget(self) -> None:
        """All statements and cursors are no more: the session was reset, or is over."""
        self._cursors.clear()
        for statement_id in list(self._known):
            self.close(statement_id)

    # --- what another worker takes over

    def ids(self) -> list[int]:
        """Of all that are known."""
        return list(self._known)

    def state(self, statement_id: int) -> StatementState | None:
        """What is known of that statement; None where it is none."""
        known = self._known.get(statement_id)
        return None if known is None else StatementState(statement_id, 0, 0, b"", known.text_length, None, known.text)

    def restore(self, state: StatementState) -> None:
        """Know that statement from now on."""
        self._remember(state.statement_id, state.text, state.text_length)
