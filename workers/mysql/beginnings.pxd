from workers.wire cimport lenenc, lenenc_size, read_u8 as u8, read_u16 as u16
from workers.mysql.answers cimport read_eof, read_error, read_ok, read_prepared
from workers.mysql.events cimport Exchange

cpdef bint is_progress(bytes data, Py_ssize_t at, Py_ssize_t end) except? -1
cpdef bint read_end(Exchange exchange, bytes data, Py_ssize_t at, Py_ssize_t end, long long length) except? -1

cdef class Beginning:
    cdef readonly long long definitions
    cdef readonly long long columns
    cpdef int read(self, Exchange exchange, bytes data, Py_ssize_t at, Py_ssize_t end, long long length) except? -1
    cdef int _ok(self, Exchange exchange, bytes data, Py_ssize_t at, Py_ssize_t end, long long length) except? -1
    cdef int _count(self, Exchange exchange, bytes data, Py_ssize_t at, Py_ssize_t end, long long length) except? -1
