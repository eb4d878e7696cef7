"""One network namespace that is captured: the rings on it, who serves there, and the filter that follows from both."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from collector.capture import filter as packet_filter
from collector.capture import interfaces, servers
from collector.capture.filter import Selection
from collector.capture.following import Ports
from collector.capture.interfaces import Interface, Interfaces
from collector.capture.listeners import Listeners
from collector.capture.namespaces import Namespace
from collector.capture.reach import Counted, Reach
from collector.capture.servers import ServerError, Servers
from collector.capture.slots import Slot
from collector.channel import OTHERS, RESPONSES, Order
from collector.config.schema import CaptureOptions
from workers import page

_KNOWN_S: Final = 1.0
"""How long workers are waited for to learn of a port. One that is held up longer learns of it before it goes on, and
only what it finds in the block it is reading is not read as a server's."""
_LEFT_S: Final = 30.0
"""How long workers still read a port whose packets pass no more: longer than any that did stay in a ring."""

_log = logging.getLogger(__name__)


class Site:
    """Keeps the filter to who listens, and to the interfaces that bear the names which were chosen.

    Promises: workers learn of a port before packets of it pass, and read it until those that did are read. *bound* is
    the one interface the sockets are bound to.
    """

    def __init__(
        self,
        *,
        options: CaptureOptions,
        namespace: Namespace,
        known: Interfaces,
        bound: Interface | None,
        slots: Sequence[Slot],
        ports: Ports,
        listeners: Listeners,
        reach: Reach | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        self.slots = slots
        self.namespace = namespace
        self.notes = notes
        """How packets are taken, and why so."""
        self._options = options
        self._order: Order | None = None
        self._reach = reach
        self._known = known
        self._present = known.now()
        self._names = {one.index: one.name for one in self._present}
        self._bound = bound
        self._ports = ports
        self._listeners = listeners
        self._recorded = self._served = page.Ports(ports.classic, ports.x)
        self._left: dict[int, float] = {}
        """Ports that are not recorded any more, and until when the workers read them."""
        self._told_at = 0.0
        self._refused = ""
        self._seen: object = None
        """Who listened at the last look, and whether the namespace was there; None where more than that may be new."""
        self._wanted: Selection | None = None
        self._program: Selection | None = None
        self._begun = False
        self._warnings: tuple[str, ...] = ()

    @property
    def fd(self) -> int:
        """Becomes readable when interfaces have changed."""
        return self._known.fd

    @property
    def served(self) -> tuple[int, ...]:
        """The ports of the MySQL protocol, as the workers were told."""
        return self._served.classic

    @property
    def ports(self) -> tuple[int, ...]:
        """Those that are recorded."""
        return self._ports.all

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is to be seen to, each with its remedy."""
        return self._warnings

    @property
    def pending(self) -> bool:
        """Whether the filter is to change, and waits for the workers."""
        return self._begun and self._program != self._wanted

    def choose(self, options: CaptureOptions) -> None:
        """Record other ports, or another share of the connections, from the next look() and adapt() on.

        Of *options* nothing else may differ. Where servers are to be found, and none is, the ports stay.
        """
        before, self._options = self._options, options
        self._refused = ""
        self._seen = None
        if (options.ports, options.x_ports) == (before.ports, before.x_ports):
            return
        try:
            found = None if options.ports else _find(options, self._listeners, self.namespace)
        except ServerError as error:
            self._options = replace(options, ports=before.ports, x_ports=before.x_ports)
            self._refused = (
                f"capture.ports and capture.x_ports are not changed, as no server is found: {error.message}; start one"
                " and send SIGHUP again, or start querytap again, which then looks with more rights"
            )
        else:
            self._ports.choose(options.ports, options.x_ports, found)

    def obey(self, order: Order, now: float) -> None:
        """Let no more pass than *order* says, from adapt() on."""
        if order == self._order:
            return
        self._order = order
        answers = _fewer(self._options.responses, order.responses)
        for slot in self.slots:
            slot.leave_out_answers(answers != self._options.responses)
        self._want(now)

    def reach(self, now: float) -> Counted | None:
        """How much of what comes is captured; None where everything is, or nobody can tell."""
        return self._reach.look(now) if self._reach is not None else None

    def look(self, now: float) -> None:
        """Find out who listens and which interfaces there are, and let the workers know of the ports."""
        listening = self._listeners.now()
        seen = listening, self.namespace.gone()
        changed = self._known.changed()
        if seen == self._seen and not (changed or self._left):
            return
        self._seen = seen
        self._ports.look(listening)
        if changed:
            self._present = self._known.now()
            self._names |= {one.index: one.name for one in self._present}
        self._warn()
        recorded = page.Ports(self._ports.classic, self._ports.x)
        if recorded != self._recorded:
            _log.warning("port %s instead of %s is recorded", _numbers(recorded.all), _numbers(self._recorded.all))
            self._left |= dict.fromkeys(self._recorded.all, now + _LEFT_S)
            self._recorded = recorded
        served = self._to_serve(now)
        if served != self._served:
            self._served = served
            self._told_at = now
            for slot in self.slots:
                slot.serve(served)
        self._want(now)

    def adapt(self, now: float) -> None:
        """Swap the filter where another is wanted, once the workers can read what it passes."""
        wanted = self._wanted
        if self._begun and wanted == self._program:
            return
        if now - self._told_at < _KNOWN_S and not all(slot.knows_ports for slot in self.slots):
            return
        program = packet_filter.build(wanted) if wanted else packet_filter.drop_all()
        for slot in self.slots:
            slot.socket.set_filter(program)
        self._program = wanted
        self._begun = True

    def lost(self) -> str:
        """What the sockets are tied to and is not there any more, or is another one now; empty for nothing."""
        if self._bound is not None and self._bound not in _tied(self._present):
            return f"interface {self._bound.name} is gone"
        if self.namespace.replaced():
            return f"{self.namespace.called} is another one now"
        return ""

    def traffic(self, slot: Slot) -> dict[str, tuple[int, int]]:
        """Packets that a worker took, in and out, by the names that the interfaces had last."""
        found: dict[str, tuple[int, int]] = {}
        for index, (incoming, outgoing) in slot.interfaces.items():
            name = self._names.get(index, OTHERS)
            before = found.get(name, (0, 0))
            found[name] = (before[0] + incoming, before[1] + outgoing)
        return found

    def shut(self) -> None:
        """Let nothing pass any more."""
        for slot in self.slots:
            slot.socket.set_filter(packet_filter.drop_all())

    def _to_serve(self, now: float) -> page.Ports:
        """What is recorded, and what was until a moment ago: it may still be in a ring."""
        self._left = {port: until for port, until in self._left.items() if now < until and port not in self.ports}
        classic, x = (
            (*recorded, *(port for port in served if port in self._left))[: page.MOST_PORTS]
            for recorded, served in zip(self._recorded, self._served, strict=True)
        )
        return page.Ports(classic, x)

    def _want(self, now: float) -> None:
        wanted = self._narrowed()
        if wanted != self._wanted and self._reach is not None:
            self._reach.choose(self._ports.all, wanted.keep if wanted else 0.0, now)
        self._wanted = wanted

    def _narrowed(self) -> Selection | None:
        """What is to pass by the configuration, and no more than was ordered."""
        wanted = selection(self._options, self._ports, self._present)
        if wanted is None or self._order is None:
            return wanted
        if not self._order.captures:
            return None
        return replace(
            wanted,
            responses=_fewer(wanted.responses, self._order.responses),
            keep=wanted.keep / (1 << self._order.halvings),
        )

    def _warn(self) -> None:
        """Say in the log what is new of the warnings, and when there are none left."""
        found = tuple(self._found())
        for warning in found:
            if warning not in self._warnings:
                _log.warning("%s", warning)
        if self._warnings and not found:
            _log.info(
                "every port is listened on and every interface is there: %s, %s",
                _numbers(self.ports),
                ", ".join(self._options.interfaces) or "all interfaces",
            )
        self._warnings = found

    def _found(self) -> Iterator[str]:
        if self._refused:
            yield self._refused
        if self._ports.silent:
            yield _nobody_listens(self._ports.silent, self.namespace.called, configured=bool(self._options.ports))
        there = {one.name for one in self._present}
        missing = [name for name in self._options.interfaces if name not in there]
        if missing:
            yield f"interface {', '.join(missing)} is missing: nothing is recorded of it until it is back (ip link)"
        if self.namespace.gone():
            yield f"{self.namespace.called} is gone: nothing is recorded of it (capture.namespaces) until it is back"


def find_ports(options: CaptureOptions, listeners: Listeners, namespace: Namespace) -> Ports:
    """Those configured, or else those of the servers that run in the namespace. Raises ServerError."""
    found = None if options.ports else _find(options, listeners, namespace)
    return Ports(options.ports, options.x_ports, found)


def selection(options: CaptureOptions, ports: Ports, present: Sequence[Interface]) -> Selection | None:
    """What the filter is to pass, where these interfaces are present; None for nothing."""
    chosen = interfaces.choose(options.interfaces, present)
    if options.interfaces and not chosen:
        return None
    return Selection(
        ports=ports.all,
        responses=options.responses,
        tunnels=options.tunnels,
        interfaces=tuple(one.index for one in chosen),
        left_out=() if chosen else interfaces.left_out(present, local=ports.local),
        keep=options.keep_percent / 100,
        local=ports.local,
    )


def _fewer(one: str, other: str) -> str:
    return min(one, other, key=RESPONSES.index)


def _find(options: CaptureOptions, listeners: Listeners, namespace: Namespace) -> Servers:
    """The servers that run in the namespace. Raises ServerError."""
    found = servers.find(listeners.now(), namespace.inode, options.x_ports)
    unknown = sorted({one.port for one in found.sockets if one.uid not in found.uids})
    if unknown:
        _log.warning(
            "the socket of port %s is root's, as many are: another port on which this server may listen later is not"
            " found without a restart of querytap; let the server run as a user of its own",
            ", ".join(map(str, unknown)),
        )
    return found


def _tied(present: Sequence[Interface]) -> set[Interface]:
    # What it is a member of may change; its packets still come.
    return {Interface(one.name, one.index) for one in present}


def _nobody_listens(ports: Sequence[int], where: str, *, configured: bool) -> str:
    if configured:
        return (
            f"nobody listens on port {_numbers(ports)} in {where}: correct capture.ports, or start the server; where it"
            " runs in a container, name the container's network namespace in capture.namespaces"
        )
    return (
        f"no server listens on port {_numbers(ports)} in {where} any more: nothing is recorded until one does, or until"
        " a server of the same user listens on another port"
    )


def _numbers(ports: Sequence[int]) -> str:
    return ", ".join(map(str, ports))
