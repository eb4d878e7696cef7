from workers.tcp.pieces cimport Held, Hole, distance, mark, wrapped

cdef class Stream:
    cdef readonly bint started
    cdef readonly unsigned int next
    cdef readonly Py_ssize_t start
    cdef readonly Py_ssize_t stop
    cdef readonly long long gap
    cdef readonly bint returned
    cdef readonly Py_ssize_t held_bytes
    cdef readonly Py_ssize_t kept_bytes
    cdef public unsigned int acknowledgment
    cdef readonly long long held_since_ns
    cdef readonly long long strayed_ns
    cdef readonly unsigned long long disagreements
    cdef list _held
    cdef bint _released
    cdef list _holes
    cdef unsigned int _seen
    cdef long long _seen_bytes
    cdef bytes _seen_copy
    cdef bint _passing
    cdef unsigned int _left
    cdef unsigned int _left_low
    cdef bint _was_left
    cdef unsigned int _last
    cdef long long _last_bytes
    cdef unsigned long long _last_mark
    cpdef int open(self, unsigned int sequence)
    cpdef int offer(self, unsigned int sequence, bytes data, Py_ssize_t at, Py_ssize_t end, Py_ssize_t missing, long long time_ns) except? -1
    cpdef Held take(self)
    cpdef long long skip(self)
    cpdef int settle(self)
    cpdef int forget_copies(self)
    cpdef int age(self)
    cpdef int restart(self, unsigned int sequence)
    cpdef bint is_due(self, long long before_ns, long long ahead_ns)
    cpdef unsigned int farthest(self)
    cpdef long long skipped(self, unsigned int sequence)
    cpdef bint advance(self, unsigned int sequence, Py_ssize_t length) except? -1
    cdef int _elsewhere(self, unsigned int sequence, bytes data, Py_ssize_t at, Py_ssize_t end, Py_ssize_t missing, long long time_ns) except? -1
    cdef bint _go_back(self, unsigned int sequence)
    cdef int _deliver(self, unsigned int sequence, bytes data, Py_ssize_t at, Py_ssize_t end, Py_ssize_t missing, long long time_ns) except? -1
    cdef int _return_for(self, unsigned int sequence, bytes data, Py_ssize_t at, Py_ssize_t end)
    cdef int _return(self, Hole hole)
    cdef int _remember(self, bytes data, Py_ssize_t start, Py_ssize_t stop, long long after)
    cdef int _add_hole(self, Hole hole)
    cdef int _forget_hole(self, Hole hole)
    cdef int _forget_seen(self)
    cdef int _before_seen(self, unsigned int sequence, bytes data, Py_ssize_t at, Py_ssize_t end, Py_ssize_t missing, long long time_ns)
    cdef bint _is_copy(self, bytes known, bytes data, Py_ssize_t at, Py_ssize_t end, long long first, long long size)
    cdef int _hold(self, unsigned int sequence, bytes data, Py_ssize_t at, Py_ssize_t end, Py_ssize_t missing, long long time_ns)
    cdef Held _piece(self, unsigned int sequence, bytes data, Py_ssize_t at, long long first, long long last, Py_ssize_t missing, long long time_ns)
    cdef int _compare(self, Held held, long long offset, bytes data, Py_ssize_t at, long long first, long long last)
    cdef int _insert(self, Held held)
    cdef int _stop_at_held(self, bytes data, Py_ssize_t missing, long long time_ns)
    cdef Held _pass_seen(self)
    cdef int _find_oldest(self)
    cdef long long _give_up(self, unsigned int sequence, bytes beyond)
