from workers.wire cimport read_u8 as u8, read_u24 as u24

cpdef bint begins_with_attributes(bytes data, Py_ssize_t at, Py_ssize_t end) except? -1
cpdef bytes database_chosen(bytes text)
cpdef bytes database_named(bytes text)
cpdef unsigned int charset_chosen(bytes text) except? -1
cpdef bint is_boundary(bytes data, Py_ssize_t at, Py_ssize_t end) except? -1
cpdef bint is_tls_record(bytes data, Py_ssize_t at, Py_ssize_t end) except? -1
