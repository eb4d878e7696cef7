"""Whether a text may hold a password, at a fraction of a nanosecond a byte: it has a word that those which do have.

Each word has five pairs of bytes at its beginning, so that one of them is met by whoever looks at every fifth pair of
the text. What is met is looked up in a table that tells where in the words' beginnings it stands, if anywhere.
"""

from typing import Final

import cython

WORDS: Final = (
    b"identified",
    b"password",
    b"passwd",
    b"encrypt",
    b"decrypt",
    b"encode",
    b"decode",
    b"connection",
    b"wsrep_sst_auth",
    b"challenge_response",
    b"authentication_string",
    b"keyring_key_store",
)
"""In lower case, none shorter than six bytes. workers.sql.passwords finds nothing in a text without one of them."""

_STEP: Final = 5


def _number(pair: bytes) -> int:
    """The number of a pair of bytes: the same for upper and lower case, another for digits and signs."""
    return ((pair[0] | 0x20) << 5 ^ (pair[1] | 0x20)) & 0xFFF


def _places() -> bytes:
    places = bytearray(0x1000)
    for word in WORDS:
        for place in range(_STEP):
            places[_number(word[place : place + 2])] |= 1 << place
    return bytes(places)


_PLACES = cython.declare(bytes, _places())
"""Bit n: a word has the pair of that number at its nth byte."""
_WORDS = cython.declare(bytes, b"".join(word + b"\0" for word in WORDS) + b"\0")

if not cython.compiled:

    def has_word(text: bytes, places: bytes, words: bytes) -> bool:
        """Whether one of *words*, each of which a zero ends, is in *text*, in any case of letters."""
        wanted = tuple(words.rstrip(b"\0").split(b"\0"))
        for at in range(_STEP - 1, len(text) - 1, _STEP):
            met = places[_number(text[at : at + 2])]
            for place in range(_STEP):
                if met >> place & 1 and text[at - place : at - place + 24].lower().startswith(wanted):
                    return True
        return False


@cython.ccall
@cython.exceptval(-1)
def may_hold_password(text: bytes) -> cython.bint:
    """Whether one of WORDS is in *text*, in any case of letters."""
    return has_word(text, _PLACES, _WORDS)
