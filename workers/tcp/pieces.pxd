from workers.wire cimport check_read as check, load_be32 as checked_be32

cpdef unsigned int wrapped(long long sequence) noexcept
cpdef long long distance(long long later, long long earlier) noexcept
cpdef unsigned long long mark(bytes data, Py_ssize_t at, Py_ssize_t end) except? -1

cdef class Held:
    cdef readonly unsigned int sequence
    cdef readonly bytes data
    cdef readonly long long missing
    cdef readonly long long time_ns
    cdef readonly unsigned int acknowledgment
    cdef readonly bint seen

cdef class Hole:
    cdef readonly unsigned int start
    cdef readonly long long size
    cdef readonly bytes beyond
    cdef readonly bytes copy
    cpdef Hole joined(self, Hole other)
