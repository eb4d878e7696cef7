from workers.wire cimport read_u24 as u24
from workers.mysql.commands cimport is_tls_record
from workers.mysql.compression cimport CompressedFraming, is_frame
from workers.mysql.conversation cimport MySQLConversation
from workers.mysql.rules cimport Rules
from workers.mysql.events cimport Outbox

cdef class Connection:
    cdef readonly MySQLConversation conversation
    cdef readonly long long concealed_bytes
    cdef Rules _rules
    cdef int _carrier
    cdef CompressedFraming _frames
    cdef bint _in_frames
    cdef CompressedFraming _server_frames
    cdef bint _in_server_frames
    cdef bytes _prefix
    cpdef int client(self, bytes data, Py_ssize_t at, Py_ssize_t end, long long time_ns, unsigned int acknowledgment) except? -1
    cpdef int server(self, bytes data, Py_ssize_t at, Py_ssize_t end, long long time_ns, Py_ssize_t missing=*,
                     Py_ssize_t before=*) except? -1
    cpdef int server_stream(self, bytes data, Py_ssize_t at, Py_ssize_t end, long long time_ns, unsigned int sequence) except? -1
    cpdef int server_gap(self, long long missing, unsigned int sequence)
    cpdef int server_position(self, unsigned int sequence, bint holding) except? -1
    cdef int _open_server_frames(self, bytes data, Py_ssize_t at, Py_ssize_t end, long long time_ns, unsigned int sequence)
    cpdef int gap(self, long long missing, long long time_ns, unsigned int acknowledgment)
    cpdef int close(self)
    cdef int _turn(self, int carrier)
    cdef int _recognise(self, bytes data, Py_ssize_t at, Py_ssize_t end)
    cdef bint _frame_holds_command(self, bytes data, Py_ssize_t at, Py_ssize_t end)
    cdef bint _turns_to_frames(self, bytes data, Py_ssize_t at, Py_ssize_t end)
    cdef int _open_frames(self, bytes data, Py_ssize_t at, Py_ssize_t end, long long time_ns, unsigned int acknowledgment)
    cdef int _behind_prefix(self, bytes data, Py_ssize_t at, Py_ssize_t end, long long time_ns, unsigned int acknowledgment)
