from workers.mysql.prepared cimport Prepared, skip_value, take_types
from workers.wire cimport u8, u16

cpdef bytes bulk_values(Prepared prepared, bytes data, Py_ssize_t at, Py_ssize_t end, bint cut)
cdef Py_ssize_t _skip_row(bytes types, Py_ssize_t count, bytes data, Py_ssize_t at, Py_ssize_t end) except? -1
