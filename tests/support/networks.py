"""What can lie between a client and a server: veth pairs, bridges, bonds, VLANs, a router that cuts packets up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, NamedTuple

from tests.support import processes
from tests.support.namespaces import Namespace

OURS = "s0"
"""The server's end of a veth pair."""
THEIRS = "c0"
"""The client's end."""
_ADDRESSES = {4: ("10.71.0.1", "10.71.0.2", 24), 6: ("fd00:71::1", "fd00:71::2", 64)}
_BEHIND_THE_ROUTER = ("10.72.0.1", "10.72.0.254", "10.71.0.254")  # client, and the router's two sides
_FRAGMENT_BYTES = 1000


class UnavailableError(Exception):
    """This kernel has no such interface."""


class Ends(NamedTuple):
    """Where a client runs, and the address at which it finds the server."""

    client: Namespace
    server: str


@dataclass(frozen=True, kw_only=True)
class Network:
    """One way from a client to a server, made and removed by `between`."""

    mtu: int = 1500
    version: Literal[4, 6] = 4
    over: Literal["veth", "bridge", "bond", "vlan", "router", "loopback"] = "veth"
    """What the server's address is on. *router*: its route to the server takes no more than 1000 bytes."""
    packets: Literal["whole", "apart", "joined"] = "whole"
    """Longer than the MTU, as the sender's stack makes them; cut up by the sender; or cut up, and joined on arrival."""
    fragments: Literal["count", "join"] = "count"

    @contextmanager
    def between(self, server: Namespace) -> Iterator[Ends]:
        """The network, as long as the context lasts. Raises UnavailableError."""
        if self.over == "loopback":
            _ip(server, f"link set lo mtu {self.mtu}")
            yield Ends(server, "127.0.0.1" if self.version == 4 else "::1")
            return
        with Namespace(server) as client, _removed(server, OURS, "br0", "bond0"):
            if self.over == "router":
                with Namespace(server) as router:
                    _pair(server, router, "r0", self.mtu)
                    _pair(router, client, THEIRS, self.mtu, near="r1")
                    yield _routed(server, router, client)
            else:
                yield self.connect(server, client)

    def connect(self, server: Namespace, client: Namespace) -> Ends:
        """Make what is between two hosts, anew where it was deleted. Raises UnavailableError."""
        _pair(server, client, THEIRS, self.mtu)
        self._set_offloads(server, client)
        return self._addressed(server, client)

    def _set_offloads(self, server: Namespace, client: Namespace) -> None:
        if self.packets != "whole":
            joined = "on" if self.packets == "joined" else "off"
            client.run(processes.module("tests.support.offloads", THEIRS, "tso=off", "gso=off"))
            server.run(processes.module("tests.support.offloads", OURS, f"gro={joined}"))

    def _addressed(self, server: Namespace, client: Namespace) -> Ends:
        ours, theirs, bits = _ADDRESSES[self.version]
        for host, port, address in ((server, OURS, ours), (client, THEIRS, theirs)):
            interface = _on_top(host, self.over, port) if host is server or self.over != "bridge" else port
            _ip(host, f"link set {port} up", f"link set {interface} up")
            _ip(host, f"addr add {address}/{bits} dev {interface}" + (" nodad" if self.version == 6 else ""))
        return Ends(client, ours)


def _on_top(host: Namespace, over: str, port: str) -> str:
    """Make an interface on top of *port*, which is down; its name."""
    match over:
        case "bridge":
            _made(host, "bridge", "br0")
            _ip(host, f"link set {port} master br0")
            return "br0"
        case "bond":
            _made(host, "bond", "bond0", "mode active-backup miimon 100")
            _ip(host, f"link set {port} master bond0")
            return "bond0"
        case "vlan":
            _made(host, "vlan", f"link {port} name {port}.5", "id 5")
            return f"{port}.5"
        case _:
            return port


def _routed(server: Namespace, router: Namespace, client: Namespace) -> Ends:
    address, near_client, near_server = _BEHIND_THE_ROUTER
    ours, _, bits = _ADDRESSES[4]
    _ip(server, f"addr add {ours}/{bits} dev {OURS}", f"link set {OURS} up")
    _ip(router, f"addr add {near_server}/{bits} dev r0", "link set r0 up")
    _ip(router, f"addr add {near_client}/{bits} dev r1", "link set r1 up")
    _ip(client, f"addr add {address}/{bits} dev {THEIRS}", f"link set {THEIRS} up")
    _ip(client, f"route add default via {near_client}")
    _ip(server, f"route add {address} via {near_server}")
    _ip(router, f"route add {ours} dev r0 mtu {_FRAGMENT_BYTES}")
    _write(router, "/proc/sys/net/ipv4/ip_forward", 1)
    _write(client, "/proc/sys/net/ipv4/ip_no_pmtu_disc", 1)  # packets may be cut up on the way
    return Ends(client, ours)


def _pair(server: Namespace, peer: Namespace, far: str, mtu: int, near: str = OURS) -> None:
    _ip(server, f"link add {near} mtu {mtu} type veth peer name {far} mtu {mtu} netns {peer.pid}")


@contextmanager
def _removed(host: Namespace, *interfaces: str) -> Iterator[None]:
    """Remove those that are there at the end, at once and not when the kernel comes to it."""
    try:
        yield
    finally:
        for interface in interfaces:
            # The kernel may be removing it by itself, with the namespace of its other end.
            host.run(["sh", "-c", f"ip link delete {interface} 2>&- || ! ip link show {interface} 2>&-"])


def counted(host: Namespace, protocol: str, name: str) -> int:
    """A counter of the host's stack, as /proc/net/snmp names it."""
    names, values = (
        line.split() for line in host.run(["cat", "/proc/net/snmp"]).stdout.decode().splitlines()
        if line.startswith(f"{protocol}: ")
    )  # fmt: skip
    return int(values[names.index(name)])


def _ip(host: Namespace, *commands: str) -> None:
    for command in commands:
        host.run(["ip", *command.split()])


def _made(host: Namespace, kind: str, interface: str, options: str = "") -> None:
    try:
        _ip(host, f"link add {interface} type {kind} {options}")
    except AssertionError as error:
        if "Unknown device type" in str(error) or "not supported" in str(error):
            raise UnavailableError(f"this kernel has no interfaces of type {kind}") from error
        raise


def _write(host: Namespace, path: str, value: int) -> None:
    host.run(["sh", "-c", f"echo {value} > {path}"])
