from workers.packet cimport Packet
from workers.reassembly cimport Reassembly
from workers.tcp.flows cimport Flow
from workers.tcp.pieces cimport distance
from workers.tcp.stream cimport Stream

cdef class Encrypted:
    cdef readonly unsigned long long connections
    cdef readonly unsigned long long client_bytes
    cdef readonly unsigned long long server_bytes
    cdef Reassembly _reassembly
    cpdef int begin(self, Flow flow)
    cpdef int begin_by_client(self, Flow flow, Packet packet)
    cpdef int begin_by_server(self, Flow flow, Packet packet)
    cpdef int client(self, Flow flow, Packet packet)
    cpdef int server(self, Flow flow, Packet packet)
    cdef long long _reach(self, Stream stream, unsigned int sequence, long long size)
