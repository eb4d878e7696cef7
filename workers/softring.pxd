from workers.memory cimport load, load_acquire, move, store32, store_release

cdef class SoftRing:
    cdef readonly unsigned long long received
    cdef readonly unsigned long long freezes
    cdef int _fd
    cdef size_t _address
    cdef size_t _block_bytes
    cdef size_t _count
    cdef long long _timeout_ns
    cdef size_t _block
    cdef size_t _number
    cdef unsigned long long _sequence
    cdef bint _open
    cdef unsigned int _packets
    cdef size_t _used
    cdef long long _opened_ns
    cdef size_t _messages
    cdef size_t _slots
    cdef size_t _names
    cdef size_t _controls
    cdef int _first
    cdef int _filled
    cdef unsigned long long _time
    cdef unsigned long long _nanoseconds
    cdef unsigned long long _length
    cdef unsigned long long _vlan
    cdef unsigned long long _status
    cdef list _pinned
    cdef bint _receive(self)
    cdef int _read_control(self, int number, size_t captured)
    cdef int _begin_block(self)
    cdef int _end_block(self)
    cdef bint _put(self)
