"""Leaves the rings with the service manager, and takes over what an earlier capture process left with it.

What is taken over is looked at first, all of it: a descriptor is gone on with only if the kernel says that it is what
it is said to be. What does not fit is given up as a whole: a member that leaves a group moves the others' connections.
"""

from __future__ import annotations

import functools
import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from collector.boot import boot_id
from collector.capture import handover, mapping, sockets
from collector.capture.handover import Group, Heritage, Progress, UnfitError
from collector.capture.methods import METHODS
from collector.capture.site import Site
from collector.capture.slots import Slot
from collector.capture.sockets import Facts, PacketSocket
from collector.config import Config
from collector.notify import Manager

STATE: Final = "state"
"""What the memory with heritage and progress is called; a worker's descriptors are what Slot.lasting calls them, and
their worker's number."""



@dataclass(frozen=True, slots=True)
class LeftRing:
    """What there is of one worker."""

    socket: PacketSocket
    fds: Mapping[str, int]
    """The others, by what they are: as in Slot.lasting."""
    progress: Progress


@dataclass(frozen=True, slots=True)
class Left:
    """What an earlier process left, open and looked at."""

    state: int
    generation: int
    groups: Sequence[Group]
    rings: dict[int, LeftRing]

    def unmap(self) -> None:
        """Have the rings in memory no more: a socket whose ring is mapped lives on, whoever closes it."""
        for ring in self.rings.values():
            mapping.release(ring.socket.address, ring.socket.ring_bytes)


def find(kept: Mapping[str, int], config: Config) -> Left | None:
    """What the manager has *kept* for us, None for nothing. Raises UnfitError where it is not to be gone on with."""
    if not kept:
        return None
    if STATE not in kept:
        raise UnfitError("what the rings are is missing")
    memory = os.pread(kept[STATE], handover.size(config.worker_total), 0)
    heritage = handover.unpack_heritage(memory)
    if heritage.boot != boot_id():
        raise UnfitError("it is of before the host was booted")
    _check_settings(heritage.settings, handover.settings_of(config))
    for group in heritage.groups:
        for ring in group.rings:
            fd = kept.get(_name("socket", ring.worker), -1)
            if fd < 0 or _name("page", ring.worker) not in kept:
                raise UnfitError(f"something of worker {ring.worker} is missing")
            _check(group, ring, fd)
    left = Left(kept[STATE], heritage.generation, heritage.groups, {})
    try:
        for group in heritage.groups:
            for ring in group.rings:
                progress = handover.unpack_progress(memory, ring.worker)
                left.rings[ring.worker] = LeftRing(_adopted(group, ring, kept), _others(kept, ring.worker), progress)
    except UnfitError:
        left.unmap()
        raise
    return left


def leave(manager: Manager, config: Config, generation: int, sites: Sequence[Site]) -> None:
    """Leave the rings of *sites* with the manager, and from now on what becomes of them. Raises OSError."""
    state = os.memfd_create("querytap-state")
    os.ftruncate(state, handover.size(config.worker_total))
    heritage = Heritage(
        boot=boot_id(),
        generation=generation,
        settings=handover.settings_of(config),
        groups=[_described(site) for site in sites],
    )
    os.pwrite(state, handover.pack_heritage(heritage), 0)
    slots = [slot for site in sites for slot in site.slots]
    follow(state, slots)
    manager.keep(STATE, state)
    for slot in slots:
        slot.progressed(slot.progress)
        for what, fd in slot.lasting.items():
            manager.keep(_name(what, slot.number), fd)


def follow(state: int, slots: Sequence[Slot]) -> None:
    """Have what becomes of the rings written to the memory that the manager keeps."""
    for slot in slots:
        slot.progressed = functools.partial(_write, state, handover.place_of(slot.number))


def give_up(manager: Manager) -> None:
    """Close all that was kept, the manager's copies too. Raises OSError."""
    for name, fd in manager.kept.items():
        manager.drop(name)
        os.close(fd)


def lasts(sites: Sequence[Site]) -> bool:
    """Whether another process could go on with these rings."""
    return all(slot.socket.VERSION is not None for site in sites for slot in site.slots)


def _write(state: int, place: int, progress: Progress) -> None:
    os.pwrite(state, handover.pack_progress(progress), place)


def _check_settings(before: Mapping[str, object], now: Mapping[str, object]) -> None:
    for key, value in now.items():
        if before.get(key) != value:
            raise UnfitError(f"{key} was {before.get(key)!r} and is {value!r}")


def _check(group: Group, ring: handover.Ring, fd: int) -> None:
    try:
        found = sockets.facts(fd)
    except OSError as error:
        raise UnfitError(f"of worker {ring.worker} there is no packet socket: {error.strerror}") from error
    version = next((method.VERSION for method in METHODS if group.method == method.METHOD), None)
    said = Facts(
        domain=socket.AF_PACKET,
        cookie=ring.cookie,
        version=version or 0,
        fanout=group.fanout,
        interface=group.interface,
    )
    if found != said:
        raise UnfitError(f"the socket of worker {ring.worker} is another one: {found}, and not {said}")


def _adopted(group: Group, ring: handover.Ring, kept: Mapping[str, int]) -> PacketSocket:
    method = next(method for method in METHODS if group.method == method.METHOD)
    try:
        return method.adopt(kept[_name("socket", ring.worker)], ring.block_bytes, ring.block_count)
    except (OSError, ValueError) as error:
        raise UnfitError(f"the ring of worker {ring.worker} cannot be mapped: {error}") from error


def _others(kept: Mapping[str, int], worker: int) -> dict[str, int]:
    end = _name("", worker)
    return {
        name.removesuffix(end): fd
        for name, fd in kept.items()
        if name.endswith(end) and name != _name("socket", worker)
    }


def _described(site: Site) -> Group:
    facts = {slot.number: sockets.facts(slot.socket.fd) for slot in site.slots}
    first = site.slots[0]
    return Group(
        place=site.namespace.place,
        namespace=site.namespace.inode,
        interface=facts[first.number].interface,
        method=first.socket.METHOD,
        fanout=facts[first.number].fanout,
        notes=site.notes,
        rings=[
            handover.Ring(slot.number, facts[slot.number].cookie, slot.socket.block_bytes, slot.socket.block_count)
            for slot in site.slots
        ],
    )


def _name(what: str, worker: int) -> str:
    return f"{what}-{worker}"
