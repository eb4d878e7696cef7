from workers.tunnels cimport inner, tunnelled
from workers.wire cimport read_be16 as be16, read_be64 as be64, check_read as check, load_be16 as checked_be16, load_be32 as checked_be32, read_u8 as u8

cdef class Packet:
    cdef readonly unsigned long long source_high
    cdef readonly unsigned long long source_low
    cdef readonly unsigned long long target_high
    cdef readonly unsigned long long target_low
    cdef readonly unsigned int source_port
    cdef readonly unsigned int target_port
    cdef readonly unsigned int sequence
    cdef readonly unsigned int acknowledgment
    cdef readonly unsigned int flags
    cdef readonly Py_ssize_t payload
    cdef readonly Py_ssize_t payload_end
    cdef readonly Py_ssize_t missing
    cdef int _tunnels
    cdef unsigned int _protocol
    cdef Py_ssize_t _body
    cdef Py_ssize_t _stop
    cpdef int decode(self, bytes data, Py_ssize_t at, Py_ssize_t end, Py_ssize_t wire_length) except? -1
    cdef int _network(self, bytes data, Py_ssize_t at, Py_ssize_t end, Py_ssize_t wire_length) except? -1
    cdef int _other(self, unsigned int protocol, Py_ssize_t body, Py_ssize_t stop)
    cdef int _ipv4(self, bytes data, Py_ssize_t at, Py_ssize_t end, Py_ssize_t wire_length) except? -1
    cdef int _ipv6(self, bytes data, Py_ssize_t at, Py_ssize_t end, Py_ssize_t wire_length) except? -1
    cdef int _tcp(self, bytes data, Py_ssize_t at, Py_ssize_t end, Py_ssize_t whole_end) except? -1
