"""What of one connection has changed since it was last written down for whoever takes over."""

from typing import Any

import cython

from workers.mysql.events import Outbox


@cython.final
@cython.cclass
class Unsaved:
    """Notes changes, and is in ``outbox.unsaved`` once as long as there are any; where that is None, nothing is noted.

    ``ends``: of the connection. ``owner``: who has its state, from open() to end(). ``number``: the one under which it
    was written down, 0 where it was not. ``session``: it is another one, or more is known of it; ``statements``: those
    of which that holds, by their ids. ``ended``: nothing is known any more.
    """

    ends: bytes
    owner: object
    number: cython.ulonglong
    session: cython.bint
    ended: cython.bint
    statements: dict[int, None]
    _outbox: Outbox
    _listed: cython.bint

    def __init__(self, outbox: Outbox, ends: bytes) -> None:
        self.ends = ends
        self.owner = None
        self.number = 0
        self.session = self.ended = False
        self.statements = {}
        self._outbox = outbox
        self._listed = outbox.unsaved is None

    def open(self, owner: object) -> None:
        """*owner* has the state, and asks for no copy of it where nothing is noted."""
        if self._outbox.unsaved is not None:
            self.owner = owner

    @cython.ccall
    def changed(self) -> cython.int:
        """Something is known of the session that was not before."""
        self.session = True
        return self._list()

    @cython.ccall
    def prepared(self, statement_id: cython.uint) -> cython.int:
        """A statement is another one, or its values are of other types."""
        if self.owner is not None:
            self.statements[statement_id] = None
            self._list()
        return 0

    @cython.ccall
    def closed(self, statement_id: cython.uint, saved: cython.bint) -> cython.int:
        """A statement is no more; *saved*: it was written down."""
        if saved:
            self.prepared(statement_id)
        elif self.statements:
            self.statements.pop(statement_id, None)
        return 0

    @cython.ccall
    def end(self) -> cython.int:
        """The connection is over."""
        self.owner = None
        self.ended = True
        self.statements.clear()
        return self._list()

    @cython.cfunc
    def _list(self) -> cython.int:
        unsaved: list[Any] | None = self._outbox.unsaved
        if not self._listed and unsaved is not None:
            self._listed = True
            unsaved.append(self)
        return 0

    def written(self, number: int) -> None:
        """All of it was written down under *number*, or is not to be (0)."""
        self.number = number
        self.session = self._listed = False
        self.statements.clear()
