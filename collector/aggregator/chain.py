"""Sequence and hash of the last object, kept over restarts: a missing object then shows in the next one."""

from __future__ import annotations

import errno
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from collector.aggregator.disk import trouble
from collector.aggregator.durable import clear_asides, replace_file
from collector.aggregator.store import DiskFullError, Store, TransportError
from collector.archive.hashes import object_hash
from collector.archive.layout import HASH_BYTES, ObjectError
from collector.archive.names import read_name
from collector.config import StartError

FIRST: Final = bytes(HASH_BYTES)

_log = logging.getLogger("aggregator")


@dataclass(frozen=True, slots=True)
class Link:
    """Where the chain stands: the sequence and hash of the object last sealed; 0 and zeros before the first."""

    sequence: int
    hash: bytes


class Chain:
    """The chain of one instance.

    It is moved on before an object is written: what a crash loses in between then shows as missing, which it is.
    """

    def __init__(self, path: Path, instance: str, link: Link, beside: Mapping[str, Any]) -> None:
        self._path = path
        self._instance = instance
        self.link = link
        self.beside = beside
        """What was kept beside the last link."""

    def advance(self, link: Link, beside: Mapping[str, Any]) -> None:
        """Make *link* the last one, durably, and keep what JSON can hold *beside* it. Raises TransportError."""
        state = {
            "instance": self._instance,
            "sequence": link.sequence,
            "hash": link.hash.hex(),
            "beside": beside,
        }
        try:
            replace_file(self._path, json.dumps(state).encode("ascii") + b"\n")
        except OSError as error:
            kind = DiskFullError if error.errno == errno.ENOSPC else TransportError
            raise kind(trouble(self._path, error), retry=True) from error
        self.link = link


def open_chain(path: Path, instance: str, store: Store) -> Chain:
    """The chain kept in *path*; where that is lost or behind, it goes on from the newest object in *store*.

    Raises StartError when *path* cannot be read; one that is damaged is set aside.
    """
    clear_asides(path.parent)
    link, beside = _kept(path, instance)
    newest = store.newest(instance)
    name = read_name("/".join(newest.parts[-3:])) if newest else None
    if newest is not None and name is not None and name.sequence > link.sequence:
        return Chain(path, instance, Link(name.sequence, _hash(newest)), {})
    return Chain(path, instance, link, beside)


def _kept(path: Path, instance: str) -> tuple[Link, Mapping[str, Any]]:
    try:
        state = json.loads(path.read_bytes())
        link = Link(int(state["sequence"]), bytes.fromhex(state["hash"]))
        beside = dict(state["beside"])
        ours = state["instance"] == instance
    except FileNotFoundError:
        return Link(0, FIRST), {}
    except OSError as error:
        raise StartError(f"{path} cannot be read: {error.strerror}", "let process.user read and write it") from error
    except (ValueError, KeyError, TypeError) as error:
        _set_aside(path, error)
        return Link(0, FIRST), {}
    return (link, beside) if ours and len(link.hash) == HASH_BYTES and link.sequence >= 0 else (Link(0, FIRST), {})


def _set_aside(path: Path, why: Exception) -> None:
    aside = path.with_name(f"{path.name}.damaged")
    _log.error("%s is damaged (%s), and kept as %s: the archive's newest object says more", path, why, aside)
    try:
        path.replace(aside)
    except OSError as error:
        _log.warning("%s", trouble(aside, error))


def _hash(newest: Path) -> bytes:
    try:
        return object_hash(newest.read_bytes())
    except (ObjectError, OSError):
        return FIRST  # that it is damaged is seen by its readers
