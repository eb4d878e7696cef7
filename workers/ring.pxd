from workers.memory cimport load_acquire, store_release
from workers.arrivals cimport Arrivals
from workers.pipeline cimport Pipeline
from workers.wire cimport read_u16 as u16, read_u32 as u32, read_u64 as u64

cdef class Ring:
    cdef readonly unsigned long long corrupt
    cdef size_t _address
    cdef size_t _block_bytes
    cdef size_t _count
    cdef size_t _next
    cdef bytes _block
    cdef Py_ssize_t _at
    cdef unsigned int _left
    cdef bint _take_block(self, Pipeline pipeline)
    cdef int _walk(self, Pipeline pipeline) except? -1
