from workers.mysql.connection cimport Connection
from workers.mysql.framing cimport Allowance
from workers.tcp.flows cimport Flow
from workers.tcp.pieces cimport Held
from workers.tcp.stream cimport Stream

cdef class Reassembly:
    cdef readonly unsigned long long gaps
    cdef readonly unsigned long long gap_bytes
    cdef readonly unsigned long long server_gaps
    cdef readonly unsigned long long server_gap_bytes
    cdef readonly unsigned long long held
    cdef readonly unsigned long long disagreeing
    cdef readonly unsigned long long returns
    cdef public bint impatient
    cdef list _reasons
    cdef Allowance _allowance
    cdef Py_ssize_t _most_held
    cdef long long _patience_ns
    cdef bint _both
    cdef list _waiting
    cdef Py_ssize_t _many
    cpdef int client(self, Flow flow, object owner, bytes data, Py_ssize_t at, Py_ssize_t end, Py_ssize_t missing,
                     unsigned int sequence, unsigned int acknowledgment, long long time_ns) except? -1
    cpdef int server(self, Flow flow, object owner, bytes data, Py_ssize_t at, Py_ssize_t end, Py_ssize_t missing,
                     unsigned int sequence, long long time_ns) except? -1
    cpdef int release(self, Flow flow)
    cpdef int end(self, Flow flow, long long missing)
    cpdef int tick(self, long long now_ns)
    cdef int _tell_position(self, Flow flow, object owner) except? -1
    cdef int _not_delivered(self, Flow flow, Stream stream, int verdict) except? -1
    cdef int _restart(self, Flow flow, Stream stream, object owner, unsigned int sequence, long long time_ns)
    cdef int _forget_those_that_wait_no_longer(self)
    cdef int _wait(self, Flow flow, Stream stream)
    cdef int _charge(self, Flow flow)
    cdef int _note_disagreements(self, Flow flow)
    cdef int _deliver_held(self, Flow flow, Stream stream, object owner)
    cdef int _deliver(self, Flow flow, Stream stream, Held held, object owner)
    cdef int _give_up(self, Flow flow, Stream stream, int reason)
    cdef int _lost(self, object owner, long long missing, long long time_ns, unsigned int acknowledgment, int reason) except? -1
    cdef int _server_lost(self, object owner, long long missing, long long place)
