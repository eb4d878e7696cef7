"""What the tests run inside a network namespace: each function prints what it saw, as JSON.

Run as a module with the name of a function and its arguments.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pymysql

from collector import identities
from collector.capture import bpf, fanout, groups, sockets, symmetry
from collector.capture import filter as packet_filter
from collector.capture.filter import Selection
from collector.capture.mapping import Area
from collector.capture.methods import METHODS
from collector.capture.sandbox import Sandbox
from collector.capture.slots import Slot
from tests.integration.capture import ringreader
from tests.support import patience
from tests.support.servers import DATABASE, PASSWORD, USER
from tests.unit.collector.capture import interpreter, test_filter
from tests.unit.collector.capture.packets import ACK, CLIENT, PSH, SERVER, SYN, ipv4, ipv6, tcp
from workers import process
from workers.framering import FrameRing
from workers.pipeline import Pipeline
from workers.records import Statement
from workers.records import statements as decoded
from workers.ring import Ring
from workers.settings import Settings

PORT: Final = 3306
_BLOCK_TIMEOUT_MS: Final = int(patience.seconds(50))  # a ring that nobody reads has to last for slow senders too
_SETTLED_S: Final = patience.seconds(0.3)  # several times the block timeout
_FAMILIES: Final = ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"))
_METHODS: Final = tuple(method.METHOD for method in METHODS)
_PACKET_FANOUT: Final = 18
_FANOUT_RANDOM: Final = 4  # PACKET_FANOUT_RND
_FLOOD: Final = 20_000
_SWAPPED: Final = 10_000
_ETH_P: Final = {4: 0x0800, 6: 0x86DD}


def kernel_filter(responses: str, *tunnels: str) -> dict[str, bool]:
    """For each of some packets, sent over loopback: does it pass the filter in the kernel?"""
    interface = socket.if_nametoindex("lo")
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0) as listening:
        program = packet_filter.build(Selection(ports=(PORT,), responses=responses, tunnels=tunnels))
        sockets.set_filter(listening.fileno(), program)
        listening.bind(("lo", 0x0003))
        with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0) as sending:
            return {
                name: _passes(listening, sending, packet, number)
                for number, (name, packet) in enumerate(crafted().items())
                if interface
            }


def crafted() -> dict[str, bytes]:
    """Packets that the filter has to tell apart."""
    found: dict[str, bytes] = {}
    extension = b"\x06\x01" + bytes(14)
    for family, ip in (("IPv4", ipv4), ("IPv6", ipv6)):
        for name, segment in {
            "query": test_filter.request(),
            "acknowledgement": test_filter.request(b""),
            "SYN": test_filter.request(b"", SYN),
            "OK": test_filter.answer(),
            "rows": test_filter.answer(b"row data, row data"),
            "greeting": test_filter.answer(test_filter.GREETING),
            "PREPARE OK": test_filter.answer(test_filter.PREPARE_OK),
            "short answer": test_filter.answer(b"\x05\x00\x00"),
            "other port": tcp(CLIENT, PORT + 1, test_filter.QUERY),
        }.items():
            found[f"{family} {name}"] = ip(segment)
    found["IPv4 with options"] = ipv4(test_filter.request(), options=bytes(40))
    found["IPv4 fragment"] = ipv4(test_filter.request(), fragment=0x2001)
    found["IPv4 length 0"] = ipv4(test_filter.request(), length=0)
    found["IPv4 padded acknowledgement"] = ipv4(test_filter.request(b"")) + bytes(6)
    found["IPv4 UDP"] = ipv4(test_filter.request(), protocol=17)
    for version in (4, 6):
        for name, protocol in {"GRE": 47, "IP in IP": 4, "6in4": 41, "TCP by another number": 132}.items():
            found[f"IPv{version} {name}"] = test_filter.carried(version, protocol, b"whatever is inside")
        found[f"IPv{version} VXLAN"] = test_filter.carried(version, 17, b"\xc7\x38\x12\xb5" + bytes(30))
    found["IPv4 VXLAN with options"] = test_filter.carried(4, 17, b"\xc7\x38\x12\xb5" + bytes(30), options=12)
    found["IPv6 extension"] = ipv6(test_filter.request(), following=0, extensions=extension)
    found["IPv6 length 0"] = ipv6(test_filter.request(), length=0)
    found["IPv6 fragment"] = ipv6(test_filter.request(), following=44, extensions=b"\x06" + bytes(7))
    return found


def _passes(listening: socket.socket, sending: socket.socket, packet: bytes, number: int) -> bool:
    """Send the packet and then one that passes in any case; was the first there before the second?"""
    marker = ipv4(tcp(CLIENT, SERVER, b"marker %d" % number, flags=PSH | ACK))
    for data in (packet, marker):
        sending.sendto(data, ("lo", _ETH_P[data[0] >> 4]))
    seen = False
    while True:
        ready, _, _ = select.select([listening], [], [], 10)
        assert ready, "not even the marker came"
        data = listening.recv(1 << 16)
        if data == marker:
            return seen
        seen = seen or data == packet


def strays(method: str) -> dict[str, int]:
    """What rings and kernel counted while all traffic was on another interface, or came before there was a filter."""
    _make_veth("other0", "other1")
    load = subprocess.Popen([sys.executable, "-c", _NOISE, str(PORT)])
    try:
        time.sleep(_SETTLED_S)
        everywhere = _group(2, method=method)
        elsewhere = _group(2, socket.if_nametoindex("other0"), method)
        group = [*everywhere, *elsewhere]
        time.sleep(_SETTLED_S)
        before = sum(1 for one in group for _ in ringreader.frames(one))
        for port, members in ((PORT + 1, everywhere), (PORT, elsewhere)):
            program = packet_filter.build(Selection(ports=(port,)))
            for one in members:
                one.set_filter(program)
        time.sleep(_SETTLED_S)
        control = _open(Selection(ports=(PORT,)), method=method)
        time.sleep(_SETTLED_S)
    finally:
        load.terminate()
        load.wait()
    return {
        "before": before,
        "after": sum(1 for one in group for _ in ringreader.frames(one)),
        "counted": sum(one.take_counters().passed for one in group),
        "there_was_traffic": control.take_counters().passed > 0,
    }


def interfaces() -> dict[str, Any]:
    """The same packet over loopback and over a veth pair: on which interfaces is it seen by which kind of selection?"""
    _make_veth("one0", "one1")
    names = {name: index for index, name in socket.if_nameindex()}
    group = {
        "all": _open(Selection(ports=(PORT,))),
        "listed": _open(Selection(ports=(PORT,), interfaces=(names["lo"], names["one1"]))),
        "bound": _open(Selection(ports=(PORT,), interfaces=(names["lo"],)), names["lo"]),
    }
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0) as sending:
        for name in ("lo", "one0"):
            sending.sendto(ipv4(test_filter.request()), (name, 0x0800, 0, 1, b"\xff" * 6))
    time.sleep(_SETTLED_S)
    by_index = {index: name for name, index in names.items()}
    return {kind: sorted(by_index[frame.interface] for frame in ringreader.frames(one)) for kind, one in group.items()}


def flows(workers: str, method: str, kind: str) -> dict[str, Any]:
    """Connections over loopback, IPv4 and IPv6: which rings saw each, and what of it."""
    group = _group(int(workers), method=method, kind=kind, ring_mib=int(patience.seconds(4)))
    program = packet_filter.build(Selection(ports=(PORT,), local=True))
    for one in group:
        one.set_filter(program)
    for family, address in _FAMILIES:
        with socket.create_server((address, PORT), family=family) as server:
            for _ in range(40):
                _exchange(server, address)
    time.sleep(_SETTLED_S)
    found: dict[str, dict[str, list[int]]] = {}
    for number, one in enumerate(group):
        for frame in ringreader.frames(one):
            source, target = ringreader.ports(frame.data)
            side = "client" if target == PORT else "server"
            name = f"IPv{frame.data[0] >> 4} {source if target == PORT else target}"
            found.setdefault(name, {}).setdefault(side, []).append(number)
    return {"flows": found, "dropped": sum(one.take_counters().dropped for one in group)}


def methods() -> dict[str, Any]:
    """The same traffic by each method: what each one's frames say of it, and the worst of how far stamps differ."""
    _make_veth("one0", "one1")
    group = {method: _open(Selection(ports=(PORT,), responses="timing"), method=method) for method in _METHODS}
    for family, address in _FAMILIES:
        with socket.create_server((address, PORT), family=family) as server:
            _exchange(server, address)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as sending:
        for tag in (b"", b"\x81\x00\x60\x05"):  # priority 3, VLAN 5
            sending.sendto(b"\xff" * 6 + bytes(6) + tag + b"\x08\x00" + ipv4(test_filter.request()), ("one0", 0))
    time.sleep(_SETTLED_S)
    found = {method: list(ringreader.frames(one)) for method, one in group.items()}
    stamps = list(zip(*([frame.time_ns for frame in frames] for frames in found.values()), strict=True))
    return {
        "frames": {method: [_without_time(frame) for frame in frames] for method, frames in found.items()},
        "counters": {method: _counters(one) for method, one in group.items()},
        "waiting": {method: one.packets_waiting() for method, one in group.items()},
        "stamps_apart_ns": max(max(one) - min(one) for one in stamps),
        "age_ns": time.time_ns() - min(map(min, stamps)),
    }


