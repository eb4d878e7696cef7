from workers.wire cimport read_u24 as u24

cdef class Allowance:
    cdef readonly long long limit
    cdef public long long used
    cdef public long long remembered

cdef class Framing:
    cdef readonly bint complete
    cdef readonly bytes data
    cdef readonly Py_ssize_t begin
    cdef readonly Py_ssize_t finish
    cdef readonly long long length
    cdef readonly unsigned int sequence
    cdef readonly unsigned int last_sequence
    cdef readonly bint cut
    cdef readonly bint full
    cdef readonly bint inside
    cdef long long _left
    cdef bint _continued
    cdef int _extent
    cdef bytes _header
    cdef list _kept
    cdef long long _kept_bytes
    cdef long long _keep_limit
    cdef object _hash
    cdef Py_ssize_t _hashed_from
    cdef Allowance _allowance
    cpdef int reset(self)
    cpdef Py_ssize_t next(self, bytes data, Py_ssize_t at, Py_ssize_t end) except? -1
    cpdef int reset_payload(self) except? -1
    cpdef int hash_from(self, Py_ssize_t start)
    cpdef bytes sha256(self, Py_ssize_t start)
    cpdef bint gap(self, long long missing)
    cpdef bint give_up(self)
    cdef bint _finish(self) except? -1
    cdef int _show(self) except? -1
    cdef Py_ssize_t _read_header(self, bytes data, Py_ssize_t at, Py_ssize_t end) except? -1
    cdef Py_ssize_t _collect(self, bytes data, Py_ssize_t at, Py_ssize_t end) except? -1
    cdef long long _keep(self, bytes data, Py_ssize_t at, long long size) except? -1
