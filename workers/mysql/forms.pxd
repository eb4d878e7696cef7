from workers.mysql.bulk cimport bulk_values
from workers.mysql.events cimport Exchange
from workers.mysql.prepared cimport Prepared, bound_values, bound_values_with_attributes
from workers.wire cimport read_u8 as u8

cpdef int form_of(Exchange exchange, Prepared prepared, bytes data, Py_ssize_t at, Py_ssize_t end, bint cut, int attributes,
                  long long keep_bytes) except? -1
cpdef bytes bound_in_full(Prepared prepared, Py_ssize_t count, bytes data, Py_ssize_t at, Py_ssize_t end, int form,
                          bint believed)