def records(port: str) -> dict[str, list[str]]:
    """The same traffic of a client and a server by each method: what the pipeline makes of it, but times."""
    selection = Selection(ports=(int(port),), responses="all")
    group = {method: _open(selection, method=method) for method in _METHODS}
    with pymysql.connect(
        host="127.0.0.1", port=int(port), user=USER, password=PASSWORD, database=DATABASE, autocommit=True
    ) as connection:
        for text in (*(f"SELECT {number}, 'some'" for number in range(20)), f"SELECT '{'x' * 100_000}'", "SELECT none"):
            with contextlib.suppress(pymysql.Error), connection.cursor() as cursor:
                cursor.execute(text)
    time.sleep(_SETTLED_S)
    return {
        method: [repr(replace(one, time_ns=0, latency_ns=0, duration_ns=0)) for one in _statements(member, int(port))]
        for method, member in group.items()
    }


def _statements(one: sockets.PacketSocket, port: int) -> Iterator[Statement]:
    """What a worker would make of what is in a ring."""
    for further_s in (0, 3600):  # what is not full then is over age, and handed over
        one.gather(time.monotonic() + further_s)
    where = (one.address, one.block_bytes, one.block_count)
    ring = FrameRing(*where, one.frame_bytes) if one.frame_bytes else Ring(*where)
    pipeline = Pipeline(0, 0, Settings(ports=(port,), responses="all"))
    while ring.drain(pipeline, 1):
        pass
    pipeline.finish(time.time_ns())
    while pipeline.full:
        yield from decoded(pipeline.take_block(time.time_ns())[1])
    yield from decoded(pipeline.take_block(time.time_ns(), final=True)[1])


