from workers.mysql.events cimport Exchange

cdef class Clone:
    cdef Exchange _command
    cpdef int begin(self, Exchange command)
    cpdef bint may_begin(self, unsigned int number)
    cpdef bint takes(self, unsigned int number, long long length)
