"""What a network, a lossy capture and people of ill will do to connections; through the whole pipeline."""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support import mysql_packets as mysql
from tests.support.carriers import fragments, in_tunnel
from tests.support.packets import ACK, FIN, RST, SYN, Connection
from tests.support.pipeline import Capture, logged_in
from workers.fragments import Fragments
from workers.pcapfile import Frame
from workers.records import Statement
from workers.settings import Settings

SLOW = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
WRAP = 2**32
WAY = st.sampled_from(["first", "none"])
SEEDS = st.integers(0, 2**32)


@dataclass(frozen=True)
class Segment:
    """A piece of what the client says, at *offset* of all of it."""

    offset: int
    data: bytes


class Talk:
    """A client that logs in and says *texts*, each beginning a segment, as clients do."""

    def __init__(self, sizes: list[int], chance: random.Random) -> None:
        self.connection = Connection(client_first=WRAP - 3000)
        self.opening = logged_in(self.connection)
        self.texts = [b"SELECT %d, '" % number + b"x" * size + b"'" for number, size in enumerate(sizes)]
        self.commands = [mysql.query(text) for text in self.texts]
        self.said = b"".join(self.commands)
        self._chance = chance
        self._first = self.connection.client_next

    def segments(self, least: int = 1) -> list[Segment]:
        """All that is said, cut somewhere; *least* bytes of a command are in its first segment."""
        found = []
        place = 0
        for command in self.commands:
            at = 0
            while at < len(command):
                size = max(self._chance.choice([1, 3, 7, 100, 536, 1448, 20_000]), 0 if at else least)
                found.append(Segment(place + at, command[at : at + size]))
                at += size
            place += len(command)
        return found

    def again(self) -> Segment:
        """A piece of it with other boundaries."""
        begin = self._chance.randrange(len(self.said))
        return Segment(begin, self.said[begin : begin + self._chance.randrange(1, 3000)])

    def packet(self, segment: Segment) -> bytes:
        self.connection.client_next = (self._first + segment.offset) % WRAP
        return self.connection.client(segment.data)

    def end(self, flags: int) -> bytes:
        self.connection.client_next = (self._first + len(self.said)) % WRAP
        return self.connection.client(flags=flags)


talks = st.builds(Talk, st.lists(st.integers(0, 6000), min_size=1, max_size=12), SEEDS.map(random.Random))


def shuffled(segments: list[Segment], chance: random.Random, reach: int) -> list[Segment]:
    """In another order, none further than *reach* from its place."""
    places = [(number + chance.uniform(0, reach), segment) for number, segment in enumerate(segments)]
    return [segment for _, segment in sorted(places, key=lambda pair: pair[0])]


def queries(found: list[Statement]) -> list[Statement]:
    return [one for one in found if one.command == "query"]


@SLOW
@given(talks, SEEDS, WAY)
def test_a_network_that_loses_nothing_changes_nothing(talk: Talk, seed: int, responses: str) -> None:
    chance = random.Random(seed)
    segments = shuffled(talk.segments(), chance, chance.choice([0, 3, 30]))
    for _ in range(chance.randrange(20)):
        segments.insert(chance.randrange(len(segments) + 1), talk.again())
    capture = Capture(Settings(ports=(3306,), responses="none" if responses == "none" else "first"))
    capture.feed(*talk.opening, *[talk.packet(segment) for segment in segments])
    found = queries(capture.finish())
    assert [one.sql for one in found] == talk.texts
    assert {one.flags for one in found} == {()}
    assert capture.counted("gaps", "resyncs", "packets_stray", "gaps_filled_late") == (0, 0, 0, 0)


@SLOW
@given(talks, SEEDS, st.sampled_from([FIN | ACK, RST]))
def test_the_end_may_come_at_any_time_before_what_was_sent_before_it(talk: Talk, seed: int, flags: int) -> None:
    chance = random.Random(seed)
    packets = [talk.packet(segment) for segment in shuffled(talk.segments(), chance, 10)]
    packets.insert(chance.randrange(len(packets) + 1), talk.end(flags))
    if flags != RST:
        packets.insert(chance.randrange(len(packets) + 1), talk.connection.server(flags=FIN | ACK))
    capture = Capture(Settings(ports=(3306,), responses="none"))
    capture.feed(*talk.opening, *packets)
    assert [one.sql for one in queries(capture.finish())] == talk.texts
    assert capture.counted("gaps", "connections_opened") == (0, 1)


