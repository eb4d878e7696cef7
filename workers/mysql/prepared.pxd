from workers.mysql.events cimport Exchange
from workers.wire cimport lenenc, lenenc_size, read_u8 as u8

cdef class Prepared:
    cdef readonly bytes text
    cdef readonly unsigned long long text_length
    cdef readonly bytes text_sha256
    cdef public Py_ssize_t parameter_count
    cdef public bytes types
    cdef public unsigned int statement_id
    cdef public dict long_data
    cdef public long long long_data_bytes
    cdef public long long long_data_charged
    cdef public bint long_data_cut
    cdef public long long waiting_charged
    cdef public long long charged
    cdef public Exchange early
    cdef public bytes early_values
    cdef public int early_form
    cdef public unsigned int charset
    cdef public bint inferred
    cdef public bint kept
    cdef public bint restored
    cdef public bint saved

cpdef Prepared prepared_by(Exchange exchange)
cpdef Py_ssize_t skip_value(bytes data, Py_ssize_t at, Py_ssize_t end, unsigned int code) except? -1
cpdef Py_ssize_t take_types(Prepared prepared, bytes data, Py_ssize_t at, Py_ssize_t end, bint sent) except? -1
cpdef bytes bound_values(Prepared prepared, bytes data, Py_ssize_t at, Py_ssize_t end)
cpdef bytes bound_values_with_attributes(Prepared prepared, bytes data, Py_ssize_t at, Py_ssize_t end)
cdef Py_ssize_t _values_end(bytes types, bytes header, bytes data, Py_ssize_t at, Py_ssize_t end) except? -1
