from workers.mysql.framing cimport Allowance

cdef class Rules:
    cdef readonly long long keep_bytes
    cdef readonly bint answers
    cdef readonly Allowance allowance
    cdef readonly bint timed
