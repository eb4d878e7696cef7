"""A damaged or forged object of an archive is refused or reported; nothing is read that was not sealed."""

from __future__ import annotations

import dataclasses
import io
import secrets
from typing import Any, Final

import zstandard
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from collector.archive import layout
from collector.archive.hashes import content_key_hash, head_hash
from collector.archive.packing import pack
from collector.archive.stanzas import wrap
from collector.reading.keys import ReaderKey
from collector.reading.objects import ObjectError, open_object
from tests.fuzz.script import Script, damaged
from tests.unit.collector.aggregator.making import READER_PUBLIC_RAW, READER_RAW, SIGNING_KEY, header, sealed

_KEY: Final = ReaderKey(READER_RAW)
_WHOLE: Final = sealed([[(b"head", b"first body " * 20)], [(b"head", b"second body " * 20)], [(b"h", b"third")]])
_CONTENT_KEY: Final = secrets.token_bytes(layout.KEY_BYTES)
_OTHERS: Final[tuple[object, ...]] = (None, True, -1, 1.5, "text", b"", bytes(32), [], {}, 1 << 63, {"a": {"b": []}})
_FIELDS: Final = tuple(field.name for field in dataclasses.fields(layout.Header))
_SIZES: Final = (0, 1, 100, 1 << 16, 1 << 20, layout.MAX_CONTENT_BYTES + 1, 1 << 40)


def _read(data: bytes) -> tuple[list[bytes], list[str]]:
    problems: list[str] = []
    contents = [one.data for one in open_object(io.BytesIO(data), [_KEY]).contents(problems.append)]
    return contents, problems


_CONTENTS: Final = _read(_WHOLE)[0]


def _plaintext(script: Script) -> bytes:
    """What one frame holds: a kind, and a zstd frame that may lie."""
    kind, how = script.byte(), script.byte()
    content = script.piece()
    if how & 3 == 0:
        packed = content
    elif how & 3 == 1:
        packed = zstandard.ZstdCompressor(1, write_content_size=False).compress(content)
    else:
        packed = zstandard.ZstdCompressor(1).compress(content)
    if how & 4:
        packed = b"\x28\xb5\x2f\xfd\xe0" + script.pick(_SIZES).to_bytes(8, "little") + packed[5:]
    return bytes((kind,)) + (damaged(script, packed) if how & 8 else packed)


def _forged(script: Script, shape: int) -> bytes:
    """An object that whoever knows the public key of a reader could have sealed."""
    plaintexts = [_plaintext(script) for _ in range(1 + (shape >> 2 & 3))]
    lengths = tuple(len(one) + layout.TAG_BYTES for one in plaintexts)
    made = header(frames=lengths, content_key_hash=content_key_hash(_CONTENT_KEY))
    if shape & 16:
        fields: dict[str, Any] = {name: getattr(made, name) for name in _FIELDS}
        fields["frames"] = b"".join(length.to_bytes(4, "little") for length in made.frames)
        fields[script.pick(_FIELDS)] = script.pick(_OTHERS) if script.byte() & 1 else script.piece()
        packed = pack(fields)
    else:
        packed = layout.pack_header(made)
    packed = damaged(script, packed) if shape & 32 else packed
    bound = head_hash(packed)
    stanza = layout.pack_stanza(wrap(_CONTENT_KEY, READER_PUBLIC_RAW, bound))
    cipher = AESGCM(_CONTENT_KEY)
    last = len(plaintexts) - 1
    frames = [
        cipher.encrypt(layout.nonce(number, last=number == last), plaintext, bound)
        for number, plaintext in enumerate(plaintexts)
    ]
    signature = SIGNING_KEY.sign(layout.HEADER_SIGNATURE + bound)
    return (
        layout.pack_prefix(1, len(packed))
        + packed
        + stanza
        + signature
        + b"".join(frames)
        + bytes(layout.SIGNATURE_BYTES)
    )


def run(data: bytes) -> int:
    """One input; what came of it in short."""
    script = Script(data)
    shape = script.byte()
    forged = shape & 3 == 3
    if forged:
        whole = _forged(script, shape)
    elif shape & 3 == 2:
        whole = script.rest()
    else:
        cut = (shape >> 4) * len(_WHOLE) // 16  # damage reaches 256 bytes far by itself
        whole = _WHOLE[:cut] + damaged(script, _WHOLE[cut:]) if shape & 1 else damaged(script, _WHOLE)
    contents: list[bytes] = []
    try:
        contents, problems = _read(whole)
    except ObjectError as error:
        problems = [str(error)]
    assert all("\n" not in problem for problem in problems)
    assert all(len(content) <= layout.MAX_CONTENT_BYTES for content in contents)
    if not forged:
        assert all(content in _CONTENTS for content in contents), "what nobody sealed is read"
        assert problems or whole == _WHOLE, "damage goes unnoticed"
    said = tuple("".join(sign for sign in problem if sign.isalpha())[:40] for problem in problems[:4])
    return hash((len(contents), said))


SEEDS: Final = {
    "whole": bytes((0, 4, 0)),
    "header": bytes((0, 0, 30, 1)),
    "frame": bytes((0xD1, 0, 30, 1)),
    "cut": bytes((0x81, 1, 9)),
    "forged": bytes((0x07, 1, 2, 5, 1, 2, 3, 4, 5, 2, 2, 3, 9, 9, 9)),
    "forged-field": bytes((0x13, 2, 2, 2, 1, 1, 5, 1, 4)),
    "forged-header": bytes((0x23, 2, 2, 2, 1, 1, 0, 9, 0xDF)),
    "forged-size": bytes((0x03, 2, 6, 2, 1, 1, 5)),
    "continued": bytes((0x0B, 0x82, 2, 3, 1, 2, 3, 0x42, 0, 3, 4, 5, 6, 2, 1, 0)),
    "raw": b"\x02querytap\x01\0\x01\0\x04\0\0\0",
}
"""Where a corpus begins."""
