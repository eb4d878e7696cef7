from workers.mysql.events cimport Exchange, Session
from workers.sql.firstlook cimport may_hold_password
from workers.sql.mask cimport masked
from workers.sql.tokens cimport Tokens, tokens

cdef class Privacy:
    cdef bint _mask
    cdef object _filters
    cdef dict _remembered
    cpdef bint admits(self, Exchange exchange) except? -1
    cdef int _mask_all(self, Exchange exchange) except? -1
    cdef int _hide(self, Exchange exchange, bytes text) except? -1
    cdef object _recalled(self, Exchange exchange, bytes text)
    cdef int _replace(self, Exchange exchange, bytes text) except? -1
