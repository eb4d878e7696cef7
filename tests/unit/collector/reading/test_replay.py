from __future__ import annotations

import io

import pytest

from collector.reading.replay import Replay
from tests.support import mysql_packets as mysql
from tests.support.carriers import fragments, in_tunnel
from tests.support.packets import Captured, Connection, pcap
from tests.support.pipeline import logged_in
from workers.pcapfile import CaptureFileError
from workers.settings import Settings
from workers.tunnels import TUNNELS

QUERY = b"SELECT '" + b"x" * 5000 + b"'"


def replayed(packets: list[bytes], settings: Settings, *, cut: int = 0) -> tuple[Replay, list[bytes | None]]:
    """The queries in a capture file of these packets, which ends *cut* bytes too early."""
    content = pcap([Captured(packet, number * 1_000_000) for number, packet in enumerate(packets, 1)])
    replay = Replay(settings)
    found = replay.statements(io.BytesIO(content[: len(content) - cut]), "file")
    return replay, [one.sql for one in found if one.command == "query"]


def talk() -> list[bytes]:
    connection = Connection()
    return [
        *logged_in(connection),
        connection.client(mysql.query(QUERY)),
        connection.server(mysql.ok()),
        connection.client(mysql.query(b"SELECT 2")),
    ]


@pytest.mark.parametrize("size", [8, 536, 1480])
def test_datagrams_in_fragments_are_put_together(size: int) -> None:
    packets = [piece for packet in talk() for piece in reversed(fragments(packet, size))]
    replay, found = replayed(packets, Settings(ports=(3306,)))
    assert found == [QUERY, b"SELECT 2"]
    counters = replay.counters
    assert sum(count for name, count in counters.items() if name.startswith("packets_")) == len(packets)
    assert counters["packets_fragment"] == len(packets) - len(talk()), "each datagram counts once as what it is"


def test_fragments_of_which_one_is_lost_are_a_gap() -> None:
    packets = talk()
    pieces = fragments(packets[6], 1480)
    replay, found = replayed([*packets[:6], *pieces[:-1], *packets[7:]], Settings(ports=(3306,)))
    assert found == [b"SELECT 2"]
    assert replay.counters["packets_fragment"] == len(pieces) - 1
    assert replay.counters["gaps"] == 1
    assert replay.datagrams == {"datagrams_given_up": 1, "datagrams_disagreeing": 0}


@pytest.mark.parametrize("name", TUNNELS)
def test_tunnels_are_gone_through_when_asked_for(name: str) -> None:
    packets = [in_tunnel(name, packet) for packet in talk()]
    assert replayed(packets, Settings(ports=(3306,), tunnels=(name,)))[1] == [QUERY, b"SELECT 2"]
    assert replayed(packets, Settings(ports=(3306,)))[1] == []


def test_a_tunnels_packets_in_fragments_are_put_together() -> None:
    packets = [piece for packet in talk() for piece in fragments(in_tunnel("vxlan", packet), 1400)]
    assert replayed(packets, Settings(ports=(3306,), tunnels=("vxlan",)))[1] == [QUERY, b"SELECT 2"]


def test_a_file_that_ends_too_early_gives_what_came_before() -> None:
    replay, found = replayed(talk(), Settings(ports=(3306,)), cut=1)
    assert found == [QUERY]
    assert replay.problem is not None


def test_what_is_no_capture_is_refused() -> None:
    with pytest.raises(CaptureFileError):
        list(Replay(Settings(ports=(3306,))).statements(io.BytesIO(b"nonsense"), "file"))
