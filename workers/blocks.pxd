from workers.memory cimport copy_into
from workers.mysql.events cimport Exchange, Session

cdef class Column:
    cdef readonly unsigned long long largest
    cdef object _numbers
    cdef unsigned long long[::1] _slots
    cdef Py_ssize_t _room
    cdef int _grow(self)
    cdef int _clear(self, Py_ssize_t rows)
    cdef bint reset(self, Py_ssize_t row)
    cdef int set(self, Py_ssize_t row, unsigned long long value) except? -1

cdef class Texts:
    cdef readonly Py_ssize_t size
    cdef bytearray _room
    cdef int add(self, bytes text) except? -1
    cdef int _clear(self)

cdef class BlockBuilder:
    cdef readonly Py_ssize_t rows
    cdef readonly long long opened_ns
    cdef readonly bint full
    cdef public long long clock_ns
    cdef int _worker
    cdef unsigned int _incarnation
    cdef unsigned long long _sequence
    cdef unsigned long long _mark
    cdef Py_ssize_t _bytes
    cdef long long _first_ns
    cdef long long _last_ns
    cdef long long _previous_ns
    cdef long long _base_ns
    cdef unsigned long long _errors
    cdef object _before
    cdef dict _columns
    cdef Column _time
    cdef Column _session
    cdef Column _database
    cdef Column _command
    cdef Column _status
    cdef Column _flags
    cdef Column _charset
    cdef Column _error_code
    cdef Column _warnings
    cdef Column _statement_id
    cdef Column _affected_rows
    cdef Column _last_insert_id
    cdef Column _latency
    cdef Column _duration
    cdef Column _returned
    cdef Column _bytes_in
    cdef Column _bytes_out
    cdef Column _sql_size
    cdef Column _sql_cut
    cdef Column _sql_sha256
    cdef Column _sql_string
    cdef Column _parameters_size
    cdef Column _attributes_size
    cdef Column _error_size
    cdef Texts _sql
    cdef Texts _parameters
    cdef Texts _attributes
    cdef Texts _error
    cdef dict _strings
    cdef list _sessions
    cdef int _reset(self)
    cpdef int add(self, Exchange exchange, long long now_ns) except? -1
    cdef int _add_text(self, Py_ssize_t row, Exchange exchange) except? -1
    cdef int _add_cut(self, Py_ssize_t row, Exchange exchange, unsigned long long missing) except? -1
    cdef int _add_answer(self, Py_ssize_t row, Exchange exchange) except? -1
    cdef unsigned long long _string(self, bytes text) except? -1
    cdef unsigned long long _session_row(self, Session session) except? -1
