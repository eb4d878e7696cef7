cdef class Capabilities:
    cdef public unsigned long long client
    cdef public unsigned long long server
    cpdef unsigned long long negotiated(self) except? -1
    cpdef int attributes(self) except? -1
