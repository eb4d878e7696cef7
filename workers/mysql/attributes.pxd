from workers.mysql.commands cimport begins_with_attributes
from workers.mysql.events cimport Exchange
from workers.mysql.framing cimport Framing
from workers.mysql.prepared cimport Prepared, skip_value
from workers.wire cimport lenenc, lenenc_size, u8

cpdef Py_ssize_t text_begins(Exchange exchange, Framing framing, int attributes) except? -1
cpdef Py_ssize_t take_before_text(Exchange exchange, bytes data, Py_ssize_t at, Py_ssize_t end) except? -1
cpdef int take_behind_values(Exchange exchange, Prepared prepared, bytes data, Py_ssize_t at, Py_ssize_t end) except? -1
