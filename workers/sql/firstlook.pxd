# The search itself, in C so that a byte costs what it must; firstlook.py has the same without a compiler.
cdef extern from *:
    """
    #define querytap_pair(b) (((b)[0] | 0x20u) << 5 ^ ((b)[1] | 0x20u)) & 0xFFFu

    static CYTHON_UNUSED int querytap_word_at(
            const unsigned char *text, const unsigned char *end, const unsigned char *word) {
        while (*word) {
            const unsigned char *at = text;
            while (*word && at < end && (*word >= 'a' ? *at | 0x20 : *at) == *word) { at++; word++; }
            if (!*word) return 1;
            while (*word) word++;
            word++;
        }
        return 0;
    }
    static CYTHON_UNUSED int querytap_has_word(PyObject *text, PyObject *places, PyObject *words) {
        const unsigned char *table = (const unsigned char *)PyBytes_AS_STRING(places);
        const unsigned char *begin = (const unsigned char *)PyBytes_AS_STRING(text);
        const unsigned char *end = begin + PyBytes_GET_SIZE(text);
        const unsigned char *at;
        for (at = begin + 4; at < end - 1; at += 5) {
            unsigned int met = table[querytap_pair(at)];
            for (; __builtin_expect(met, 0); met &= met - 1) {
                const unsigned char *first = at - __builtin_ctz(met);
                if (end - first < 6 || !(table[querytap_pair(first)] & 1) || !(table[querytap_pair(first + 4)] & 16))
                    continue;
                if (querytap_word_at(first, end, (const unsigned char *)PyBytes_AS_STRING(words))) return 1;
            }
        }
        return 0;
    }
    """
    bint has_word "querytap_has_word"(bytes text, bytes places, bytes words) noexcept

cpdef bint may_hold_password(bytes text) except? -1
