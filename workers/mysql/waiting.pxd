from workers.mysql.events cimport Exchange, Outbox
from workers.mysql.framing cimport Allowance
from workers.mysql.statements cimport Statements
from workers.mysql.unsaved cimport Unsaved

cdef class Waiting:
    cdef readonly Exchange open
    cdef public bytes database
    cdef public unsigned int charset
    cdef public bytes last_query
    cdef public bint wants_file
    cdef Outbox _outbox
    cdef Allowance _allowance
    cdef Statements _statements
    cdef Unsaved _unsaved
    cdef list _behind
    cpdef int add(self, Exchange exchange) except? -1
    cpdef Exchange following(self)
    cpdef int finish_oldest(self) except? -1
    cpdef int finish(self, Exchange exchange) except? -1
    cpdef int close(self)
    cpdef bint file_follows(self) except? -1
    cpdef int behind_file(self, unsigned int sequence)
    cdef int _move(self, bytes database)
