"""The commands of one connection whose answers have not ended, in order, and what their answers change."""

import cython

from workers.mysql import constants, events
from workers.mysql.commands import loads_a_file
from workers.mysql.events import Exchange, Outbox
from workers.mysql.framing import Allowance
from workers.mysql.statements import Statements
from workers.mysql.unsaved import Unsaved

_STATUS_OK = cython.declare(cython.uint, events.OK)
_STATUS_ERROR = cython.declare(cython.uint, events.ERROR)
_COM_STMT_PREPARE = cython.declare(cython.uint, constants.COM_STMT_PREPARE)
_MOST_OPEN = cython.declare(cython.Py_ssize_t, 64)
"""Commands of one connection that can wait for their answers: no client sends so many ahead."""


@cython.final
@cython.cclass
class Waiting:
    """Keeps exchanges until their answers have come, and reports them.

    ``open``: the oldest, which is answered next. ``database`` and ``charset``: what commands run in from now on.
    ``last_query``: how the newest command begins, where it is a query; ``wants_file``: its answer has asked for a file.
    What waits is charged to the allowance.
    """

    open: Exchange | None
    database: bytes | None
    charset: cython.uint
    last_query: bytes | None
    wants_file: cython.bint
    _outbox: Outbox
    _allowance: Allowance
    _statements: Statements
    _unsaved: Unsaved
    _behind: list[Exchange]

    def __init__(self, outbox: Outbox, allowance: Allowance, statements: Statements, unsaved: Unsaved) -> None:
        self.open = None
        self.database = None
        self.charset = 0
        self.last_query = None
        self.wants_file = False
        self._outbox = outbox
        self._allowance = allowance
        self._statements = statements
        self._unsaved = unsaved
        self._behind = []

    @cython.ccall
    @cython.exceptval(-1)
    def add(self, exchange: Exchange) -> cython.int:
        """Keep *exchange* until its answer comes; without room for it, those before it are waited for no longer."""
        allowance: Allowance = self._allowance
        exchange.clock = self._outbox.clock
        exchange.charged = exchange.own_bytes()
        allowance.used += exchange.charged
        if self.open is None:
            self.open = exchange
        else:
            self._behind.append(exchange)
        while self._behind and (len(self._behind) > _MOST_OPEN or allowance.used > allowance.limit):
            self.finish_oldest()
        if allowance.used > allowance.limit:
            self.finish_oldest()
        return 0

    @cython.ccall
    def following(self) -> Exchange | None:
        """The one that was sent behind the oldest."""
        return self._behind[0] if self._behind else None

    @cython.ccall
    @cython.exceptval(-1)
    def finish_oldest(self) -> cython.int:
        """The oldest is waited for no longer: its answer has come, or never will."""
        exchange: Exchange | None = self.open
        self.open = self._behind.pop(0) if self._behind else None
        if exchange is not None:
            self._allowance.used -= exchange.charged
            self.finish(exchange)
        return 0

    @cython.ccall
    @cython.exceptval(-1)
    def finish(self, exchange: Exchange) -> cython.int:
        """The exchange is over: what it changes in the session holds from now on, unless it is known to have failed."""
        holds: cython.bint = exchange.confirmed or exchange.status != _STATUS_ERROR
        if exchange.moves_to is not None and holds:
            self._move(exchange.moves_to)
        if exchange.command == _COM_STMT_PREPARE:
            if exchange.status == _STATUS_OK:
                self._statements.prepared(exchange)
            else:
                self._statements.refused(exchange)
        if exchange.sets_charset and holds:
            if self.charset != exchange.sets_charset:
                self._unsaved.changed()
            self.charset = exchange.sets_charset
        self._outbox.finished.append(exchange)
        return 0

    @cython.cfunc
    def _move(self, database: bytes) -> cython.int:
        """Commands run in *database* from now on, those sent ahead too."""
        if self.database != database:
            self._unsaved.changed()
        self.database = database
        waiting: Exchange
        if self.open is not None:
            self.open.database = database
            for waiting in self._behind:
                waiting.database = database
        return 0

    @cython.ccall
    def close(self) -> cython.int:
        """Whatever waits gets no answer."""
        while self.open is not None:
            self.finish_oldest()
        return 0

    # --- LOAD DATA LOCAL

    @cython.ccall
    @cython.exceptval(-1)
    def file_follows(self) -> cython.bint:
        """Whether what does not begin as a command can be a file: it was asked for, or may have been."""
        return self.wants_file or (self.last_query is not None and loads_a_file(self.last_query))

    @cython.ccall
    def behind_file(self, sequence: cython.uint) -> cython.int:
        """A packet of the file was sent: the newest command's answer has the sequence id *sequence*."""
        newest: Exchange | None = self._behind[-1] if self._behind else self.open
        if newest is not None:
            newest.sequence = sequence
        return 0
