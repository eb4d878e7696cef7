"""Which statements are recorded: what is left out, or kept only, by user, database, client and command."""

from __future__ import annotations

import ipaddress
from typing import Final

from workers.mysql.events import Exchange, Session
from workers.mysqlx import phases
from workers.settings import Selection

_ADMITTED: Final = 1
_LEFT_OUT: Final = 2
_ADDRESS_BYTES: Final = 16
_MAPPED: Final = 0xFFFF << 32
"""Above an IPv4 address in IPv6 form: RFC 4291, section 2.5.5.2."""
_IPV4_PREFIX: Final = 96
_COMMANDS: Final = range(1024)
"""All numbers that commands have in either protocol."""


class Filters:
    """Decides about each statement. Where *only* names users, it leaves out all others; the same for each kind.

    What is not known, as the user of a connection that was joined late, is none of those named: *only* leaves it out,
    *omit* does not. Raises ValueError where a client is no network.
    """

    def __init__(self, omit: Selection, only: Selection) -> None:
        self._omit = _Side(omit)
        self._only = _Side(only)
        self._by_statement = any(side.databases or side.commands for side in (self._omit, self._only))

    def admits(self, exchange: Exchange) -> bool:
        """Whether *exchange* is recorded."""
        session = exchange.session
        verdict = session.verdict or self._judge(session)
        if verdict != _ADMITTED or not self._by_statement:
            return verdict == _ADMITTED
        omit, only = self._omit, self._only
        if exchange.database in omit.databases or exchange.command in omit.commands:
            return False
        if only.databases and exchange.database not in only.databases:
            return False
        return not only.commands or exchange.command in only.commands

    def _judge(self, session: Session) -> int:
        omit, only = self._omit, self._only
        admitted = not (session.user in omit.users or omit.has_client(session))
        admitted = admitted and (not only.users or session.user in only.users)
        admitted = admitted and (not only.clients or only.has_client(session))
        verdict = _ADMITTED if admitted else _LEFT_OUT
        if session.user is not None:
            session.verdict = verdict
        return verdict


class _Side:
    def __init__(self, selection: Selection) -> None:
        self.users = frozenset(name.encode() for name in selection.users)
        self.databases = frozenset(name.encode() for name in selection.databases)
        self.clients = [_network(text) for text in selection.clients]
        names = frozenset(selection.commands)
        self.commands = frozenset(number for number in _COMMANDS if phases.name(number) in names)

    def has_client(self, session: Session) -> bool:
        if not self.clients or len(session.ends) < _ADDRESS_BYTES:
            return False
        high = int.from_bytes(session.ends[:8], "little")
        address = high << 64 | int.from_bytes(session.ends[8:_ADDRESS_BYTES], "little")
        return any(address & mask == network for network, mask in self.clients)


def _network(text: str) -> tuple[int, int]:
    """The first address of a network and its mask, both as IPv6 has them."""
    found = ipaddress.ip_network(text)
    if isinstance(found, ipaddress.IPv4Network):
        return _MAPPED | int(found.network_address), _mask(_IPV4_PREFIX + found.prefixlen)
    return int(found.network_address), _mask(found.prefixlen)


def _mask(prefix: int) -> int:
    return (1 << 128) - (1 << 128 - prefix)
