from workers.memory cimport load_acquire, store_release
from workers.arrivals cimport Arrivals
from workers.pipeline cimport Pipeline
from workers.wire cimport u16, u32

cdef class FrameRing:
    cdef readonly unsigned long long corrupt
    cdef size_t _address
    cdef size_t _block_bytes
    cdef size_t _frame_bytes
    cdef size_t _per_block
    cdef size_t _count
    cdef size_t _next
    cdef bint _found
    cdef int _turn(self, Pipeline pipeline)
    cdef size_t _place(self, size_t number)
    cdef size_t _after(self, size_t number)
