"""Sequence and hash of the last object, kept over restarts: a missing object then shows in the next one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from collector.aggregator.durable import replace_file
from collector.aggregator.store import Store
from collector.archive.hashes import object_hash
from collector.archive.layout import HASH_BYTES, ObjectError
from collector.archive.names import read_name

FIRST: Final = bytes(HASH_BYTES)


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
        """Make *link* the last one, durably, and keep what JSON can hold *beside* it. Raises OSError."""
        state = {
            "instance": self._instance,
            "sequence": link.sequence,
            "hash": link.hash.hex(),
            "beside": beside,
        }
        replace_file(self._path, json.dumps(state).encode("ascii") + b"\n")
        self.link = link


def open_chain(path: Path, instance: str, store: Store) -> Chain:
    """The chain kept in *path*; where that is lost, it goes on from the newest object of a local archive."""
    link, beside = _kept(path, instance) or (_found(instance, store), {})
    return Chain(path, instance, link, beside)


def _kept(path: Path, instance: str) -> tuple[Link, Mapping[str, Any]] | None:
    try:
        state = json.loads(path.read_bytes())
        if state["instance"] != instance:
            return None
        link = Link(int(state["sequence"]), bytes.fromhex(state["hash"]))
        beside = dict(state["beside"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None
    return (link, beside) if len(link.hash) == HASH_BYTES and link.sequence >= 0 else None


def _found(instance: str, store: Store) -> Link:
    newest = store.newest(instance)
    name = read_name("/".join(newest.parts[-3:])) if newest else None
    if newest is None or name is None:
        return Link(0, FIRST)
    try:
        return Link(name.sequence, object_hash(newest.read_bytes()))
    except ObjectError:
        return Link(name.sequence, FIRST)  # that it is damaged is seen by its readers
