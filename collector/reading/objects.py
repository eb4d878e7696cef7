"""Opens one sealed object. What is damaged is reported and passed over; what comes out is what the host sealed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO, Final

import zstandard
from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from collector.archive.hashes import begin_object_hash, content_key_hash, head_hash
from collector.archive.keyfile import identity
from collector.archive.layout import (
    END_SIGNATURE,
    HEADER_SIGNATURE,
    KEY_BYTES,
    KIND_BLOCKS,
    KIND_CONTINUES,
    KIND_FOLLOWS,
    KIND_MASK,
    KIND_METRICS,
    KIND_SUMMARY,
    MAX_CONTENT_BYTES,
    PREFIX,
    SIGNATURE_BYTES,
    STANZA,
    Header,
    ObjectError,
    Stanza,
    nonce,
    unpack_header,
    unpack_prefix,
    unpack_stanza_head,
)
from collector.archive.stanzas import SUITES, unwrap
from collector.reading.keys import ReaderKey

__all__ = [
    "KIND_BLOCKS",
    "KIND_SUMMARY",
    "Content",
    "ObjectError",
    "SealedObject",
    "check_signatures",
    "open_object",
    "read_header",
]

Report = Callable[[str], None]

_KINDS: Final = {KIND_SUMMARY, KIND_BLOCKS, KIND_METRICS}


@dataclass(frozen=True, slots=True)
class Content:
    """What one zstd frame held: `frame` is the number of the sealed frame it begins in."""

    kind: int
    data: bytes
    frame: int


@dataclass(frozen=True, slots=True)
class Clear:
    """The part before the frames, its signature verified."""

    header: Header
    stanzas: tuple[Stanza, ...]
    bound: bytes
    """Its head hash: what stanzas, frames and signatures are bound to."""
    signature: bytes
    packed: bytes
    """The header as it stands in the object."""


class SealedObject:
    """An object whose header is verified and whose content key is known; its frames are read once, in order.

    Promises: `contents` yields nothing that the instance did not seal; it raises nothing and reports each damage in
    one line; it holds one frame, or the frames of one large block, at a time.
    """

    def __init__(self, stream: BinaryIO, clear: Clear, content_key: bytes) -> None:
        self.header = clear.header
        self._tail = _Tail(stream, clear)
        self.clear = clear
        self.content_key = content_key
        self._cipher = AESGCM(content_key)

    def contents(self, report: Report) -> Iterator[Content]:
        """Decrypt and decompress, frame after frame; OSError when the stream cannot be read."""
        damage = _Damage(len(self.header.frames), report)
        run = _Run()
        for number, length in enumerate(self.header.frames):
            sealed = self._tail.frame(length)
            if sealed is None:
                damage.close()
                report(_truncated(number, self.header))
                return
            plaintext = self._decrypt(number, sealed)
            damage.note(number, damaged=plaintext is None)
            packed = run.add(number, plaintext, report)
            if packed is not None:
                content = _decompress(*packed, report)
                if content is not None:
                    yield content
        damage.close()
        if not damage.complete:
            self._tail.end(report, damaged=damage.total > 0)

    @property
    def object_hash(self) -> bytes | None:
        """What the next object of the instance names; None before all contents were read, or where it is cut."""
        return self._tail.object_hash

    def _decrypt(self, number: int, sealed: bytes) -> bytes | None:
        last = number == len(self.header.frames) - 1
        try:
            return self._cipher.decrypt(nonce(number, last=last), sealed, self.clear.bound)
        except InvalidTag:
            return None


class _Tail:
    """Frames and end signature of an object, and the hashes over them."""

    def __init__(self, stream: BinaryIO, clear: Clear) -> None:
        self._stream = stream
        self._clear = clear
        self._frames = hashlib.sha256()
        self._object = begin_object_hash(clear.packed, clear.signature)
        self.object_hash: bytes | None = None

    def frame(self, length: int) -> bytes | None:
        """The next frame, sealed; None where the object is cut."""
        sealed = self._stream.read(length)
        if len(sealed) < length:
            return None
        self._frames.update(sealed)
        self._object.update(sealed)
        return sealed

    def end(self, report: Report, *, damaged: bool = False) -> None:
        """Check the end signature, which does not fit where frames are *damaged*, and that nothing follows it."""
        signature = self._stream.read(SIGNATURE_BYTES)
        if len(signature) < SIGNATURE_BYTES:
            report("truncated in its end signature")
            return
        self._object.update(signature)
        self.object_hash = self._object.digest()
        signed = END_SIGNATURE + self._clear.bound + self._frames.digest()
        if not damaged and not _verified(self._clear.header, signed, signature):
            report("its end signature does not fit")
        elif self._stream.read(1):
            report("bytes follow its end")


def _truncated(frame: int, header: Header) -> str:
    return f"truncated in frame {frame} of {len(header.frames)}: what follows is missing"


class _Damage:
    """Reports damaged frames, those that stand together in one line."""

    def __init__(self, frames: int, report: Report) -> None:
        self._frames = frames
        self._report = report
        self._first: int | None = None
        self._end = 0
        self.total = 0

    @property
    def complete(self) -> bool:
        """Whether no frame opened at all, though there are some."""
        return self.total == self._frames > 1

    def note(self, number: int, *, damaged: bool) -> None:
        """How the next frame was found."""
        if not damaged:
            self.close()
            return
        if self._first is None:
            self._first = number
        self._end = number
        self.total += 1

    def close(self) -> None:
        """Report what has not been reported yet."""
        first, self._first = self._first, None
        if first is None:
            return
        if self.complete:
            self._report(f"none of its {self._frames} frames opens: its header is that of another object")
        elif first == self._end:
            self._report(f"frame {first} of {self._frames} is damaged: what it holds is lost")
        else:
            self._report(f"frames {first} to {self._end} of {self._frames} are damaged: what they hold is lost")


class _Run:
    """Puts the frames of one zstd frame together; one that is missing takes its own run with it, and no other."""

    def __init__(self) -> None:
        self._kind = 0
        self._first = 0
        self._size = 0
        self._pieces: list[bytes] = []

    def add(self, number: int, plaintext: bytes | None, report: Report) -> tuple[int, bytes, int] | None:
        """The next frame, None for a damaged one; kind, zstd frame and first frame come back when it is whole."""
        follows = plaintext is not None and bool(plaintext[0] & KIND_FOLLOWS)
        if self._pieces and not follows:
            report(f"frames {self._first} to {number - 1} are lost with it: they hold parts of one block")
            self._pieces.clear()
        if plaintext is None:
            return None
        if not follows:
            self._kind, self._first, self._size = plaintext[0] & KIND_MASK, number, 0
        elif not self._pieces:
            report(f"frame {number} is lost with one before: it holds a part of the same block")
            return None
        self._pieces.append(plaintext[1:])
        self._size += len(plaintext) - 1
        if self._size > MAX_CONTENT_BYTES:
            report(f"frames {self._first} to {number} hold more than {MAX_CONTENT_BYTES} bytes together")
            self._pieces.clear()
        elif not plaintext[0] & KIND_CONTINUES:
            packed = b"".join(self._pieces)
            self._pieces.clear()
            return self._kind, packed, self._first
        return None


def open_object(stream: BinaryIO, keys: Sequence[ReaderKey]) -> SealedObject:
    """Read up to the frames; ObjectError says in one line why the object cannot be read."""
    clear = read_clear(stream)
    return SealedObject(stream, clear, _unwrap(clear, keys))


def read_header(stream: BinaryIO) -> Header:
    """The header, its signature verified; needs no key. Raises ObjectError."""
    return read_clear(stream).header


def check_signatures(stream: BinaryIO, report: Report) -> tuple[Header, bytes | None]:
    """The header, and the object's hash, None where it is cut; needs no key, as nothing is opened.

    *report* gets what is wrong behind the header; what is wrong before raises ObjectError.
    """
    clear = read_clear(stream)
    tail = _Tail(stream, clear)
    for number, length in enumerate(clear.header.frames):
        if tail.frame(length) is None:
            report(_truncated(number, clear.header))
            return clear.header, None
    tail.end(report)
    return clear.header, tail.object_hash


def read_clear(stream: BinaryIO) -> Clear:
    """All before the frames, the header's signature verified; needs no key. Raises ObjectError."""
    prefix = stream.read(PREFIX.size)
    stanza_count, header_bytes = unpack_prefix(prefix)
    packed = stream.read(header_bytes)
    if len(packed) < header_bytes:
        raise ObjectError("truncated in its header")
    stanzas = []
    for _ in range(stanza_count):
        stanza_head = stream.read(STANZA.size)
        kind, length, recipient = unpack_stanza_head(stanza_head)
        body = stream.read(length)
        if len(body) < length:
            raise ObjectError("truncated in its stanzas")
        stanzas.append(Stanza(kind, recipient, body))
    signature = stream.read(SIGNATURE_BYTES)
    if len(signature) < SIGNATURE_BYTES:
        raise ObjectError("truncated in its header signature")
    header = unpack_header(packed)
    if identity(header.public_key).hex() != header.instance:
        raise ObjectError("its header is damaged or forged: the instance is not that of its key")
    bound = head_hash(packed)
    if not _verified(header, HEADER_SIGNATURE + bound, signature):
        raise ObjectError("its header is damaged, swapped or forged: the header signature does not fit")
    return Clear(header, tuple(stanzas), bound, signature, packed)