def _without_time(frame: ringreader.Frame) -> list[Any]:
    return [frame.data.hex(), frame.interface, frame.length, frame.kind, frame.vlan]


def _counters(one: sockets.PacketSocket) -> list[int]:
    counted = one.take_counters()
    return [counted.passed, counted.dropped, counted.freezes]


def full_ring(method: str) -> dict[str, Any]:
    """More packets than a ring holds, which nobody reads: passed, dropped, freezes, and what waits in the ring."""
    one = _open(Selection(ports=(PORT,)), socket.if_nametoindex("lo"), method)
    packet = ipv4(tcp(CLIENT, SERVER, bytes(1400), flags=PSH | ACK))
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0) as sending:
        for number in range(_FLOOD):
            sending.sendto(packet, ("lo", _ETH_P[4]))
            if number % 100 == 0:
                one.gather(time.monotonic())
    time.sleep(_SETTLED_S)
    one.gather(time.monotonic())
    passed, dropped, freezes = _counters(one)
    return {"passed": passed, "dropped": dropped, "freezes": freezes, "waiting": one.packets_waiting()}


def _make_veth(*names: str) -> None:
    subprocess.run(["ip", "link", "add", names[0], "type", "veth", "peer", "name", names[1]], check=True)
    for name in names:
        subprocess.run(["ip", "link", "set", name, "up"], check=True)


