cdef class Tokens:
    cdef readonly bytes text
    cdef readonly int kind
    cdef readonly Py_ssize_t begin
    cdef readonly Py_ssize_t end
    cdef Py_ssize_t _size
    cdef int _reading
    cdef bint _versioned
    cdef bint _member
    cdef list _others
    cpdef int next(self) except? -1
    cdef int _give_up(self)
    cdef int _step(self) except? -1
    cdef unsigned int _byte(self, Py_ssize_t at) except? -1
    cdef bint _may_be_blank(self, unsigned int byte) except? -1
    cdef bint _ends(self, Py_ssize_t at) except? -1
    cdef int _is(self, int kind, Py_ssize_t end) except? -1
    cdef int _word(self, unsigned int first) except? -1
    cdef Py_ssize_t _word_end(self, Py_ssize_t at) except? -1
    cdef Py_ssize_t _digits(self, Py_ssize_t at) except? -1
    cdef int _number(self) except? -1
    cdef Py_ssize_t _radix(self, Py_ssize_t at, bint hexadecimal) except? -1
    cdef Py_ssize_t _exponent(self, Py_ssize_t at) except? -1
    cdef int _point(self, bint after_word) except? -1
    cdef int _quoted(self, Py_ssize_t at, unsigned int quote) except? -1
    cdef bint _is_pair(self, Py_ssize_t at) except? -1
    cdef int _check_inside(self) except? -1
    cdef int _other(self, unsigned int first) except? -1
    cdef int _line(self) except? -1
    cdef int _comment(self) except? -1
    cdef int _variable(self) except? -1

cpdef Tokens tokens(bytes text, int escapes, str charset)
cpdef Tokens usual_tokens(bytes text)
