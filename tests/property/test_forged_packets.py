"""Several forged packets that support each other, as who wants to be taken for a client would send them.

What is forged lies beyond all that the client says, so that no byte of the client has a forged copy.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support import mysql_packets as mysql
from tests.support.packets import ACK, FIN, RST, SYN, Connection, ipv4, tcp
from tests.support.pipeline import Capture, logged_in
from workers.settings import Responses, Settings

SLOW = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
WRAP = 2**32
FAR = (100_000, 5_000_000, 200_000_000, 900_000_000, 1_200_000_000, 1 << 31, WRAP - 1_500_000_000, WRAP - 50_000_000)


@dataclass
class Attack:
    """Forges packets of the client, which go to places that its *trick* has made ready."""

    first: int
    chance: random.Random
    places: list[int] = field(default_factory=list)
    """Sequence numbers at which a forged SYN, or what was forged before, lets something follow."""
    texts: list[bytes] = field(default_factory=list)
    """What was said in forged segments."""

    def packet(self, here: int) -> bytes:
        """The next trick; the client is at *here*."""
        kind = self.chance.choice(["far", "far", "follow", "follow", "follow", "syn", "reset", "end"])
        place = self._place(here)
        if kind == "follow":
            place = self.chance.choice(self.places or [place])
            kind = self.chance.choice(["far", "far", "reset", "end"])
        if kind == "far":
            self.texts.append(b"SELECT 'forged %d'" % len(self.texts))
            data = self.chance.choice([mysql.query(self.texts[-1]), b"\1\2\3"])
            self.places.append((place + len(data)) % WRAP)
            return self._raw(place, ACK, data)
        if kind == "syn":
            self.places.append((place + 1) % WRAP)
        return self._raw(place, {"syn": SYN, "reset": RST, "end": FIN | ACK}[kind])

    def _place(self, here: int) -> int:
        return (here + self.chance.choice(FAR) + self.chance.randrange(10_000)) % WRAP

    def _raw(self, sequence: int, flags: int, data: bytes = b"") -> bytes:
        return ipv4(tcp(data, sequence=sequence, acknowledgment=self.chance.randrange(WRAP), flags=flags))


def said(number: int, chance: random.Random) -> bytes:
    return b"SELECT %d, '" % number + b"x" * chance.choice([0, 10, 3000]) + b"'"


@SLOW
@pytest.mark.parametrize("responses", ["first", "none", "all"])
@given(seed=st.integers(0, WRAP))
def test_forged_packets_that_support_each_other_alter_no_statement(responses: Responses, seed: int) -> None:
    chance = random.Random(seed)
    connection = Connection(client_first=chance.randrange(WRAP))
    capture = Capture(Settings(ports=(3306,), responses=responses))
    capture.feed(*logged_in(connection))
    attack = Attack(connection.client_next, chance)
    texts = [said(number, chance) for number in range(chance.randrange(1, 8))]
    for text in texts:
        command = mysql.query(text)
        cut = chance.choice([len(command), len(command), 20, 1448])
        for piece in filter(None, (command[:cut], command[cut:])):
            for _ in range(chance.choice([0, 0, 1, 2, 3])):
                capture.feed(attack.packet(connection.client_next))
                capture.pass_time(chance.choice([0, 0, 0.5, 2, 15]))
            capture.feed(connection.client(piece))
        if responses != "none":
            capture.feed(connection.server(mysql.ok()))
        capture.pass_time(chance.choice([0, 0, 0.5, 2]))
    found = [one for one in capture.finish() if one.command == "query"]
    whole = [one.sql or b"" for one in found if "truncated" not in one.flags]
    assert set(whole) <= set(texts) | set(attack.texts), "what looks whole was sent so"
    once = sorted(set(whole) & set(texts), key=texts.index)
    assert [text for text in whole if text in texts] == once, "once, in order"
    cut_ones = [one.sql or b"" for one in found if "truncated" in one.flags]
    assert all(any(text.startswith(piece) for text in texts + attack.texts) for piece in cut_ones)


CUT = (10_000, 200_000_000, 900_000_000)


@pytest.mark.parametrize("ahead", CUT)
@pytest.mark.parametrize("data", [b"\1\2\3", mysql.query(b"SELECT 'forged'"), b"y" * 4000])
def test_a_statement_that_a_far_segment_cuts_does_not_look_whole(ahead: int, data: bytes) -> None:
    connection, capture = Connection(), Capture(Settings(ports=(3306,), responses="none"))
    capture.feed(*logged_in(connection))
    text = b"SELECT '" + b"x" * 6000 + b"'"
    command = mysql.query(text)
    capture.feed(connection.client(command[:3000]))
    here = connection.client_next
    connection.client_next = (here + ahead) % WRAP
    capture.feed(connection.client(data))
    capture.pass_time(2)
    connection.client_next = here
    capture.feed(connection.client(command[3000:]))
    capture.pass_time(2)
    capture.feed(connection.client(mysql.query(b"SELECT 2")))
    first, *_, last = [one for one in capture.finish() if one.command == "query"]
    assert (first.sql, first.flags) == (text[: len(first.sql or b"")], ("truncated", "after_gap"))
    assert (last.sql, last.flags) == (b"SELECT 2", ("after_gap",))
    assert capture.counted("gaps_filled_late") == (1,)