def _exchange(server: socket.socket, address: str) -> None:
    with socket.create_connection((address, PORT)) as client:
        connection, _ = server.accept()
        with connection:
            client.sendall(test_filter.QUERY)
            connection.recv(100)
            connection.sendall(test_filter.OK + bytes(20_000))  # its payload is in pages, not beside the headers
            left = len(test_filter.OK) + 20_000
            while left:
                left -= len(client.recv(left))


def worker_rights() -> dict[str, Any]:
    """What a forked worker has and can do; it reports into its folder instead of working."""
    group = _group(2)
    user = identities.identity("", identities.WORKERS)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "worker-0")
        folder.mkdir(mode=0o700)
        os.chown(folder, user.uid, user.gid)
        areas = [Area(1 << 20, f"querytap-checkpoint-{number}") for number in range(2)]
        slot = Slot(0, group[0], folder, 0, areas[0])
        process.Worker = _Reporter  # type: ignore[misc]  # the fork runs it in place of the worker's loop
        slot.fork(user, Sandbox(wanted=False), Settings(ports=(PORT,)), 0.0)
        os.waitpid(slot.pid, 0)
        print(*slot.lines(0.0, "", last=True), sep="\n", file=sys.stderr)
        found: dict[str, Any] = json.loads((folder / "report").read_text())
    return {**found, "our_stdio": [_target(Path(f"/proc/self/fd/{number}")) for number in range(3)]}


class _Reporter(process.Worker):
    """Says what a worker finds."""

    def __init__(self, setup: process.Setup, listening: int) -> None:
        self._setup = setup
        self._listening = listening

    def run(self) -> int:
        _report(self._setup, self._listening)
        return 0


def _report(setup: process.Setup, listening: int) -> None:
    maps = Path("/proc/self/maps").read_text().splitlines()
    status = dict(line.split(":\t") for line in Path("/proc/self/status").read_text().splitlines() if ":\t" in line)
    fds = {int(fd.name): _target(fd) for fd in Path("/proc/self/fd").iterdir()}
    fds.pop(next(fd for fd, target in fds.items() if target == "gone"))  # that of the listing itself
    report = json.dumps({
        "fds": {fd: target for fd, target in fds.items() if fd > 2},
        "wake": setup.wake,
        "listening": listening,
        "status": {key: value for key, value in status.items() if key.startswith("Cap") or key == "NoNewPrivs"},
        "uid": status["Uid"].split(),
        "groups": os.getgroups(),
        "areas": [line.split("memfd:")[1] for line in maps if "checkpoint" in line],
        "rings": sum("socket:" in line for line in maps),
        "packet_socket": _attempt(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)),
        "raw_socket": _attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 6)),
        "root": _attempt(lambda: os.setuid(0)) if os.getuid() else "kept",
        "parents_memory": _attempt(lambda: os.open(f"/proc/{os.getppid()}/mem", os.O_RDONLY)),
        "parents_fds": _attempt(lambda: os.open(f"/proc/{os.getppid()}/fd/3", os.O_RDONLY)),
        "dumpable": ctypes.CDLL(None).prctl(3, 0, 0, 0, 0),  # PR_GET_DUMPABLE
        "stdio": [fds[number] for number in range(3)],
    })  # fmt: skip
    Path("report").write_text(report)  # its own folder is the present one


