"""How many values an execution brings, where the server's answer to PREPARE does not tell: by the statement's text.

The text's tokens are those of the MySQL and MariaDB manuals ("Lexical structure"). What they tell is a guess until the
execution's packet agrees: fills() says whether values end where it does.
"""

import re
from typing import Final

from workers.mysql.errors import StreamViolation
from workers.mysql.prepared import Prepared, skip_value

_REST: Final = r"""
    | `[^`]*(?:`|\Z)
    | /\*(?!M?!).*?(?:\*/|\Z)                       # what stands in executed comments counts
    | \#[^\n]* | --(?=[\s\x00-\x1f]|\Z)[^\n]*
    | (\?)
"""
_WITH_ESCAPES: Final = re.compile(
    r"""'[^'\\]*(?:(?:\\.|'')[^'\\]*)*(?:'|\Z) | "[^"\\]*(?:(?:\\.|"")[^"\\]*)*(?:"|\Z)""" + _REST,
    re.VERBOSE | re.DOTALL,
)
_WITHOUT_ESCAPES: Final = re.compile(r"""'[^']*(?:'|\Z) | "[^"]*(?:"|\Z)""" + _REST, re.VERBOSE | re.DOTALL)
_LONGEST: Final = 1 << 20
"""Bytes of a text that are looked through for placeholders."""
_NULL: Final = 6  # MYSQL_TYPE_NULL


def counts(prepared: Prepared, codec: str) -> frozenset[int]:
    """How many placeholders its text has, without and with NO_BACKSLASH_ESCAPES; none where not all of it is there."""
    text: bytes | None = prepared.text
    if text is None or prepared.text_length > len(text) or len(text) > _LONGEST:
        return frozenset()
    characters: str = text.decode(codec, "replace")  # in some character sets a character ends with a backslash
    if "?" not in characters:
        return frozenset((0,))
    tokens = [_WITH_ESCAPES, _WITHOUT_ESCAPES] if "\\" in characters else [_WITH_ESCAPES]
    return frozenset(sum(1 for token in each.finditer(characters) if token[1]) for each in tokens)


def fills(bound: bytes) -> bool:
    """Whether values in the form of ``prepared.py`` end where these bytes do."""
    count: int = int.from_bytes(bound[:2], "little")
    types: int = 2 + (count + 7) // 8
    at: int = types + 2 * count
    try:
        for index in range(count):
            if not bound[2 + index // 8] >> (index % 8) & 1 and bound[types + 2 * index] != _NULL:
                at = skip_value(bound, at, len(bound), bound[types + 2 * index])
    except (StreamViolation, IndexError):
        return False
    return at == len(bound)
