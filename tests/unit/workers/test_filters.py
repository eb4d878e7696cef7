"""Rules leave out what they name, or all but what they name."""

from __future__ import annotations

import ipaddress
import struct

import pytest

from workers.filters import Filters
from workers.mysql import constants
from workers.mysql.events import Exchange, Session
from workers.mysqlx import phases
from workers.settings import Selection

NOTHING = Selection()


def exchange(
    user: str | None = "app",
    database: str | None = "shop",
    client: str = "10.1.2.3",
    command: int = constants.COM_QUERY,
) -> Exchange:
    """A statement that somebody sent."""
    address = ipaddress.ip_address(client)
    number = int(address) if address.version == 6 else 0xFFFF << 32 | int(address)
    made = Exchange()
    made.session = Session()
    made.session.user = None if user is None else user.encode()
    made.session.ends = struct.pack("<QQHQQH", number >> 64, number & (1 << 64) - 1, 5, 0, 0, 3306)
    made.database = None if database is None else database.encode()
    made.command = command
    return made


@pytest.mark.parametrize(
    ("selection", "named", "other"),
    [
        (Selection(users=("app", "ö")), exchange(user="app"), exchange(user="App")),
        (Selection(users=("app", "ö")), exchange(user="ö"), exchange(user="")),
        (Selection(users=("app",)), exchange(user="app"), exchange(user=None)),
        (Selection(databases=("shop",)), exchange(database="shop"), exchange(database="shop2")),
        (Selection(databases=("shop",)), exchange(database="shop"), exchange(database=None)),
        (Selection(clients=("10.1.2.3",)), exchange(client="10.1.2.3"), exchange(client="10.1.2.4")),
        (Selection(clients=("10.1.0.0/16",)), exchange(client="10.1.255.255"), exchange(client="10.2.0.0")),
        (Selection(clients=("0.0.0.0/0",)), exchange(client="1.2.3.4"), exchange(client="2001:db8::1")),
        (Selection(clients=("2001:db8::/32",)), exchange(client="2001:db8:1::5"), exchange(client="2001:db9::5")),
        (Selection(clients=("::/0",)), exchange(client="2001:db8:1::5"), None),
        (Selection(commands=("ping",)), exchange(command=0x0E), exchange()),
        (Selection(commands=("query",)), exchange(command=phases.command(phases.STMT_EXECUTE)), exchange(command=1)),
        (Selection(commands=("connect",)), exchange(command=constants.CONNECT), exchange()),
    ],
)
def test_a_rule_is_about_what_it_names(selection: Selection, named: Exchange, other: Exchange | None) -> None:
    for _ in range(2):  # the second time as remembered
        assert not Filters(selection, NOTHING).admits(named)
        named.session.verdict = 0
        assert Filters(NOTHING, selection).admits(named)
        named.session.verdict = 0
        if other is not None:
            assert Filters(selection, NOTHING).admits(other)
            other.session.verdict = 0
            assert not Filters(NOTHING, selection).admits(other)
            other.session.verdict = 0


def test_all_kinds_must_agree() -> None:
    filters = Filters(Selection(users=("root",)), Selection(users=("app", "root"), databases=("shop",)))
    assert filters.admits(exchange())
    assert not filters.admits(exchange(user="root"))
    assert not filters.admits(exchange(database="other"))


def test_a_session_is_judged_once_and_anew_when_somebody_logs_in() -> None:
    filters = Filters(Selection(users=("root",)), NOTHING)
    first = exchange(user=None)
    assert filters.admits(first)
    first.session.user = b"root"
    assert not filters.admits(first)
    first.session.logs_in(b"app", b"", 0)
    assert filters.admits(first)


def test_what_is_no_network_is_refused() -> None:
    with pytest.raises(ValueError, match="10"):
        Filters(Selection(clients=("10.0.0.1/8",)), NOTHING)
