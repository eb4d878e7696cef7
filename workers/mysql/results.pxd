from workers.wire cimport read_u16 as u16, read_u24 as u24
from workers.mysql.answers cimport read_error
from workers.mysql.beginnings cimport Beginning, is_progress, read_end
from workers.mysql.events cimport Exchange
from workers.mysql.framing cimport Allowance

cdef class Answers:
    cdef readonly Exchange exchange
    cdef public unsigned int sequence
    cdef readonly bint done
    cdef readonly bint broken
    cdef readonly bint wants_file
    cdef readonly bint streaming
    cdef public bint strict
    cdef Allowance _allowance
    cdef Beginning _beginning
    cdef int _form
    cdef int _next
    cdef long long _definitions
    cdef long long _columns
    cdef bint _prepared
    cdef long long _rows
    cdef long long _left
    cdef long long _length
    cdef bint _fresh
    cdef bint _continued
    cdef bint _keeping
    cdef bint _cut
    cdef bytes _header
    cdef list _kept
    cdef Py_ssize_t _kept_bytes
    cpdef int learn(self, unsigned long long capabilities) except? -1
    cpdef int begin(self, Exchange exchange, unsigned int sequence) except? -1
    cpdef int end(self) except? -1
    cpdef Py_ssize_t take(self, bytes data, Py_ssize_t at, Py_ssize_t end, long long time_ns) except? -1
    cpdef bint gap(self, long long missing) except? -1
    cdef int _clear(self) except? -1
    cdef int _forget(self) except? -1
    cdef Py_ssize_t _step_over(self, bytes data, Py_ssize_t at, Py_ssize_t end) except? -1
    cdef Py_ssize_t _packet(self, bytes data, Py_ssize_t at, Py_ssize_t end) except? -1
    cdef bint _in_turn(self, unsigned int sequence) except? -1
    cdef int _begin_packet(self, long long size) except? -1
    cdef Py_ssize_t _more(self, bytes data, Py_ssize_t at, Py_ssize_t end) except? -1
    cdef int _keep(self, bytes data, Py_ssize_t at, Py_ssize_t piece) except? -1
    cdef int _end_packet(self) except? -1
    cdef int _payload(self, bytes data, Py_ssize_t at, Py_ssize_t end, long long length) except? -1
    cdef int _begin_result(self, Exchange exchange, bytes data, Py_ssize_t at, Py_ssize_t end, long long length) except? -1
    cdef int _defined(self, long long count) except? -1
    cdef int _next_definitions(self) except? -1
    cdef int _ending(self, Exchange exchange, bytes data, Py_ssize_t at, Py_ssize_t end, long long length) except? -1
