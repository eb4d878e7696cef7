"""Which ports are recorded, as servers start, stop and move: decided from who listens. No socket here."""

from __future__ import annotations

from collections.abc import Collection

from collector.capture.listeners import Listener
from collector.capture.servers import OTHER_PROTOCOLS, Servers
from workers.page import MOST_PORTS


class Ports:
    """The ports of one network namespace: those configured, or else those of the servers that were found.

    Promises: a configured port stays; a found one stays while nobody listens on it, as its server may come back, and
    goes when somebody else does, but for the last one; a port on which a known server's user begins to listen is added.
    """

    def __init__(self, configured: Collection[int], x_ports: Collection[int], servers: Servers | None) -> None:
        self._listened: frozenset[int] = frozenset()
        self._seen: set[int] = set()
        self.choose(configured, x_ports, servers)

    def choose(self, configured: Collection[int], x_ports: Collection[int], servers: Servers | None) -> None:
        """Go by others from here on; who listens on them, look() is to say."""
        self._configured = tuple(configured)
        self._x_ports = tuple(x_ports)
        self._servers = servers
        self._owners = {one.port: one.uid for one in servers.sockets} if servers else {}

    @property
    def classic(self) -> tuple[int, ...]:
        """Those of the MySQL protocol, in order as far as they were found."""
        return self._configured or tuple(sorted(self._owners))

    @property
    def x(self) -> tuple[int, ...]:
        """Those of the X Protocol."""
        return self._x_ports

    @property
    def all(self) -> tuple[int, ...]:
        """Those of the X Protocol included."""
        return self.classic + self._x_ports

    @property
    def local(self) -> bool:
        """Whether each was listened on here, if only once: servers elsewhere would be seen the other way round."""
        return self._seen.issuperset(self.all)

    @property
    def silent(self) -> tuple[int, ...]:
        """Ports on which nobody listens; of those found only when it is all of them, as a server may have moved."""
        missing = tuple(port for port in self.all if port not in self._listened)
        if self._configured:
            return missing
        return missing if self._listened.isdisjoint(self._owners) else tuple(set(missing) - self._owners.keys())

    def look(self, listening: Collection[Listener]) -> None:
        """Take in who listens now."""
        self._listened = frozenset(one.port for one in listening)
        if self._servers is not None:
            self._follow(self._servers, listening)
        self._seen.update(self._listened.intersection(self.all))

    def _follow(self, servers: Servers, listening: Collection[Listener]) -> None:
        ours = {one for one in listening if self._is_servers(servers, one)}
        taken = {one.port for one in listening} - {one.port for one in ours}
        owners = {port: uid for port, uid in self._owners.items() if port not in taken}
        for one in sorted(ours, key=lambda one: one.port):
            if one.port in owners or len(owners) < MOST_PORTS:
                owners[one.port] = one.uid
        self._owners = owners or self._owners

    def _is_servers(self, servers: Servers, one: Listener) -> bool:
        if one.port in OTHER_PROTOCOLS or one.port in self._x_ports or one.inode in servers.strangers:
            return False
        return one.uid in servers.uids or self._owners.get(one.port) == one.uid
