from workers.arrivals cimport Arrivals
from workers.blocks cimport BlockBuilder
from workers.connections cimport Connections
from workers.encrypted cimport Encrypted
from workers.mysql.rules cimport Rules
from workers.mysql.events cimport Exchange, Outbox
from workers.mysql.framing cimport Allowance
from workers.packet cimport Packet
from workers.privacy cimport Privacy

cdef class Pipeline:
    cdef readonly bint full
    cdef readonly Arrivals arrivals
    cdef public unsigned long long blocks_losing
    cdef public long long block_age_ns
    cdef bytes _is_server
    cdef Packet _packet
    cdef Outbox _outbox
    cdef Rules _rules
    cdef Allowance _allowance
    cdef Privacy _privacy
    cdef BlockBuilder _builder
    cdef Connections _connections
    cdef long long _now_ns
    cdef long long _swept_ns
    cdef Py_ssize_t _batched
    cdef unsigned long long _batch_bytes
    cdef unsigned long long _told
    cdef long long _untold_since_ns
    cdef unsigned long long _used
    cdef unsigned long long _duplicate
    cdef unsigned long long _empty
    cdef unsigned long long _unmatched
    cdef unsigned long long _encrypted
    cdef unsigned long long _compressed
    cdef unsigned long long _desync
    cdef unsigned long long _stray
    cdef unsigned long long _fragment
    cdef unsigned long long _malformed
    cdef unsigned long long _foreign
    cdef bint _clock_in_doubt
    cdef unsigned int _set_from
    cdef long long _set_at_ns
    cdef long long _set_by_ns
    cdef unsigned long long _clock_steps
    cdef unsigned long long _durations_unknown
    cdef unsigned long long _statements_packed
    cdef unsigned long long _statements_filtered
    cdef unsigned long long _snapped
    cpdef int packet(self, bytes data, Py_ssize_t at, Py_ssize_t end, long long time_ns, Py_ssize_t wire_length) except? -1
    cpdef int skip(self, unsigned long long packets) except? -1
    cdef int _refuse(self, int kind) except? -1
    cdef int _count(self, int verdict) except? -1
    cdef bint _account_due(self, long long now_ns)
    cdef unsigned long long _packets(self)
    cdef int _batch(self) except? -1
    cdef int _pack(self) except? -1
    cdef int _add(self, Exchange exchange) except? -1
    cdef int _forget_times(self, Exchange exchange)
