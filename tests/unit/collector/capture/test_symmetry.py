from __future__ import annotations

import pytest

from collector.capture.symmetry import CONNECTIONS, Seen, packet, verdict

ALL = 4 * CONNECTIONS


def seen(of_v6: int = 2) -> Seen:
    """Connections that alternate between two sockets, those of IPv6 between so many."""
    ports = range(40_000, 40_000 + CONNECTIONS)
    return {(4, port): {port % 2} for port in ports} | {(6, port): {port % of_v6} for port in ports}


def test_a_hash_that_keeps_directions_together_and_connections_apart_is_sound() -> None:
    assert verdict(ALL, seen()) is None


def test_one_connection_in_two_sockets_is_enough() -> None:
    split = seen()
    split[4, 40_001] = {0, 1}
    assert "two directions" in (verdict(ALL, split) or "")


def test_connections_that_all_go_to_one_socket_are_not_spread() -> None:
    assert "all IPv6 connections" in (verdict(ALL, seen(of_v6=1)) or "")


def test_where_not_all_came_nothing_is_shown() -> None:
    assert f"{ALL - 1} of {ALL} packets" in (verdict(ALL - 1, seen()) or "")


@pytest.mark.parametrize(("version", "labels"), [(4, 1), (6, 2)])
def test_both_directions_are_of_one_connection_with_flow_labels_of_their_own(version: int, labels: int) -> None:
    there, back = (packet(version, 40_000, to_server=to_server) for to_server in (True, False))
    size, ends = (20, slice(12, 20)) if version == 4 else (40, slice(8, 40))
    half = (ends.stop - ends.start) // 2
    assert there[ends] == back[ends][half:] + back[ends][:half]
    assert there[size : size + 4] == back[size + 2 : size + 4] + back[size : size + 2]
    assert len({one[1:4] for one in (there, back)}) == (labels if version == 6 else 1)
