"""Opens what capture needs while it has the rights for it, and waits for what is missing when it is started again."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import secrets
import time
from collections.abc import Callable
from typing import Final, NamedTuple, TypeVar, cast

from collector import places
from collector.capture import groups, interfaces
from collector.capture.groups import Group, Wanted
from collector.capture.handover import UnfitError
from collector.capture.interfaces import Interface, InterfaceError, Interfaces
from collector.capture.keeping import Left
from collector.capture.listeners import Listeners
from collector.capture.mapping import Area
from collector.capture.namespaces import OWN, Namespace, NamespaceError, entered
from collector.capture.reach import Reach
from collector.capture.servers import ServerError
from collector.capture.site import Site, find_ports
from collector.capture.slots import Slot
from collector.capture.sockets import Shape
from collector.capture.telling import Teller
from collector.channel import first_incarnation
from collector.config import Config
from collector.config.schema import CaptureOptions, PrivacyOptions
from workers.settings import Literals, Responses, Selection, Settings

_MISSING_S: Final = 1.0
_Found = TypeVar("_Found")

_log = logging.getLogger(__name__)


def open_sites(
    config: Config, teller: Teller, generation: int, *, patient: bool = False, left: Left | None = None
) -> list[Site]:
    """What is captured, a network namespace each; the first *generation* does not wait for what is missing.

    *patient*: it does too. *left* is gone on with. Raises StartError, and UnfitError where *left* does not fit.
    """
    opened: list[Site] = []
    start = _Start(generation, patient or generation > 0, left)
    for place in config.capture.namespaces or (OWN,):
        first_worker = len(opened) * config.workers.count
        what = f"network namespace {place}"
        opened.append(
            _until_there(lambda: _site(config, place, first_worker, teller, start), what, teller, start)  # noqa: B023  # called at once
        )
    return opened


def settings_of(config: Config, ports: tuple[int, ...]) -> Settings:
    """What the workers' pipeline is told; *ports* are those of the MySQL protocol."""
    decode = config.decode
    return Settings(
        ports=ports,
        x_ports=config.capture.x_ports,
        responses=cast("Responses", config.capture.responses),
        tunnels=config.capture.tunnels,
        max_statement_bytes=decode.max_statement_kib << 10,
        max_flows=decode.max_flows,
        max_flow_buffer_bytes=decode.max_flow_buffer_kib << 10,
        max_buffer_bytes=decode.max_buffer_mib << 20,
        gap_timeout_ns=decode.gap_timeout_ms * 1_000_000,
        idle_timeout_ns=decode.idle_timeout_s * 1_000_000_000,
        block_age_ns=config.batch.block_age_ms * 1_000_000,
        literals=cast("Literals", config.privacy.literals),
        omit=_selection(config.privacy, "omit"),
        only=_selection(config.privacy, "only"),
        secret=secrets.randbits(64),
    )


def _selection(options: PrivacyOptions, side: str) -> Selection:
    """The rules whose names begin with *side*."""
    kinds = [kind.name for kind in dataclasses.fields(Selection)]
    return Selection(**{kind: getattr(options, f"{side}_{kind}") for kind in kinds})


class _Start(NamedTuple):
    generation: int
    patient: bool
    left: Left | None


def _site(config: Config, place: str, first_worker: int, teller: Teller, start: _Start) -> Site:
    with entered(place) as namespace, contextlib.ExitStack() as opened:
        listeners = Listeners()
        opened.callback(listeners.close)
        known = Interfaces()
        opened.callback(known.close)
        what = "a server" if place == OWN else f"a server in {namespace.called}"
        ports = _until_there(lambda: find_ports(config.capture, listeners, namespace), what, teller, start)
        names = ", ".join(config.capture.interfaces)
        what = f"interface {names}"
        if start.left is None:
            bound, group = _until_there(lambda: _group(config, known), what, teller, start)
            slots = [
                Slot(
                    number,
                    one,
                    places.worker_folder(config.paths.run, number),
                    first_incarnation(start.generation),
                    _checkpoint(config, number),
                )
                for number, one in enumerate(group.members, first_worker)
            ]
        else:
            bound = _until_there(lambda: _bound(config, known), what, teller, start)
            group, slots = _gone_on_with(config, start.left, namespace, bound)
        _tell(config, group, teller)
        opened.pop_all()
    return Site(
        options=config.capture,
        namespace=namespace,
        known=known,
        bound=bound,
        slots=slots,
        ports=ports,
        listeners=listeners,
        reach=Reach(listeners.asked),
        notes=group.notes,
    )


def _gone_on_with(
    config: Config, left: Left, namespace: Namespace, bound: Interface | None
) -> tuple[Group, list[Slot]]:
    said = next((group for group in left.groups if group.place == namespace.place), None)
    if said is None or said.namespace != namespace.inode:
        raise UnfitError(f"{namespace.called} is another one")
    if said.interface != (bound.index if bound else 0):
        raise UnfitError(f"interface {bound.name if bound else ''} is another one")
    slots = []
    for number in (ring.worker for ring in said.rings):
        ring = left.rings[number]
        folder = places.worker_folder(config.paths.run, number)
        checkpoint = _checkpoint(config, number, ring.fds.get("checkpoint", -1))
        slot = Slot(number, ring.socket, folder, ring.progress.incarnation, checkpoint, page_fd=ring.fds["page"])
        slot.go_on(ring.progress)
        slots.append(slot)
    return Group([slot.socket for slot in slots], said.notes), slots


def _checkpoint(config: Config, worker: int, fd: int = -1) -> Area:
    """Memory for what that worker knows of connections: that of *fd*, if there is one."""
    return Area(config.capture.checkpoint_mib << 20, f"querytap-checkpoint-{worker}", fd)


def _until_there(get: Callable[[], _Found], what: str, teller: Teller, start: _Start) -> _Found:
    told = False
    while True:
        try:
            found = get()
        except (InterfaceError, NamespaceError, ServerError) as error:
            if not start.patient:
                raise
            if not told:
                told = True
                _log.error("nothing is recorded until %s is back: %s", what, str(error).splitlines()[0])
                teller.tell(waiting=what)
        else:
            teller.tell(waiting="")
            return found
        teller.alive()
        time.sleep(_MISSING_S)


def _tell(config: Config, group: Group, teller: Teller) -> None:
    """Say how packets are taken."""
    notes = (*group.notes, *notes_on(config.capture))
    for note in notes:
        _log.info("packets: %s", note)
    teller.tell(notes=notes)


def notes_on(options: CaptureOptions) -> tuple[str, ...]:
    """What is to be known of how packets are chosen."""
    if options.keep_percent == 100:
        return ()
    return (f"{options.keep_percent} % of all connections are recorded, as capture.keep_percent says",)


def _group(config: Config, known: Interfaces) -> tuple[Interface | None, Group]:
    """The interface that is bound to, None for all, and the sockets."""
    chosen = config.capture
    bound = _bound(config, known)
    wanted = Wanted(
        workers=config.workers.count,
        shape=Shape(ring_mib=chosen.ring_mib, block_kib=chosen.block_kib, block_timeout_ms=chosen.block_timeout_ms),
        method=chosen.method,
        interface=bound.index if bound else 0,
        fanout=chosen.fanout,
        defragment=chosen.fragments == "join",
    )
    return bound, groups.open_group(wanted)


def _bound(config: Config, known: Interfaces) -> Interface | None:
    names = interfaces.require(config.capture.interfaces, known.now())
    # A single one is bound to, so that packets of the others do not even meet the filter.
    return Interface(names[0].name, names[0].index) if len(names) == 1 else None
