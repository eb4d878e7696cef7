"""Character sets by collation id, and the Python codec of each: page_protocol_basic_character_set.

Not compiled: of the hot path only a statement that changes the character set comes here.
"""

from typing import Final

# Collation ids of one character set, as INFORMATION_SCHEMA.COLLATIONS lists them.
_IDS: Final[dict[str, tuple[int, ...]]] = {
    "big5": (1, 84),
    "latin2": (2, 9, 21, 27, 77),
    "dec8": (3, 69),
    "cp850": (4, 80),
    "latin1": (5, 8, 15, 31, 47, 48, 49, 94),
    "hp8": (6, 72),
    "koi8r": (7, 74),
    "swe7": (10, 82),
    "ascii": (11, 65),
    "ujis": (12, 91),
    "sjis": (13, 88),
    "cp1251": (14, 23, 50, 51, 52),
    "hebrew": (16, 71),
    "tis620": (18, 89),
    "euckr": (19, 85),
    "latin7": (20, 41, 42, 79),
    "koi8u": (22, 75),
    "gb2312": (24, 86),
    "greek": (25, 70),
    "cp1250": (26, 34, 44, 66, 99),
    "gbk": (28, 87),
    "cp1257": (29, 58, 59),
    "latin5": (30, 78),
    "armscii8": (32, 64),
    "utf8mb3": (33, 76, 83, *range(192, 216), 223),
    "ucs2": (35, 90, *range(128, 152), 159),
    "cp866": (36, 68),
    "keybcs2": (37, 73),
    "macce": (38, 43),
    "macroman": (39, 53),
    "cp852": (40, 81),
    "utf8mb4": (45, 46, *range(224, 248), *range(255, 324)),
    "utf16": (54, 55, *range(101, 125)),
    "utf16le": (56, 62),
    "cp1256": (57, 67),
    "utf32": (60, 61, *range(160, 184)),
    "binary": (63,),
    "geostd8": (92, 93),
    "cp932": (95, 96),
    "eucjpms": (97, 98),
    "gb18030": (248, 249, 250),
}

_NAMES: Final = {identifier: name for name, identifiers in _IDS.items() for identifier in identifiers}

_CODECS: Final = {
    "big5": "big5",
    "latin2": "iso8859_2",
    "dec8": "latin_1",
    "cp850": "cp850",
    "latin1": "cp1252",
    "hp8": "hp_roman8",
    "koi8r": "koi8_r",
    "ascii": "ascii",
    "ujis": "euc_jp",
    "sjis": "shift_jis",
    "cp1251": "cp1251",
    "hebrew": "iso8859_8",
    "tis620": "tis_620",
    "euckr": "euc_kr",
    "latin7": "iso8859_13",
    "koi8u": "koi8_u",
    "gb2312": "gb2312",
    "greek": "iso8859_7",
    "cp1250": "cp1250",
    "gbk": "gbk",
    "cp1257": "cp1257",
    "latin5": "iso8859_9",
    "ucs2": "utf_16_be",
    "cp866": "cp866",
    "macce": "mac_latin2",
    "macroman": "mac_roman",
    "cp852": "cp852",
    "utf16": "utf_16_be",
    "utf16le": "utf_16_le",
    "cp1256": "cp1256",
    "utf32": "utf_32_be",
    "cp932": "cp932",
    "eucjpms": "euc_jp",
    "gb18030": "gb18030",
}


def name(collation: int) -> str | None:
    """The character set that collation id *collation* belongs to; None for 0 and ids no server has."""
    return _NAMES.get(collation)


def codec(charset: str | None) -> str:
    """The Python codec for text in *charset*: UTF-8 for its names, for binary, and where nothing better is known."""
    return _CODECS.get(charset or "", "utf_8")


def collation(charset: bytes) -> int:
    """A collation id of the character set of that name, in any case of letters; 0 where no server has it."""
    name = charset.decode("latin_1").lower()
    identifiers = _IDS.get("utf8mb3" if name == "utf8" else name)
    return identifiers[0] if identifiers else 0