def _target(fd: Path) -> str:
    try:
        return str(fd.readlink())
    except FileNotFoundError:
        return "gone"


def _attempt(what: Any) -> str:  # noqa: ANN401  # any callable
    try:
        what()
    except OSError as error:
        return type(error).__name__
    return "allowed"


def statements(port: str, prefix: str, count: str, host: str = "127.0.0.1") -> dict[str, Any]:
    """Connect to a server and select numbered texts."""
    connection = pymysql.connect(host=host, port=int(port), user=USER, password=PASSWORD, database=DATABASE)
    with connection, connection.cursor() as cursor:
        for number in range(int(count)):
            cursor.execute(f"SELECT '{prefix} {number}'")
    return {}


def listen(port: str) -> dict[str, Any]:
    """Listen on a port until told to end."""
    with socket.create_server(("127.0.0.1", int(port))):
        signal.pause()
    return {}


def keep(share: str) -> dict[str, Any]:
    """Connections of which a share is kept: what passed in the kernel, and what passes in the interpreter."""
    chosen = Selection(ports=(PORT,), keep=float(share))
    everything, kept = (_open(each, method="socket") for each in (Selection(ports=(PORT,)), chosen))
    for family, address in _FAMILIES:
        with socket.create_server((address, PORT), family=family) as server:
            for _ in range(40):
                _exchange(server, address)
    time.sleep(_SETTLED_S)
    program = packet_filter.build(chosen)
    expected = [
        frame.data for frame in ringreader.frames(everything) if interpreter.run(program, frame.data, _known(frame))
    ]
    found = [frame.data for frame in ringreader.frames(kept)]
    sides = Counter(_side(data) for data in found)
    connections = {(version, port) for version, port, _ in sides}
    return {
        "as_the_interpreter": [data.hex() for data in found] == [data.hex() for data in expected],
        "connections": len(connections),
        "whole": all(sides[(*one, to_server)] == 3 for one in connections for to_server in (True, False)),
        "dropped": everything.take_counters().dropped + kept.take_counters().dropped,
    }


def _known(frame: ringreader.Frame) -> dict[int, int]:
    """What the kernel knows of a packet over loopback besides its bytes."""
    protocol = _ETH_P[frame.data[0] >> 4]
    return {
        bpf.PROTOCOL: protocol,
        bpf.PACKET_TYPE: frame.kind,
        bpf.HARDWARE_TYPE: test_filter.LOOPBACK,
        bpf.INTERFACE: frame.interface,
        bpf.VLAN_TAG_PRESENT: 0,
    }


def _side(packet: bytes) -> tuple[int, int, bool]:
    source, target = ringreader.ports(packet)
    return packet[0] >> 4, source if target == PORT else target, target == PORT


def swaps() -> dict[str, int]:
    """Packets that come while the filter is swapped without a pause: how many were sent, and how many passed it."""
    one = _open(Selection(ports=(PORT,)))
    programs = [packet_filter.build(Selection(ports=ports)) for ports in ((PORT,), (PORT + 1, PORT))]
    command = [sys.executable, "-c", _NUMBERED, ipv4(test_filter.request()).hex(), str(_SWAPPED)]
    with subprocess.Popen(command) as sending:
        swapped = 0
        while sending.poll() is None:
            one.set_filter(programs[swapped % 2])
            swapped += 1
    time.sleep(_SETTLED_S)
    return {"sent": _SWAPPED, "passed": one.take_counters().passed, "swapped": swapped}


