from __future__ import annotations

from pathlib import Path

import pytest

from collector.cli.main import main
from tests.support import mysql_packets as mysql
from tests.support.carriers import fragments, in_tunnel
from tests.support.packets import Captured, Connection, pcap


@pytest.fixture
def tunnelled(tmp_path: Path) -> str:
    """A capture file of a statement in VXLAN."""
    packet = in_tunnel("vxlan", Connection().client(mysql.query(b"SELECT 42")))
    path = tmp_path / "tunnelled.pcap"
    path.write_bytes(pcap([Captured(packet, 10**18)]))
    return str(path)


def test_a_tunnel_is_gone_through_when_it_is_named(tunnelled: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", tunnelled, "--tunnel", "gre", "--tunnel", "vxlan"]) == 0
    assert "SELECT 42" in capsys.readouterr().out


def test_without_it_the_packets_are_of_no_server(tunnelled: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", tunnelled, "--counters"]) == 0
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "packets_foreign 1\n" in shown.err
    assert "none of its 1 packets is a server's on port 3306; --port names another" in shown.err


def test_where_a_server_is_found_no_other_port_is_proposed(tunnelled: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", tunnelled, "--tunnel", "vxlan", "--counters"]) == 0
    assert "--port" not in capsys.readouterr().err


def test_datagrams_that_lack_fragments_are_told_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, *_ = fragments(Connection().client(mysql.query(b"SELECT '" + b"x" * 3000 + b"'")), 1480)
    path = tmp_path / "pieces.pcap"
    path.write_bytes(pcap([Captured(first, 10**18)]))
    assert main(["replay", str(path), "--counters"]) == 0
    shown = capsys.readouterr().err
    assert "1 datagrams lack fragments, and are not read" in shown
    assert "datagrams_given_up 1\ndatagrams_disagreeing 0\n" in shown


def test_a_tunnel_that_is_not_known_is_refused(tunnelled: str) -> None:
    with pytest.raises(SystemExit):
        main(["replay", tunnelled, "--tunnel", "mpls"])
