from workers.mysql.events cimport Outbox

cdef class Unsaved:
    cdef readonly bytes ends
    cdef readonly object owner
    cdef public unsigned long long number
    cdef readonly bint session
    cdef readonly bint ended
    cdef readonly dict statements
    cdef Outbox _outbox
    cdef bint _listed
    cpdef int changed(self)
    cpdef int prepared(self, unsigned int statement_id)
    cpdef int closed(self, unsigned int statement_id, bint saved)
    cpdef int end(self)
    cdef int _list(self)
