from workers.memory cimport cut
from workers.wire cimport read_u8 as u8, read_u24 as u24
from workers.mysql.answers cimport read_answer
from workers.mysql.attributes cimport text_begins
from workers.mysql.capabilities cimport Capabilities
from workers.mysql.clone cimport Clone
from workers.mysql.commands cimport charset_chosen, database_chosen, database_named, is_boundary
from workers.mysql.events cimport Exchange, Outbox, Session, new_exchange, new_session
from workers.mysql.framing cimport Allowance, Framing
from workers.mysql.replies cimport Replies
from workers.mysql.rules cimport Rules
from workers.mysql.statements cimport Statements
from workers.mysql.unsaved cimport Unsaved
from workers.mysql.waiting cimport Waiting

cdef class MySQLConversation:
    cdef readonly Session session
    cdef readonly bint synced
    cdef readonly bint may_compress
    cdef public int turns_to
    cdef readonly Py_ssize_t rest
    cdef public int frame_sequence
    cdef readonly Capabilities capabilities
    cdef readonly Waiting waiting
    cdef readonly Statements statements
    cdef readonly Unsaved unsaved
    cdef Rules _rules
    cdef Outbox _outbox
    cdef Framing _framing
    cdef int _phase
    cdef Replies _replies
    cdef Framing _server_framing
    cdef unsigned int _answer_sequence
    cdef bint _after_gap
    cdef Clone _clone
    cpdef int client(self, bytes data, Py_ssize_t at, Py_ssize_t end, long long time_ns, unsigned int acknowledgment) except? -1
    cpdef int close(self)
    cpdef int gap(self, long long missing, long long time_ns, unsigned int acknowledgment)
    cpdef int server(self, bytes data, Py_ssize_t at, Py_ssize_t end, long long time_ns, Py_ssize_t missing=*,
                     Py_ssize_t before=*) except? -1
    cpdef int server_stream(self, bytes data, Py_ssize_t at, Py_ssize_t end, long long time_ns, unsigned int sequence) except? -1
    cpdef int server_gap(self, long long missing, unsigned int sequence)
    cpdef int server_position(self, unsigned int sequence, bint holding) except? -1
    cpdef bint join(self, bytes data, Py_ssize_t at, Py_ssize_t end)
    cdef bint _sound(self, bytes data, Py_ssize_t at, Py_ssize_t end) except? -1
    cpdef bint inside(self)
    cpdef int lose_step(self)
    cdef int _payload(self, long long time_ns, unsigned int acknowledgment) except? -1
    cdef int _file_part(self)
    cdef unsigned int _following(self) except? -1
    cdef bint _in_file(self, unsigned int sequence) except? -1
    cdef int _client_greets(self, long long time_ns, unsigned int acknowledgment)
    cdef int _log_in(self, Exchange exchange, object login, unsigned int acknowledgment)
    cdef int _command(self, long long time_ns, unsigned int acknowledgment) except? -1
    cdef Exchange _exchange_of(self, unsigned int number, long long time_ns)
    cdef int _begin(self, Exchange exchange, unsigned int acknowledgment) except? -1
    cdef int _take_text(self, Exchange exchange, unsigned int number) except? -1
    cdef int _hash_text(self) except? -1
    cdef int _change_user(self, Exchange exchange, unsigned int acknowledgment)
    cdef bint _before_commands(self, bytes data, Py_ssize_t at, Py_ssize_t end, unsigned int sequence, long long time_ns)
    cdef int _server_greets(self, bytes data, Py_ssize_t at, Py_ssize_t end, long long time_ns)
    cdef int _login_answer(self, bytes data, Py_ssize_t at, Py_ssize_t end, long long time_ns)
