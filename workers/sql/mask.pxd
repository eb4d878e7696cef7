from workers.sql.tokens cimport Tokens

cpdef bytes masked(Tokens tokens)
cdef bytes _empty(bytes text, Py_ssize_t at)
