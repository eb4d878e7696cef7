cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    static inline uint32_t querytap_load_acquire(size_t address) {
        return __atomic_load_n((uint32_t *)address, __ATOMIC_ACQUIRE);
    }
    static inline int querytap_store_release(size_t address, uint32_t value) {
        __atomic_store_n((uint32_t *)address, value, __ATOMIC_RELEASE);
        return 0;
    }
    static inline uint64_t querytap_load(size_t address, size_t bytes) {
        uint64_t value = 0;
        memcpy(&value, (void *)address, bytes < 8 ? bytes : 8);
        return value;
    }
    static inline int querytap_store32(size_t address, uint32_t value) {
        memcpy((void *)address, &value, 4);
        return 0;
    }
    static inline int querytap_move(size_t to, size_t from, size_t bytes) {
        memcpy((void *)to, (void *)from, bytes);
        return 0;
    }
    static CYTHON_UNUSED CYTHON_INLINE int querytap_copy_into(PyObject *target, Py_ssize_t at, PyObject *source) {
        Py_ssize_t size = PyBytes_GET_SIZE(source);
        if (__builtin_expect(at < 0 || size > PyByteArray_GET_SIZE(target) - at, 0)) {
            PyErr_SetString(PyExc_IndexError, "no room to copy into");
            return -1;
        }
        memcpy(PyByteArray_AS_STRING(target) + at, PyBytes_AS_STRING(source), (size_t)size);
        return 0;
    }
    static CYTHON_UNUSED CYTHON_INLINE PyObject *querytap_cut(PyObject *data, Py_ssize_t at, Py_ssize_t end) {
        if (end > PyBytes_GET_SIZE(data)) end = PyBytes_GET_SIZE(data);
        if (at < 0 || at >= end) return PyBytes_FromStringAndSize(NULL, 0);
        return PyBytes_FromStringAndSize(PyBytes_AS_STRING(data) + at, end - at);
    }
    """
    unsigned int load_acquire "querytap_load_acquire"(size_t address) nogil
    int store_release "querytap_store_release"(size_t address, unsigned int value) nogil
    unsigned long long load "querytap_load"(size_t address, size_t bytes) nogil
    int store32 "querytap_store32"(size_t address, unsigned int value) nogil
    int move "querytap_move"(size_t to, size_t from_, size_t bytes) nogil
    int copy_into "querytap_copy_into"(bytearray target, Py_ssize_t at, bytes source) except -1
    bytes cut "querytap_cut"(bytes data, Py_ssize_t at, Py_ssize_t end)
