from workers.tcp.stream cimport Stream

cdef class Flow:
    cdef readonly unsigned long long client_high
    cdef readonly unsigned long long client_low
    cdef readonly unsigned long long server_high
    cdef readonly unsigned long long server_low
    cdef readonly unsigned int client_port
    cdef readonly unsigned int server_port
    cdef readonly Stream client
    cdef readonly Stream server
    cdef readonly int state
    cdef public long long last_ns
    cdef public bint waiting
    cdef public bint minded
    cdef public bint has_rival
    cdef public bint has_back
    cdef public bint encrypted
    cdef public int known
    cdef public int ended
    cdef public unsigned int first
    cdef public unsigned int server_first
    cdef public unsigned int client_end
    cdef public unsigned int rival
    cdef public unsigned int back
    cdef public Py_ssize_t charged
    cdef public unsigned long long disagreements
    cdef public object owner
    cdef unsigned long long _hash
    cdef Flow _chain
    cdef Flow _older
    cdef Flow _newer
    cpdef int begin(self)
    cpdef int end(self)

cdef class _Queue:
    cdef Flow oldest
    cdef Flow newest
    cdef int append(self, Flow flow)
    cdef int take(self, Flow flow)

cdef class FlowTable:
    cdef readonly Py_ssize_t count
    cdef _Queue _half_open
    cdef _Queue _closed
    cdef list _buckets
    cdef unsigned long long _mask
    cdef Py_ssize_t _limit
    cdef unsigned long long _secret
    cdef unsigned long long _hand
    cpdef Flow find(self, unsigned long long client_high, unsigned long long client_low, unsigned int client_port,
                    unsigned long long server_high, unsigned long long server_low, unsigned int server_port)
    cpdef Flow add(self, unsigned long long client_high, unsigned long long client_low, unsigned int client_port,
                   unsigned long long server_high, unsigned long long server_low, unsigned int server_port)
    cpdef int remove(self, Flow flow)
    cpdef int move(self, Flow flow, int state)
    cdef int _leave(self, Flow flow)
    cdef unsigned long long _key(self, unsigned long long client_high, unsigned long long client_low, unsigned int client_port,
                                 unsigned long long server_high, unsigned long long server_low, unsigned int server_port) except? -1
    cdef int _grow(self)