def group_of_our_own() -> dict[str, Any]:
    """Can a third socket join a group of two, by its number and kind? Have two groups one number?"""
    ours, others = _group(2), _group(2)
    values = [_fanout_of(group[0].fd) for group in (ours, others)]
    third = sockets.create()
    sockets.bind(third, 0)
    with sockets.borrowed(third) as stranger:
        joined = _attempt(lambda: stranger.setsockopt(sockets.SOL_PACKET, _PACKET_FANOUT, values[0]))
        alone = _attempt(lambda: stranger.setsockopt(sockets.SOL_PACKET, _PACKET_FANOUT, _unused(values)))
    return {"joined": joined, "alone": alone, "numbers": sorted({value & 0xFFFF for value in values})}


def _fanout_of(fd: int) -> int:
    with sockets.borrowed(fd) as member:
        return member.getsockopt(sockets.SOL_PACKET, _PACKET_FANOUT)


def _unused(values: Sequence[int]) -> int:
    return next(number for number in range(1, 9) if number not in {value & 0xFFFF for value in values})


def trials() -> dict[str, str | None]:
    """What the trial at the start says of each kind of fanout, and of one that sends packets anywhere."""

    def anywhere(fds: Sequence[int]) -> None:
        for number, fd in enumerate(fds):
            with sockets.borrowed(fd) as member:
                member.setsockopt(sockets.SOL_PACKET, _PACKET_FANOUT, 77 | _FANOUT_RANDOM << 16)
            assert number < symmetry.MEMBERS

    return {
        "hash": symmetry.trial(lambda fds: fanout.join(fds, 0)),
        "cbpf": symmetry.trial(lambda fds: fanout.join(fds, 0, "cbpf")),
        "anywhere": symmetry.trial(anywhere),
    }


def fragments() -> dict[str, Any]:
    """A query that comes in two fragments: what of it a socket sees, with and without putting them together."""
    _make_veth("one0", "one1")  # over loopback each would come twice
    interface = socket.if_nametoindex("one1")
    group = {name: _group(1, interface, defragment=name == "join")[0] for name in ("count", "join")}
    for one in group.values():
        one.set_filter(packet_filter.build(Selection(ports=(PORT,))))
    whole = ipv4(test_filter.request(bytes(100)))
    first, rest = whole[20:60], whole[60:]
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0) as sending:
        for piece in (ipv4(first, fragment=0x2000), ipv4(rest, fragment=len(first) // 8)):
            sending.sendto(piece, ("one0", _ETH_P[4], 0, 1, b"\xff" * 6))
    time.sleep(_SETTLED_S)
    return {name: [len(frame.data) for frame in ringreader.frames(one)] for name, one in group.items()}


def _group(
    workers: int,
    interface: int = 0,
    method: str = "ring",
    *,
    kind: str = "auto",
    defragment: bool = False,
    ring_mib: int = 4,
) -> Sequence[sockets.PacketSocket]:
    ring_mib = 64 if method == "ring-v2" else ring_mib  # there, a packet takes 68 KiB
    shape = sockets.Shape(ring_mib=ring_mib, block_timeout_ms=_BLOCK_TIMEOUT_MS)
    wanted = groups.Wanted(
        workers=workers, shape=shape, method=method, interface=interface, fanout=kind, defragment=defragment
    )
    return groups.open_group(wanted).members


def _open(selection: Selection, interface: int = 0, method: str = "ring") -> sockets.PacketSocket:
    one = _group(1, interface, method)[0]
    one.set_filter(packet_filter.build(selection))
    return one


# Connections to a port, over loopback, one after the other.
_NOISE: Final = """
import socket, sys
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    with socket.create_connection(server.getsockname()) as client:
        connection, _ = server.accept()
        with connection:
            client.sendall(b"\\x09\\x00\\x00\\x00\\x03SELECT 1")
            connection.recv(100)
"""


# A packet over loopback, so many times.
_NUMBERED: Final = """
import socket, sys
packet = bytes.fromhex(sys.argv[1])
with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0) as sending:
    for _ in range(int(sys.argv[2])):
        sending.sendto(packet, ("lo", 0x0800))
"""


if __name__ == "__main__":
    result = globals()[sys.argv[1]](*sys.argv[2:])
    if result:
        print(json.dumps(result))
