from workers.mysql.framing cimport Allowance
from workers.wire cimport read_u8 as u8, read_u24 as u24

cpdef bint is_frame(bytes data, Py_ssize_t at, Py_ssize_t end) except? -1

cdef class CompressedFraming:
    cdef readonly bint complete
    cdef readonly bint inside
    cdef readonly bytes payload
    cdef readonly unsigned int sequence
    cdef Allowance _allowance
    cdef bytes _header
    cdef long long _left
    cdef long long _plain_length
    cdef list _kept
    cdef long long _kept_bytes
    cdef bint _overflowed
    cpdef int reset(self)
    cdef int _let_go(self)
    cpdef Py_ssize_t next(self, bytes data, Py_ssize_t at, Py_ssize_t end)
    cdef int _keep(self, bytes piece)
    cdef int _open(self)
