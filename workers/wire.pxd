# The reads themselves, in C so that they become part of whoever reads; wire.py has the same without a compiler.
cdef extern from *:
    """
    #define querytap_lies(data, at, size, end) \
        __builtin_expect((at) >= 0 && (at) <= (end) - (size) && (end) <= PyBytes_GET_SIZE(data), 1)
    #define querytap_bytes(data, at) ((const unsigned char *)PyBytes_AS_STRING(data) + (at))

    static CYTHON_UNUSED int querytap_beyond(void) {
        PyErr_SetString(PyExc_IndexError, "read past the end of the packet");
        return -1;
    }
    static CYTHON_UNUSED CYTHON_INLINE unsigned int querytap_le16(const unsigned char *b) {
        return (unsigned int)b[0] | (unsigned int)b[1] << 8;
    }
    static CYTHON_UNUSED CYTHON_INLINE unsigned int querytap_le24(const unsigned char *b) {
        return (unsigned int)b[0] | (unsigned int)b[1] << 8 | (unsigned int)b[2] << 16;
    }
    static CYTHON_UNUSED CYTHON_INLINE unsigned int querytap_le32(const unsigned char *b) {
        return (unsigned int)b[0] | (unsigned int)b[1] << 8 | (unsigned int)b[2] << 16 | (unsigned int)b[3] << 24;
    }
    static CYTHON_UNUSED CYTHON_INLINE unsigned int querytap_be16(const unsigned char *b) {
        return (unsigned int)b[0] << 8 | (unsigned int)b[1];
    }
    static CYTHON_UNUSED CYTHON_INLINE unsigned int querytap_be32(const unsigned char *b) {
        return (unsigned int)b[0] << 24 | (unsigned int)b[1] << 16 | (unsigned int)b[2] << 8 | (unsigned int)b[3];
    }
    static CYTHON_UNUSED CYTHON_INLINE unsigned PY_LONG_LONG querytap_le64(const unsigned char *b) {
        return (unsigned PY_LONG_LONG)querytap_le32(b) | (unsigned PY_LONG_LONG)querytap_le32(b + 4) << 32;
    }
    static CYTHON_UNUSED CYTHON_INLINE unsigned PY_LONG_LONG querytap_be64(const unsigned char *b) {
        return (unsigned PY_LONG_LONG)querytap_be32(b) << 32 | (unsigned PY_LONG_LONG)querytap_be32(b + 4);
    }
    #define QUERYTAP_READ(type, name, size, number) \
        static CYTHON_UNUSED CYTHON_INLINE type querytap_read_##name(PyObject *data, Py_ssize_t at, Py_ssize_t end) { \
            if (!querytap_lies(data, at, size, end)) return (type)querytap_beyond(); \
            return number(querytap_bytes(data, at)); \
        }
    QUERYTAP_READ(unsigned int, u8, 1, *)
    QUERYTAP_READ(unsigned int, u16, 2, querytap_le16)
    QUERYTAP_READ(unsigned int, u24, 3, querytap_le24)
    QUERYTAP_READ(unsigned int, u32, 4, querytap_le32)
    QUERYTAP_READ(unsigned PY_LONG_LONG, u64, 8, querytap_le64)
    QUERYTAP_READ(unsigned int, be16, 2, querytap_be16)
    QUERYTAP_READ(unsigned int, be32, 4, querytap_be32)
    QUERYTAP_READ(unsigned PY_LONG_LONG, be64, 8, querytap_be64)

    static CYTHON_UNUSED CYTHON_INLINE int querytap_check(
            PyObject *data, Py_ssize_t at, Py_ssize_t size, Py_ssize_t end) {
        return querytap_lies(data, at, size, end) ? 0 : querytap_beyond();
    }
    #define querytap_load_be16(data, at) querytap_be16(querytap_bytes(data, at))
    #define querytap_load_be32(data, at) querytap_be32(querytap_bytes(data, at))
    """
    unsigned int read_u8 "querytap_read_u8"(bytes data, Py_ssize_t at, Py_ssize_t end) except? -1
    unsigned int read_u16 "querytap_read_u16"(bytes data, Py_ssize_t at, Py_ssize_t end) except? -1
    unsigned int read_u24 "querytap_read_u24"(bytes data, Py_ssize_t at, Py_ssize_t end) except? -1
    unsigned int read_u32 "querytap_read_u32"(bytes data, Py_ssize_t at, Py_ssize_t end) except? -1
    unsigned long long read_u64 "querytap_read_u64"(bytes data, Py_ssize_t at, Py_ssize_t end) except? -1
    unsigned int read_be16 "querytap_read_be16"(bytes data, Py_ssize_t at, Py_ssize_t end) except? -1
    unsigned int read_be32 "querytap_read_be32"(bytes data, Py_ssize_t at, Py_ssize_t end) except? -1
    unsigned long long read_be64 "querytap_read_be64"(bytes data, Py_ssize_t at, Py_ssize_t end) except? -1
    int check_read "querytap_check"(bytes data, Py_ssize_t at, Py_ssize_t size, Py_ssize_t end) except -1
    unsigned int load_be16 "querytap_load_be16"(bytes data, Py_ssize_t at) noexcept
    unsigned int load_be32 "querytap_load_be32"(bytes data, Py_ssize_t at) noexcept

cpdef unsigned int u8(bytes data, Py_ssize_t at, Py_ssize_t end) except? -1
cpdef unsigned int u16(bytes data, Py_ssize_t at, Py_ssize_t end) except? -1
cpdef unsigned int u24(bytes data, Py_ssize_t at, Py_ssize_t end) except? -1
cpdef unsigned int u32(bytes data, Py_ssize_t at, Py_ssize_t end) except? -1
cpdef unsigned long long u64(bytes data, Py_ssize_t at, Py_ssize_t end) except? -1
cpdef unsigned int be16(bytes data, Py_ssize_t at, Py_ssize_t end) except? -1
cpdef unsigned int be32(bytes data, Py_ssize_t at, Py_ssize_t end) except? -1
cpdef unsigned long long be64(bytes data, Py_ssize_t at, Py_ssize_t end) except? -1
cpdef unsigned int checked_be16(bytes data, Py_ssize_t at) noexcept
cpdef unsigned int checked_be32(bytes data, Py_ssize_t at) noexcept
cpdef int check(bytes data, Py_ssize_t at, Py_ssize_t size, Py_ssize_t end) except -1
cpdef int lenenc_size(bytes data, Py_ssize_t at, Py_ssize_t end) except? -1
cpdef unsigned long long lenenc(bytes data, Py_ssize_t at, Py_ssize_t end) except? -1
