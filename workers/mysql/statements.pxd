from workers.mysql.attributes cimport take_behind_values
from workers.mysql.bulk cimport bulk_values
from workers.mysql.events cimport Exchange, Outbox
from workers.mysql.forms cimport bound_in_full, form_of
from workers.mysql.framing cimport Allowance
from workers.mysql.prepared cimport Prepared, bound_values, bound_values_with_attributes, prepared_by
from workers.mysql.unsaved cimport Unsaved
from workers.wire cimport read_u16 as u16, read_u32 as u32

cdef class Statements:
    cdef Outbox _outbox
    cdef Allowance _allowance
    cdef long long _keep_bytes
    cdef dict _known
    cdef Prepared _newest
    cdef object _numbering
    cdef bint _unheard
    cdef Unsaved _unsaved
    cpdef int infer_ids(self)
    cpdef int queried(self, bytes text, bint whole)
    cpdef int lose_ids(self)
    cdef int _number(self, Prepared prepared)
    cdef int _name(self, Prepared prepared, unsigned int number)
    cdef Prepared _settle(self, object candidate, unsigned int number)
    cdef Prepared _infer(self, Exchange exchange, bytes data, Py_ssize_t at, Py_ssize_t end, int form)
    cdef Prepared _find(self, unsigned int statement_id)
    cpdef int prepare(self, Exchange exchange) except? -1
    cpdef int refused(self, Exchange exchange)
    cdef bint _charge(self, Prepared prepared)
    cdef int _discard(self, Prepared prepared)
    cdef bint _may_wait(self, Prepared prepared, long long size)
    cdef bint _has_room(self, long long size)
    cdef int _charge_waiting(self, Prepared prepared, long long size)
    cdef int _answered(self, Prepared prepared)
    cpdef int prepared(self, Exchange exchange) except? -1
    cdef bint _make_room(self, Prepared prepared) except? -1
    cpdef int execute(self, Exchange exchange, bytes data, Py_ssize_t at, Py_ssize_t end, bint cut, bint waits, int attributes) except? -1
    cdef int _take_values(self, Exchange exchange, Prepared prepared, bytes data, Py_ssize_t at, Py_ssize_t end, int form, bint waits)
    cdef int _join(self, Exchange exchange, Prepared prepared)
    cdef int _deny(self, Prepared prepared, int form)
    cdef bint _guess(self, Exchange exchange, Prepared prepared, bytes data, Py_ssize_t at, Py_ssize_t end, int form)
    cdef int _read_early(self, Prepared prepared)
    cdef int _take_attributes(self, Exchange exchange, Prepared prepared, bytes data, Py_ssize_t at, Py_ssize_t end)
    cdef int _read_values(self, Exchange exchange, Prepared prepared, bytes data, Py_ssize_t at, Py_ssize_t end, int form) except? -1
    cpdef int long_data(self, bytes data, Py_ssize_t at, Py_ssize_t end)
    cdef int _drop_long_data(self, Prepared prepared)
    cdef int _drop_newest(self)
    cpdef int command(self, Exchange exchange, bytes data, Py_ssize_t at, Py_ssize_t end)
    cpdef int close(self, unsigned int statement_id) except? -1
    cpdef int forget(self)