def _unwrap(clear: Clear, keys: Sequence[ReaderKey]) -> bytes:
    for stanza in clear.stanzas:
        if stanza.kind not in SUITES:
            continue
        for key in keys:
            if key.recipient != stanza.recipient:
                continue
            content_key = unwrap(stanza, key.private, clear.bound)
            if len(content_key) != KEY_BYTES:
                raise ObjectError(f"its content key has {len(content_key)} bytes instead of {KEY_BYTES}")
            if content_key_hash(content_key) != clear.header.content_key_hash:
                raise ObjectError("its stanza for this key has another content key than was signed: forged")
            return content_key
    sealed_for = ", ".join(stanza.recipient.hex()[:8] for stanza in clear.stanzas)
    given = ", ".join(key.recipient.hex()[:8] for key in keys)
    raise ObjectError(f"not sealed for this key: it is sealed for {sealed_for}, the key is {given}")


def _verified(header: Header, message: bytes, signature: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(header.public_key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def _decompress(kind: int, packed: bytes, frame: int, report: Report) -> Content | None:
    if kind not in _KINDS:
        return None  # of a later version that adds kinds; nothing in it is a statement
    try:
        size = zstandard.frame_content_size(packed)
        if not 0 <= size <= MAX_CONTENT_BYTES:
            report(f"frame {frame} claims {size} bytes of content, the limit is {MAX_CONTENT_BYTES}")
            return None
        data = zstandard.ZstdDecompressor().decompress(packed, max_output_size=size, allow_extra_data=False)
    except zstandard.ZstdError as error:
        report(f"frame {frame} does not decompress: {error}")
        return None
    return Content(kind, data, frame)
