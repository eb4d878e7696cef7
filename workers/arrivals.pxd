cdef class Arrivals:
    cdef object _numbers
    cdef unsigned long long[::1] _slots
    cdef Py_ssize_t _at
    cpdef int count(self, unsigned int interface, unsigned int kind)
    cdef Py_ssize_t _place(self, unsigned int interface)
