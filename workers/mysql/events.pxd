cdef class Session:
    cdef public unsigned long long connection_id
    cdef public bytes server_version
    cdef public bytes user
    cdef public bytes attributes
    cdef public bytes ends
    cdef public unsigned int charset
    cdef public bint encrypted
    cdef public bint compressed
    cdef public bint from_start
    cdef public bint restored
    cdef public bytes packed
    cdef public unsigned long long mark
    cdef public Py_ssize_t row
    cdef public bytes database
    cdef public unsigned long long database_row
    cdef public int escapes
    cdef public int verdict
    cpdef int greeted(self, bytes server_version, unsigned long long connection_id)
    cpdef int logs_in(self, bytes user, bytes attributes, unsigned int charset)
    cpdef Session successor(self)

cdef class Exchange:
    cdef public unsigned int command
    cdef public unsigned int status
    cdef public unsigned int flags
    cdef public unsigned int charset
    cdef public unsigned int error_code
    cdef public unsigned int warnings
    cdef public unsigned int statement_id
    cdef public unsigned int parameter_count
    cdef public bint prepared
    cdef public long long time_ns
    cdef public long long latency_ns
    cdef public long long duration_ns
    cdef public long long rows
    cdef public unsigned int server_status
    cdef public unsigned long long text_length
    cdef public unsigned long long affected_rows
    cdef public unsigned long long last_insert_id
    cdef public unsigned long long bytes_in
    cdef public unsigned long long bytes_out
    cdef public unsigned int acknowledgment
    cdef public unsigned int sequence
    cdef public unsigned int clock
    cdef public long long charged
    cdef public Session session
    cdef public bytes text
    cdef public bytes text_sha256
    cdef public bytes parameters
    cdef public bytes query_attributes
    cdef public bytes database
    cdef public bytes moves_to
    cdef public unsigned int sets_charset
    cdef public bint confirmed
    cdef public bytes sqlstate
    cdef public bytes message
    cdef int _blank(self) noexcept
    cpdef long long own_bytes(self) except? -1

cpdef Session new_session(bytes ends, bint from_start)
cpdef Exchange new_exchange(unsigned int command, Session session, long long time_ns)

cdef class Outbox:
    cdef public unsigned int clock
    cdef readonly list finished
    cdef public list unsaved
    cdef public list lingering
    cdef public unsigned long long decoded
    cdef public unsigned long long truncated
    cdef public unsigned long long desyncs
    cdef public unsigned long long unread_parameters
    cdef public unsigned long long forgotten_statements