@SLOW
@given(talks, SEEDS, WAY, st.floats(0.01, 0.6))
def test_what_is_whole_stays_whole_and_nothing_is_made_up_where_segments_are_lost(
    talk: Talk, seed: int, responses: str, loss: float
) -> None:
    chance = random.Random(seed)
    segments = talk.segments(least=30)  # where the stream is out of step, fewer do not show that a command begins
    lost = [segment for segment in segments if chance.random() < loss]
    kept = [segment for segment in segments if segment not in lost]
    capture = Capture(Settings(ports=(3306,), responses="none" if responses == "none" else "first"))
    capture.feed(*talk.opening)
    for segment in shuffled(kept, chance, chance.choice([0, 3])):
        capture.feed(*[talk.packet(segment)] * chance.choice([1, 1, 2]))
        capture.pass_time(chance.choice([0, 0, 0, 0.05]))
    found = queries(capture.finish())
    whole = [one.sql for one in found if "truncated" not in one.flags]
    assert whole == untouched(talk, lost), "just those of which all came"
    cut = [one.sql or b"" for one in found if "truncated" in one.flags]
    assert all(any(text.startswith(piece) for text in talk.texts) for piece in cut)
    assert len(found) <= len(talk.texts)


def untouched(talk: Talk, lost: list[Segment]) -> list[bytes]:
    """The texts of commands that lie in none of the lost segments."""
    found = []
    place = 0
    for text, command in zip(talk.texts, talk.commands, strict=True):
        end = place + len(command)
        if not any(segment.offset < end and place < segment.offset + len(segment.data) for segment in lost):
            found.append(text)
        place = end
    return found


@SLOW
@given(talks, SEEDS)
def test_whatever_comes_late_no_statement_is_altered_or_comes_twice(talk: Talk, seed: int) -> None:
    chance = random.Random(seed)
    segments = shuffled([one for one in talk.segments() if chance.random() > 0.1], chance, chance.choice([2, 10, 50]))
    capture = Capture(Settings(ports=(3306,), responses="none"))
    capture.feed(*talk.opening)
    for segment in segments:
        capture.feed(talk.packet(segment))
        capture.pass_time(chance.choice([0, 0, 0.3, 1.1, 3]))
    found = queries(capture.finish())
    whole = [one.sql for one in found if "truncated" not in one.flags]
    assert len(whole) == len(set(whole))
    assert set(whole) <= set(talk.texts)
    assert all(any(text.startswith(one.sql or b"") for text in talk.texts) for one in found)


@SLOW
@given(talks, SEEDS)
def test_packets_that_their_receiver_drops_hide_nothing_that_it_takes(talk: Talk, seed: int) -> None:
    """Segments from far ahead, resets and ends from elsewhere, SYNs: whoever goes on after them is heard."""
    chance = random.Random(seed)
    capture = Capture(Settings(ports=(3306,), responses="none"))
    capture.feed(*talk.opening)
    place = 0
    for command in talk.commands:
        for _ in range(chance.choice([0, 0, 1, 2])):
            capture.feed(forged(talk, place, chance))
            capture.pass_time(chance.choice([0, 0, 0, 2]))
        capture.feed(talk.packet(Segment(place, command)))
        place += len(command)
    found = [one.sql for one in queries(capture.finish()) if "truncated" not in one.flags]
    assert found == talk.texts


def forged(talk: Talk, offset: int, chance: random.Random) -> bytes:
    """A packet that a server drops: too far ahead of *offset*, or with a number out of its window."""
    far = chance.choice([200_000_000, 900_000_000, 1 << 31, WRAP - 2_000_000_000])
    packet = Segment(offset + far + chance.randrange(1000), b"\x01\x02\x03")
    kind = chance.choice(["data", "data", "reset", "end", "syn"])
    if kind == "data":
        return talk.packet(packet)
    talk.packet(Segment(packet.offset + (1_500_000_000 if kind == "syn" else 0), b""))
    return talk.connection.client(flags={"reset": RST, "end": FIN | ACK, "syn": SYN}[kind])


@pytest.mark.parametrize("tunnel", [None, "vxlan", "gre", "ipip"])
@settings(SLOW, max_examples=20)
@given(talk=talks, seed=SEEDS)
def test_fragments_and_tunnels_change_nothing(tunnel: str | None, talk: Talk, seed: int) -> None:
    chance = random.Random(seed)
    packets = [*talk.opening, *[talk.packet(segment) for segment in talk.segments()]]
    if tunnel is not None:
        packets = [in_tunnel(tunnel, packet) for packet in packets]
    table = Fragments()
    capture = Capture(Settings(ports=(3306,), responses="none", tunnels=() if tunnel is None else (tunnel,)))
    for number, packet in enumerate(packets):
        pieces = fragments(packet, chance.choice([64, 512, 1480, 65_528]), identification=number)
        chance.shuffle(pieces)
        for piece in pieces:
            whole = table.add(Frame(piece, 0, capture.now_ns, len(piece)))
            capture.feed(piece if whole is None else whole.data[whole.at :])
    assert [one.sql for one in queries(capture.finish())] == talk.texts
