from workers.sql.tokens cimport Tokens, usual_tokens

cdef bytes _without_values(bytes sql)
cdef bytes _shape(bytes token, int kind)
