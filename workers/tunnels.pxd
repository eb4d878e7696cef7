from workers.wire cimport read_be16 as be16, read_u8 as u8

cpdef bint tunnelled(unsigned int protocol, int tunnels)
cpdef Py_ssize_t inner(bytes data, Py_ssize_t at, Py_ssize_t end, unsigned int protocol, int tunnels)
