from __future__ import annotations

from collector.capture.following import Ports
from collector.capture.listeners import Listener
from collector.capture.servers import Servers
from workers.page import MOST_PORTS

MYSQL, OTHER, ROOT = 104, 33, 0
FIRST = Listener(3306, MYSQL, 1)


def found(*sockets: Listener, strangers: tuple[int, ...] = ()) -> Ports:
    uids = frozenset(one.uid for one in sockets) - {ROOT}
    return Ports((), (), Servers(frozenset(sockets), uids, frozenset(strangers)))


def test_a_server_that_moves_is_followed_and_its_old_port_stays_until_somebody_else_has_it() -> None:
    ports = found(FIRST)
    ports.look([FIRST])
    assert (ports.classic, ports.local, ports.silent) == ((3306,), True, ())
    ports.look([])
    assert (ports.classic, ports.silent) == ((3306,), (3306,))
    ports.look([Listener(3307, MYSQL, 2)])
    assert (ports.classic, ports.silent) == ((3306, 3307), ())
    ports.look([Listener(3307, MYSQL, 2), Listener(3306, OTHER, 3)])
    assert (ports.classic, ports.local) == ((3307,), True)


def test_a_second_server_of_the_same_user_is_added() -> None:
    ports = found(FIRST)
    ports.look([FIRST, Listener(3307, MYSQL, 2)])
    assert ports.classic == (3306, 3307)


def test_sockets_of_others_and_of_other_protocols_are_not_added() -> None:
    ports = found(FIRST, strangers=(5,))
    ports.look([FIRST, Listener(80, OTHER, 2), Listener(33060, MYSQL, 3), Listener(9104, MYSQL, 5)])
    assert ports.classic == (3306,)


def test_of_a_server_that_roots_socket_belongs_to_only_the_port_is_followed() -> None:
    ports = found(Listener(3306, ROOT, 1))
    ports.look([Listener(3306, ROOT, 7), Listener(22, ROOT, 2)])
    assert (ports.classic, ports.silent) == ((3306,), ())


def test_the_last_port_stays_whoever_listens_on_it() -> None:
    ports = found(FIRST)
    ports.look([Listener(3306, OTHER, 9)])
    assert ports.classic == (3306,)


def test_there_are_no_more_ports_than_a_worker_can_be_told() -> None:
    ports = found(FIRST)
    ports.look([Listener(10_000 + number, MYSQL, 100 + number) for number in range(2 * MOST_PORTS)])
    assert len(ports.classic) == MOST_PORTS
    assert 3306 in ports.classic


def test_configured_ports_stay_and_those_nobody_listens_on_are_told() -> None:
    ports = Ports((3306, 3307), (33060,), None)
    ports.look([FIRST, Listener(4000, MYSQL, 2)])
    assert (ports.classic, ports.all) == ((3306, 3307), (3306, 3307, 33060))
    assert (ports.silent, ports.local) == ((3307, 33060), False)


def test_servers_count_as_local_for_good_once_each_port_was_listened_on() -> None:
    ports = Ports((3306, 3307), (), None)
    ports.look([FIRST])
    assert not ports.local
    ports.look([Listener(3307, MYSQL, 2)])
    assert ports.local
    ports.look([])
    assert ports.local
    assert ports.silent == (3306, 3307)


def test_a_port_of_the_x_protocol_that_is_silent_is_told_beside_ports_that_were_found() -> None:
    ports = Ports((), (33060,), Servers(frozenset({FIRST}), frozenset({MYSQL})))
    ports.look([FIRST])
    assert ports.silent == (33060,)
