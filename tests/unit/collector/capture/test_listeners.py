from __future__ import annotations

import os
import socket

import pytest

from collector.capture import netlink
from collector.capture.listeners import Listener, Listeners, in_table

TABLE = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:0CEA 00000000:0000 0A 00000000:00000000 00:00000000 00000000   104        0 19271 1 0000000000000000
   1: 0100007F:0CEA 0100007F:9C40 01 00000000:00000000 00:00000000 00000000   104        0 20001 1 0000000000000000
   2: 0100007F:0019 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 17000 1 0000000000000000
"""
TABLE_6 = """\
  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when
   0: 00000000000000000000000000000000:8124 00000000000000000000000000000000:0000 0A 0:0 00:0 0 104 0 555 1 0
"""


def test_listening_sockets_are_found_and_connections_are_not() -> None:
    assert in_table(TABLE) == {Listener(3306, 104, 19271), Listener(25, 0, 17000)}


def test_the_longer_addresses_of_ipv6_are_read_alike() -> None:
    assert in_table(TABLE_6) == {Listener(33060, 104, 555)}


def test_a_table_without_sockets_is_empty() -> None:
    assert in_table(TABLE.splitlines()[0]) == frozenset()


def no_netlink(protocol: int, groups: int = 0) -> socket.socket:  # noqa: ARG001
    raise OSError(93, "Protocol not supported")


@pytest.mark.parametrize("has_netlink", [True, False])
@pytest.mark.parametrize(("family", "address"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_the_kernel_names_who_listens_and_who_does_not_any_more(
    monkeypatch: pytest.MonkeyPatch, has_netlink: bool, family: int, address: str
) -> None:
    if not has_netlink:
        monkeypatch.setattr(netlink, "connect", no_netlink)
    listeners = Listeners()
    with socket.create_server((address, 0), family=family) as server:
        expected = Listener(server.getsockname()[1], os.geteuid(), os.fstat(server.fileno()).st_ino)
        with socket.create_connection(server.getsockname()[:2]):
            assert expected in listeners.now()
            assert sum(one.port == expected.port for one in listeners.now()) == 1
    assert expected not in listeners.now()
    listeners.close()
