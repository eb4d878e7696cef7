"""How much of what comes is captured, with real connections over loopback."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

import pytest

from collector.capture import bpf, connection, netlink
from collector.capture import filter as packet_filter
from collector.capture.reach import Reach, parse
from tests.unit.collector.capture.interpreter import run
from tests.unit.collector.capture.packets import ipv4, tcp

CONNECTIONS = 40


@pytest.fixture(params=[socket.AF_INET, socket.AF_INET6])
def pairs(request: pytest.FixtureRequest) -> Iterator[list[tuple[socket.socket, socket.socket]]]:
    """Clients and the server's sockets; a server on :: has those of IPv4 clients as mapped addresses."""
    with contextlib.ExitStack() as opened:
        server = opened.enter_context(socket.socket(request.param))
        server.bind(("", 0))
        server.listen(CONNECTIONS)
        found = []
        for _ in range(CONNECTIONS):
            client = opened.enter_context(socket.create_connection(("127.0.0.1", server.getsockname()[1])))
            found.append((client, opened.enter_context(server.accept()[0])))
        yield found


@pytest.fixture
def asked() -> Iterator[socket.socket]:
    with netlink.connect(netlink.SOCK_DIAG) as opened:
        yield opened


def say(pair: tuple[socket.socket, socket.socket], segments: int) -> None:
    client, server = pair
    for _ in range(segments):
        client.send(b"x")
        server.recv(1)  # so that each is a segment of its own


def passes(pair: tuple[socket.socket, socket.socket], share: float, port: int) -> bool:
    """Whether the filter lets a packet of the client pass."""
    selection = packet_filter.Selection(ports=(port,), keep=share)
    packet = bytearray(ipv4(tcp(pair[0].getsockname()[1], port, b"payload")))
    packet[12:20] = socket.inet_aton("127.0.0.1") * 2
    return bool(run(packet_filter.build(selection), bytes(packet), {bpf.PROTOCOL: 0x0800, bpf.PACKET_TYPE: 0}))


def test_segments_on_connections_that_the_filter_lets_pass_are_told_from_all(
    pairs: list[tuple[socket.socket, socket.socket]], asked: socket.socket
) -> None:
    port = pairs[0][1].getsockname()[1]
    reach = Reach(asked)
    reach.choose((port,), 0.5, 0.0)
    kept = [pair for pair in pairs if passes(pair, 0.5, port)]
    assert 0 < len(kept) < CONNECTIONS
    for number, pair in enumerate(pairs):
        say(pair, 1 + number % 3)
    found = reach.look(1000.0)
    assert found is not None
    expected = [1 + number % 3 for number, _ in enumerate(pairs)]
    assert found.all == sum(expected)
    assert found.kept == sum(count for count, pair in zip(expected, pairs, strict=True) if pair in kept)
    assert (found.kept_connections, found.connections) == (len(kept), CONNECTIONS)


def test_while_all_is_captured_nothing_is_looked_for(
    pairs: list[tuple[socket.socket, socket.socket]], asked: socket.socket
) -> None:
    port = pairs[0][1].getsockname()[1]
    reach = Reach(asked)
    assert reach.look(1.0) is None
    reach.choose((port,), 0.0, 1.0)
    say(pairs[0], 5)
    reach.choose((port,), 1.0, 2.0)
    assert reach.look(1000.0) is None
    reach.choose((port,), 0.0, 1001.0)
    found = reach.look(2000.0)
    assert found is not None
    assert (found.kept, found.all) == (0, 5), "what came while nothing was captured is in the sums"


def test_it_is_not_looked_again_at_once(
    pairs: list[tuple[socket.socket, socket.socket]], asked: socket.socket
) -> None:
    reach = Reach(asked)
    reach.choose((pairs[0][1].getsockname()[1],), 0.0, 10.0)
    say(pairs[0], 3)
    found = reach.look(11.0)
    assert found is not None
    assert found.all == 0


def test_where_the_kernel_does_not_tell_nothing_is_said() -> None:
    reach = Reach(None)
    reach.choose((3306,), 0.5, 0.0)
    assert reach.look(10.0) is None
    assert parse(bytes(72)) is None


def test_the_highest_number_is_that_of_the_filter() -> None:
    assert [connection.highest_kept(share) for share in (1.0, 0.5, 1e-9)] == [65535, 32767, 0]
