"""All that a conversation can report."""

from typing import Any, Final

import cython

# Exchange.status
UNKNOWN: Final = 0
"""No answer was seen."""
OK: Final = 1
ERROR: Final = 2
RESULT: Final = 3
"""The server answered with rows."""

# Exchange.flags; FLAG_NAMES gives bit 0's name first.
TRUNCATED: Final = 1 << 0
INFERRED_TEXT: Final = 1 << 1
INFERRED_ID: Final = 1 << 2
AFTER_GAP: Final = 1 << 3
SLOW: Final = 1 << 4
LOOKED_UP: Final = 1 << 5
RESTORED: Final = 1 << 6
JOINED_LATE: Final = 1 << 7
NO_INDEX_USED: Final = 1 << 8
NO_GOOD_INDEX_USED: Final = 1 << 9
FLAG_NAMES: Final = (
    "truncated",
    "inferred_text",
    "inferred_id",
    "after_gap",
    "slow",
    "looked_up",
    "restored",
    "joined_late",
    "no_index_used",
    "no_good_index_used",
)


@cython.final
@cython.cclass
class Session:
    """What is known of one connection from one login (or COM_CHANGE_USER) to the next. Bytes as they were sent.

    ``connection_id`` is 0 and the texts are None while unknown; ``attributes`` are the connection attributes in
    their wire form (length-encoded key and value pairs). ``restored``: what is known of it was heard by another worker.
    ``ends`` (who talks to whom), ``packed``, ``mark``,
    ``row``, ``database`` and ``database_row`` belong to whoever ships sessions; ``packed`` is None again once something
    has changed. ``escapes`` and ``verdict`` belong to whoever decides what of it is shipped.
    """

    connection_id: cython.ulonglong
    server_version: bytes | None
    user: bytes | None
    attributes: bytes
    ends: bytes
    charset: cython.uint
    encrypted: cython.bint
    compressed: cython.bint
    from_start: cython.bint
    restored: cython.bint
    packed: bytes | None
    mark: cython.ulonglong
    row: cython.Py_ssize_t
    database: bytes | None
    database_row: cython.ulonglong
    escapes: cython.int
    verdict: cython.int

    def __init__(self) -> None:
        self.connection_id = 0
        self.server_version = None
        self.user = None
        self.attributes = b""
        self.ends = b""
        self.charset = 0
        self.encrypted = False
        self.compressed = False
        self.from_start = False
        self.restored = False
        self.packed = None
        self.mark = 0
        self.row = 0
        self.database = None
        self.database_row = 0
        self.escapes = 0
        self.verdict = 0

    @cython.ccall
    def greeted(self, server_version: bytes, connection_id: cython.ulonglong) -> cython.int:
        """The server said who it is."""
        self.server_version = server_version
        self.connection_id = connection_id
        self.packed = None
        return 0

    @cython.ccall
    def logs_in(self, user: bytes, attributes: bytes, charset: cython.uint) -> cython.int:
        """The client said who it is."""
        self.user = user
        self.attributes = attributes
        self.charset = charset
        self.packed = None
        self.verdict = 0
        return 0

    @cython.ccall
    def successor(self) -> "Session":
        """The same connection with nobody logged in yet."""
        other: Session = Session()
        other.connection_id = self.connection_id
        other.ends = self.ends
        other.server_version = self.server_version
        other.encrypted = self.encrypted
        other.compressed = self.compressed
        other.from_start = self.from_start
        return other


@cython.ccall
def new_session(ends: bytes, from_start: cython.bint) -> Session:
    """Of a connection of which nothing is known yet."""
    session: Session = Session()
    session.ends = ends
    session.from_start = from_start
    return session


_OVERHEAD = cython.declare(cython.longlong, 512)  # of an Exchange without its text
_NOBODY = cython.declare(Session, Session())
"""Stands in an exchange that nobody has filled in yet."""


