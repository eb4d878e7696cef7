from workers.encrypted cimport Encrypted
from workers.mysql.connection cimport Connection
from workers.mysql.rules cimport Rules
from workers.mysql.events cimport Outbox
from workers.packet cimport Packet
from workers.reassembly cimport Reassembly
from workers.tcp.flows cimport Flow, FlowTable
from workers.tcp.pieces cimport distance, wrapped
from workers.tcp.stream cimport Stream

cdef class Connections:
    cdef readonly Reassembly reassembly
    cdef readonly Encrypted encrypted
    cdef readonly unsigned long long opened
    cdef readonly unsigned long long evicted
    cdef readonly unsigned long long half_open
    cdef public object checkpoint
    cdef FlowTable _table
    cdef bytes _protocols
    cdef Outbox _outbox
    cdef Rules _rules
    cdef bint _whole
    cdef long long _idle_ns
    cpdef int client(self, Packet packet, bytes data, long long time_ns) except? -1
    cpdef int server(self, Packet packet, bytes data, long long time_ns) except? -1
    cpdef int sweep(self, long long now_ns)
    cdef int _client_data(self, Flow flow, Packet packet, bytes data, unsigned int sequence, long long time_ns) except? -1
    cdef int _client_minded(self, Flow flow, Packet packet, bytes data, Py_ssize_t size, long long time_ns)
    cdef int _client_ends(self, Flow flow, Packet packet, bytes data, Py_ssize_t size, long long time_ns)
    cdef int _client_resets(self, Flow flow, unsigned int sequence)
    cdef int _client_syn(self, Flow flow, Packet packet, bytes data, long long time_ns)
    cdef int _server_data(self, Flow flow, Packet packet, bytes data, long long time_ns) except? -1
    cdef int _server_said(self, Flow flow, Packet packet, bytes data, long long time_ns)
    cdef int _server_minded(self, Flow flow, Packet packet, bytes data, Py_ssize_t size, long long time_ns)
    cdef int _server_ends(self, Flow flow, Packet packet, bytes data, Py_ssize_t size, long long time_ns)
    cdef int _server_syn(self, Flow flow, Packet packet, long long time_ns)
    cdef Flow _add_of_server(self, Packet packet)
    cdef Flow _add(self, unsigned long long client_high, unsigned long long client_low, unsigned int client_port,
                   unsigned long long server_high, unsigned long long server_low, unsigned int server_port)
    cdef int _begin(self, Flow flow, unsigned int sequence)
    cdef int _unspoken(self, Flow flow, Packet packet, bint strange, long long time_ns)
    cdef bint _goes_on(self, Flow flow, unsigned int sequence, Py_ssize_t size)
    cdef int _mind(self, Flow flow)
    cdef int _close(self, Flow flow)
    cdef int _renew(self, Flow flow, unsigned int first)
    cdef int _change_over(self, Flow flow, unsigned int sequence)
    cdef int _remove(self, Flow flow)
