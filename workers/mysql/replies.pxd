from workers.wire cimport read_u24 as u24
from workers.mysql.beginnings cimport Beginning
from workers.mysql.events cimport Exchange, Outbox
from workers.mysql.framing cimport Allowance
from workers.mysql.results cimport Answers
from workers.mysql.waiting cimport Waiting

cdef class Replies:
    cdef readonly bint in_step
    cdef public unsigned int position
    cdef public bint holding
    cdef public bint strict
    cdef Outbox _outbox
    cdef Waiting _waiting
    cdef bint _timed
    cdef bint _lingering
    cdef Beginning _beginning
    cdef Allowance _allowance
    cdef Answers _answers
    cpdef int settle(self, unsigned int acknowledgment) except? -1
    cpdef int close(self)
    cpdef bint segment(self, bytes data, Py_ssize_t at, Py_ssize_t end, long long time_ns, Py_ssize_t missing, Py_ssize_t before) except? -1
    cpdef bint quiet(self, long long before_ns)
    cpdef bint stream(self, bytes data, Py_ssize_t at, Py_ssize_t end, long long time_ns, unsigned int sequence) except? -1
    cpdef int learn(self, unsigned long long capabilities)
    cpdef int gap(self, long long missing, unsigned int sequence)
    cdef int _begin(self, Exchange exchange, bytes data, Py_ssize_t at, Py_ssize_t end) except? -1
    cdef int _time(self, Exchange exchange, Py_ssize_t length, long long time_ns) except? -1
    cdef int _begun(self, int kind) except? -1
    cdef int _more(self, Exchange exchange, Py_ssize_t length, long long time_ns) except? -1
    cdef bint _another_begins(self, bytes data, Py_ssize_t at, Py_ssize_t end) except? -1
    cdef Answers _reader(self)
    cdef bint _find(self, Answers answers, bytes data, Py_ssize_t at, Py_ssize_t end, long long sequence) except? -1
    cdef int _give_up(self, Answers answers)
    cdef int _lose_step(self)
