from workers.wire cimport lenenc, lenenc_size, read_u8 as u8, read_u16 as u16, read_u32 as u32
from workers.mysql.events cimport Exchange

cpdef bint read_answer(Exchange exchange, bytes data, Py_ssize_t at, Py_ssize_t end) except? -1
cpdef int read_ok(Exchange exchange, bytes data, Py_ssize_t at, Py_ssize_t end) except? -1
cpdef int read_eof(Exchange exchange, bytes data, Py_ssize_t at, Py_ssize_t end) except? -1
cpdef int read_error(Exchange exchange, bytes data, Py_ssize_t at, Py_ssize_t end) except? -1
cpdef bint read_prepared(Exchange exchange, bytes data, Py_ssize_t at, Py_ssize_t end) except? -1