@cython.freelist(128)
@cython.no_gc
@cython.final
@cython.cclass
class Exchange:
    """A client sent a command, and this is what became of it.

    ``text``: the argument as sent, cut to the limit; for an execution the text that was prepared; None where there
    is none or it is not known (``prepared``: it is the text of an earlier PREPARE). ``text_length``: of the whole,
    ``text_sha256``: its hash where the text is cut and all of it was seen.
    ``parameters``: bound values in the form of ``prepared.py`` or ``bulk.py``; ``query_attributes`` in that of
    ``attributes.py``. Times in ns: ``latency_ns`` reaches to the
    first byte of the answer, ``duration_ns`` to its last; ``rows`` is how many it brought; -1 where unknown. Of an
    answer with several results ``affected_rows`` and ``warnings`` are the sums. ``server_status``: the status flags
    that came last. ``moves_to``: the database in which the commands behind it run, unless it fails; ``sets_charset``:
    their character set, as a collation id; ``confirmed``: the server said so, and a failure of what followed changes
    nothing. While it waits for its answer, ``acknowledgment`` is how much of the server the client had read,
    ``sequence`` the sequence id that the answer has, ``clock`` that of the outbox when it began to wait, ``charged``
    what its conversation has charged for it.
    """

    command: cython.uint
    status: cython.uint
    flags: cython.uint
    charset: cython.uint
    error_code: cython.uint
    warnings: cython.uint
    statement_id: cython.uint
    parameter_count: cython.uint
    prepared: cython.bint
    time_ns: cython.longlong
    latency_ns: cython.longlong
    duration_ns: cython.longlong
    rows: cython.longlong
    server_status: cython.uint
    text_length: cython.ulonglong
    affected_rows: cython.ulonglong
    last_insert_id: cython.ulonglong
    bytes_in: cython.ulonglong
    bytes_out: cython.ulonglong
    acknowledgment: cython.uint
    sequence: cython.uint
    clock: cython.uint
    charged: cython.longlong
    session: Session
    text: bytes | None
    text_sha256: bytes | None
    parameters: bytes | None
    query_attributes: bytes | None
    database: bytes | None
    moves_to: bytes | None
    sets_charset: cython.uint
    confirmed: cython.bint
    sqlstate: bytes
    message: bytes

    def __init__(self) -> None:
        self._blank()

    @cython.cfunc
    @cython.exceptval(check=False)
    def _blank(self) -> cython.int:
        if not cython.compiled:  # where it is, an object begins with zeros and Nones
            self.command = self.status = self.flags = self.charset = self.error_code = self.warnings = 0
            self.statement_id = self.parameter_count = self.time_ns = self.server_status = self.text_length = 0
            self.affected_rows = self.last_insert_id = self.bytes_in = self.bytes_out = self.acknowledgment = 0
            self.charged = self.sets_charset = self.clock = 0
            self.prepared = self.confirmed = False
            self.text_sha256 = None
            self.text = self.parameters = self.query_attributes = self.database = self.moves_to = None
        self.session = _NOBODY
        self.latency_ns = self.duration_ns = self.rows = -1
        self.sequence = 1
        self.sqlstate = self.message = b""
        return 0

    @cython.ccall
    @cython.exceptval(-1)
    def own_bytes(self) -> cython.longlong:
        """About how much memory it takes, without a text that belongs to a prepared statement."""
        size: cython.longlong = _OVERHEAD
        text: bytes | None = self.text
        parameters: bytes | None = self.parameters
        if text is not None and not self.prepared:
            size += len(text)
        if parameters is not None:
            size += len(parameters)
        attributes: bytes | None = self.query_attributes
        if attributes is not None:
            size += len(attributes)
        return size

    def __repr__(self) -> str:
        return (
            f"Exchange(command={self.command}, text={self.text!r}, status={self.status}, flags={self.flags}, "
            f"error_code={self.error_code}, statement_id={self.statement_id}, parameters={self.parameters!r}, "
            f"database={self.database!r}, affected_rows={self.affected_rows}, latency_ns={self.latency_ns})"
        )


@cython.ccall
def new_exchange(command: cython.uint, session: Session, time_ns: cython.longlong) -> Exchange:
    """As Exchange(), with what is known at once; made for each command, so without a call of the class."""
    exchange: Exchange = Exchange.__new__(Exchange)
    exchange._blank()
    exchange.command = command
    exchange.session = session
    exchange.time_ns = time_ns
    return exchange


@cython.final
@cython.cclass
class Outbox:
    """Where conversations put what they report, in the order in which it was finished.

    ``decoded`` counts the commands read so far that become records, finished or not; ``finished`` holds those whose
    answer has come, or is no longer waited for; whoever takes them out clears the list. ``unsaved``: the connections of
    which something is to be written down (``unsaved.py``), None where nobody does. ``lingering``: whose quiet()
    has to be asked once in a while, until it says no. ``clock`` is another one whenever the host's clock was set: times
    of two clocks have no difference.
    """

    clock: cython.uint
    finished: list[Exchange]
    unsaved: list[Any] | None
    lingering: list[Any]
    decoded: cython.ulonglong
    truncated: cython.ulonglong
    desyncs: cython.ulonglong
    unread_parameters: cython.ulonglong
    forgotten_statements: cython.ulonglong

    def __init__(self) -> None:
        self.clock = 0
        self.finished = []
        self.unsaved = None
        self.lingering = []
        self.decoded = 0
        self.truncated = 0
        self.desyncs = 0
        self.unread_parameters = 0
        self.forgotten_statements = 0
