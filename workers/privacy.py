"""What of a statement leaves the worker: filters, literals and passwords. Pure; the last step before a block."""

from typing import Final

import cython

from workers.filters import Filters
from workers.mysql import charsets, constants
from workers.mysql.events import UNKNOWN as UNANSWERED
from workers.mysql.events import Exchange, Session
from workers.settings import Settings
from workers.sql.firstlook import may_hold_password
from workers.sql.mask import masked
from workers.sql.passwords import Clean, holds_password, without_passwords
from workers.sql.tokens import ESCAPES, NO_ESCAPES, UNKNOWN, tokens

_UNANSWERED = cython.declare(cython.uint, UNANSWERED)
_COM_QUERY = cython.declare(cython.uint, constants.COM_QUERY)
_COM_STMT_EXECUTE = cython.declare(cython.uint, constants.COM_STMT_EXECUTE)
_NO_BACKSLASH_ESCAPES = cython.declare(cython.uint, constants.SERVER_STATUS_NO_BACKSLASH_ESCAPES)
_UNKNOWN = cython.declare(cython.int, UNKNOWN)
_ESCAPES = cython.declare(cython.int, ESCAPES)
_NO_ESCAPES = cython.declare(cython.int, NO_ESCAPES)
_NAMES: Final = frozenset(
    {constants.COM_INIT_DB, constants.COM_FIELD_LIST, constants.COM_CREATE_DB, constants.COM_DROP_DB}
)
"""Commands whose text is no SQL but the name of a database or table."""
_MOST_REMEMBERED: Final = 1024
_LONGEST_REMEMBERED: Final = 4096
"""Bytes of a prepared text whose cleaned form is remembered; with the number of them it bounds what that takes."""

_Reading = tuple[bytes, int, int]


@cython.final
@cython.cclass
class Privacy:
    """Decides about exchanges that are finished, and takes out of them what the settings want nobody to see.

    Promises, each pinned by a test: where literals are masked, no byte of one leaves in any reading of the text that
    may be the server's, nor do bound values, query attributes or error messages; passwords are hidden always; what
    needs no change costs one look at its text, and stays the same object.
    """

    _mask: cython.bint
    _filters: Filters | None
    _remembered: dict[_Reading, Clean]

    def __init__(self, settings: Settings) -> None:
        self._mask = settings.literals == "mask"
        selects = settings.omit or settings.only
        self._filters = Filters(settings.omit, settings.only) if selects else None
        self._remembered = {}

    @cython.ccall
    @cython.exceptval(-1)
    def admits(self, exchange: Exchange) -> cython.bint:
        """Whether *exchange* is recorded; it is clean then. To be called once for each, in order."""
        text: bytes | None = exchange.text
        session: Session = exchange.session
        if exchange.server_status:
            session.escapes = _NO_ESCAPES if exchange.server_status & _NO_BACKSLASH_ESCAPES else _ESCAPES
        elif exchange.status == _UNANSWERED and (
            exchange.command == _COM_QUERY or exchange.command == _COM_STMT_EXECUTE
        ):
            session.escapes = _UNKNOWN  # it may have changed that
        if self._filters is not None and not self._filters.admits(exchange):
            return False
        if self._mask:
            self._mask_all(exchange)
        elif text is not None and may_hold_password(text):
            self._hide(exchange, text)
        values: bytes | None = exchange.parameters
        attributes: bytes | None = exchange.query_attributes
        if values is not None and may_hold_password(values) and holds_password(values):
            exchange.parameters = None
        if attributes is not None and may_hold_password(attributes) and holds_password(attributes):
            exchange.query_attributes = None
        if may_hold_password(exchange.message) and holds_password(exchange.message):
            exchange.message = b""
        return True

    @cython.cfunc
    @cython.exceptval(-1)
    def _mask_all(self, exchange: Exchange) -> cython.int:
        text: bytes | None = exchange.text
        exchange.parameters = None
        exchange.query_attributes = None
        exchange.message = b""
        if text is None or exchange.command in _NAMES:
            return 0
        if exchange.prepared:
            self._replace(exchange, self._recalled(exchange, text).text)
        else:
            charset = None if text.isascii() else charsets.name(exchange.charset)
            self._replace(exchange, masked(tokens(text, exchange.session.escapes, charset)))
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _hide(self, exchange: Exchange, text: bytes) -> cython.int:
        """Take passwords out of the text, and with them the values and messages that can have one too."""
        clean = self._recalled(exchange, text)
        if clean.is_bound:
            exchange.parameters = None
        if clean.is_bound or clean.text is not text:
            exchange.message = b""
        self._replace(exchange, clean.text)
        return 0

    @cython.cfunc
    def _recalled(self, exchange: Exchange, text: bytes) -> Clean:
        """The text as it may leave.

        Remembered for what was prepared, which comes again.
        """
        key = (text, exchange.session.escapes, exchange.charset)
        known = self._remembered.get(key) if exchange.prepared else None
        if known is not None:
            return known
        charset = charsets.name(exchange.charset)
        if self._mask:
            known = Clean(masked(tokens(text, exchange.session.escapes, charset)), is_bound=False)
        else:
            known = without_passwords(text, exchange.session.escapes, charset)
        if exchange.prepared and len(text) <= _LONGEST_REMEMBERED:
            if len(self._remembered) >= _MOST_REMEMBERED:
                self._remembered.clear()
            self._remembered[key] = known
        return known

    @cython.cfunc
    @cython.exceptval(-1)
    def _replace(self, exchange: Exchange, text: bytes) -> cython.int:
        """*text* instead of what was sent: as much of it was cut, and a hash of the whole would give it away."""
        before: bytes | None = exchange.text
        if before is None or before is text:
            return 0
        cut: cython.ulonglong = 0
        if exchange.text_length > cython.cast(cython.ulonglong, len(before)):
            cut = exchange.text_length - len(before)
        exchange.text = text
        exchange.text_length = len(text) + cut
        exchange.text_sha256 = None
        return 0
