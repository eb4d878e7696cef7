"""Opens the committed object twice: with the product's reader, and with one written from the specification alone."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path
from typing import Any

import msgpack
import pytest
import zstandard
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from collector.archive.hashes import object_hash
from collector.archive.keyfile import PUBLIC, read_keys
from collector.archive.layout import ObjectError
from collector.archive.names import ObjectName, write_name
from collector.archive.packing import unpack_stream
from collector.archive.readerkeys import public_of
from collector.reading.keys import load_private
from collector.reading.objects import open_object

CASE = Path(__file__).parents[3] / "cases" / "archive"
EXPECTED: dict[str, Any] = json.loads((CASE / "expected.json").read_text())
OBJECT = (CASE / "object.querytap").read_bytes()


def contents_expected() -> list[tuple[int, Any]]:
    return [
        (each["kind"], each["data"])
        if each["kind"] == 1
        else (each["kind"], [tuple(block) for block in each["blocks"]])
        for each in EXPECTED["contents"]
    ]


def comparable(kind: int, data: bytes) -> tuple[int, Any]:
    if kind == 1:
        return kind, data.hex()
    return kind, [(head.hex(), body.hex()) for head, body in unpack_stream(data, bin_bytes=1 << 20)]


@pytest.mark.parametrize("name", ["reader", "auditor"])
def test_each_recipient_finds_what_was_sealed(name: str) -> None:
    problems: list[str] = []
    keys = load_private(CASE / f"{name}.key")
    with (CASE / "object.querytap").open("rb") as stream:
        sealed = open_object(stream, keys)
        contents = [comparable(content.kind, content.data) for content in sealed.contents(problems.append)]
    assert contents == contents_expected()
    assert problems == []
    for field, value in EXPECTED["header"].items():
        found = getattr(sealed.header, field)
        assert (found.hex() if isinstance(found, bytes) else found) == value
    assert read_keys((CASE / f"{name}.pub").read_text(), PUBLIC, "f") == [keys[0].public_raw]


def test_a_reader_with_a_hybrid_key_finds_the_same_in_an_object_that_was_sealed_anew() -> None:
    raw = b"".join(hashlib.sha256(f"querytap test vector: hybrid {part}".encode()).digest() for part in (1, 2, 3))
    (key,) = load_private(CASE / "hybrid.key")
    assert key.public_raw == public_of(raw)
    assert read_keys((CASE / "hybrid.pub").read_text(), PUBLIC, "f") == [key.public_raw]
    problems: list[str] = []
    with (CASE / "hybrid.querytap").open("rb") as stream:
        sealed = open_object(stream, [key])
        contents = [comparable(content.kind, content.data) for content in sealed.contents(problems.append)]
    assert contents == contents_expected()
    assert problems == []
    data = (CASE / "hybrid.querytap").read_bytes()
    assert object_hash(data).hex() == EXPECTED["hash"]
    with (CASE / "hybrid.querytap").open("rb") as stream, pytest.raises(ObjectError, match="not sealed for this key"):
        open_object(stream, load_private(CASE / "reader.key"))


def test_the_name_is_that_of_the_content() -> None:
    header_end = 16 + struct.unpack("<I", OBJECT[12:16])[0]
    stanzas_end = header_end + 2 * (20 + 80)  # two recipients, each with the body of an X25519 stanza
    unsealed = OBJECT[:10] + b"\0\0" + OBJECT[12:header_end] + OBJECT[stanzas_end:]
    digest = hashlib.sha256(unsealed).hexdigest()
    header = EXPECTED["header"]
    name = ObjectName(header["instance"], header["first_ns"], header["last_ns"], header["sequence"], digest[:16])
    assert digest == EXPECTED["hash"]
    assert write_name(name) == EXPECTED["name"]


def test_a_reader_written_from_the_specification_finds_the_same() -> None:
    raw = hashlib.sha256(b"querytap test vector: reader").digest()
    assert [comparable(kind, data) for kind, data in read_as_specified(OBJECT, raw)] == contents_expected()


def read_as_specified(data: bytes, private_raw: bytes) -> list[tuple[int, bytes]]:
    """docs/archive-format.md in code, without bounds and error texts; every offset is spelled out on purpose."""
    assert data[0:8] == b"querytap"
    version, stanza_count, header_length = struct.unpack("<HHI", data[8:16])
    assert version == 1
    header = msgpack.unpackb(data[16 : 16 + header_length])
    head_hash = hashlib.sha256(data[:10] + b"\0\0" + data[12 : 16 + header_length]).digest()
    at = 16 + header_length
    private = X25519PrivateKey.from_private_bytes(private_raw)
    recipient = hashlib.sha256(private.public_key().public_bytes_raw()).digest()[:16]
    content_key = b""
    for _ in range(stanza_count):
        kind, length = struct.unpack("<HH", data[at : at + 4])
        if kind == 1 and data[at + 4 : at + 20] == recipient:
            suite = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)
            info = b"querytap object v1 content key\0" + head_hash
            content_key = suite.decrypt(data[at + 20 : at + 20 + length], private, info)
        at += 20 + length
    assert header["content_key_hash"] == hashlib.sha256(b"querytap object v1 content key hash\0" + content_key).digest()
    instance = Ed25519PublicKey.from_public_bytes(header["public_key"])
    assert header["instance"] == hashlib.sha256(header["public_key"]).hexdigest()[:32]
    instance.verify(data[at : at + 64], b"querytap object v1 header\0" + head_hash)
    at += 64
    lengths = struct.unpack(f"<{len(header['frames']) // 4}I", header["frames"])
    frames = data[at : at + sum(lengths)]
    found: list[tuple[int, bytes]] = []
    packed = b""
    start = 0
    for number, length in enumerate(lengths):
        nonce = number.to_bytes(11, "big") + bytes([number == len(lengths) - 1])
        plaintext = AESGCM(content_key).decrypt(nonce, frames[start : start + length], head_hash)
        packed = (packed if plaintext[0] & 0x40 else b"") + plaintext[1:]
        if not plaintext[0] & 0x80:
            found.append((plaintext[0] & 0x3F, zstandard.ZstdDecompressor().decompress(packed)))
        start += length
    end = b"querytap object v1 end\0" + head_hash + hashlib.sha256(frames).digest()
    instance.verify(data[at + len(frames) :], end)
    return found
