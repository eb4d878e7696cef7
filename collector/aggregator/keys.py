"""The instance's own signing key, and the public keys of those who may read. Opens files; writes only the first."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from cryptography.exceptions import InvalidKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from collector import places
from collector.aggregator.disk import trouble
from collector.aggregator.durable import create_file
from collector.archive.keyfile import (
    INSTANCE,
    INSTANCE_PRIVATE,
    MAX_FILE_BYTES,
    PUBLIC,
    KeyFileError,
    read_keys,
    write_key,
)
from collector.archive.layout import MOST_STANZAS
from collector.archive.readerkeys import public_key
from collector.config import Config, StartError

_REMEDY = "make a key pair with `querytap keygen`, or name files with public keys in seal.recipients"


def instance_key(folder: Path) -> Ed25519PrivateKey:
    """The key this instance signs with, from *folder*; made there, for its owner alone, when there is none."""
    path = folder / places.INSTANCE_KEY
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            create_file(path, _new_instance_key().encode("ascii"), mode=0o600)
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & 0o077:
            raise StartError(f"{path} can be read by others (mode {mode:04o})", f"chmod 600 {path}")
        keys = read_keys(_text(path), INSTANCE, str(path))
    except OSError as error:
        raise StartError(f"the key that this instance signs with cannot be used: {trouble(path, error)}") from error
    except KeyFileError as error:
        raise StartError(str(error), f"restore {path}, or remove it: a new instance begins then") from error
    return Ed25519PrivateKey.from_private_bytes(keys[0])


def _new_instance_key() -> str:
    key = Ed25519PrivateKey.generate()
    return "# querytap: this instance signs with it\n" + write_key(INSTANCE_PRIVATE, key.private_bytes_raw()) + "\n"


def recipients(config: Config) -> list[bytes]:
    """The raw public keys to seal for; StartError when there is none or one cannot be used."""
    files: Sequence[Path] = [Path(name) for name in config.seal.recipients]
    if not files:
        default = places.keys_folder(config.paths.state) / places.READER_PUBLIC
        if not default.exists():
            raise StartError("there is nobody to seal the archive for", _REMEDY)
        files = [default]
    found: dict[bytes, None] = {}
    for path in files:
        try:
            keys = read_keys(_text(path), PUBLIC, str(path))
            for key in keys:
                public_key(key)  # raises where it is none
                found[key] = None
        except OSError as error:
            raise StartError(f"{path} cannot be read: {error.strerror}", _REMEDY) from error
        except (KeyFileError, InvalidKey, ValueError) as error:
            raise StartError(str(error), _REMEDY) from error
    if len(found) > MOST_STANZAS:
        raise StartError(f"{len(found)} recipients, the limit is {MOST_STANZAS}", "shorten seal.recipients")
    return list(found)


def key_warnings(config: Config) -> list[str]:
    """What is wrong with how keys are kept on this host."""
    private = places.keys_folder(config.paths.state) / places.READER_PRIVATE
    try:
        there = private.exists()
    except PermissionError:
        there = False
    return [f"{private} opens the archive and is on this host: move it elsewhere"] if there else []


def _text(path: Path) -> str:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise KeyFileError(f"{path}: larger than a key file can be ({MAX_FILE_BYTES} bytes)")
    return data.decode("utf-8", "replace")
