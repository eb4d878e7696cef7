"""What the pipeline promises for any packets: each is counted once, none raises, nothing decoded is lost."""

from __future__ import annotations

import random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support import mysql_packets as mysql
from tests.support.packets import ACK, FIN, RST, Connection
from tests.support.pipeline import Capture
from tests.support.play import C
from tests.support.strategies import Turn, conversations, damaged, script
from workers.settings import Settings

LIMITS = Settings(
    ports=(3306,),
    max_statement_bytes=20_000,
    max_flows=3,
    max_flow_buffer_bytes=20_000,
    max_buffer_bytes=60_000,
)
SLOW = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)
SEGMENT = 1448


def packets(turns: list[Turn], port: int = 40_000) -> list[bytes]:
    """A connection with these turns, in segments as a network carries them."""
    connection = Connection(client_port=port, client_first=2**32 - 500)
    found = connection.open()
    for side, data in script(turns):
        assert isinstance(data, bytes)
        say = connection.client if side == C else connection.server
        found += [say(data[at : at + SEGMENT]) for at in range(0, len(data), SEGMENT)]
    return [*found, connection.client(flags=FIN | ACK), connection.server(flags=FIN | ACK)]


def summaries(turns: list[Turn]) -> list[tuple[str | None, bytes | None, str]]:
    return [turn.summary for turn in turns if turn.command is not None]


@SLOW
@given(conversations())
def test_what_was_said_comes_out_of_the_blocks(turns: list[Turn]) -> None:
    capture = Capture(Settings(ports=(3306,)))
    capture.feed(*packets(turns))
    found = capture.finish()
    assert [(one.command, one.sql, one.status) for one in found] == summaries(turns)
    bound = [one.parameters if one.parameter_rows is None else one.parameter_rows for one in found]
    assert bound == [turn.values for turn in turns if turn.command is not None]
    assert capture.counted("gaps", "resyncs", "packets_desync", "packets_malformed") == (0, 0, 0, 0)


@SLOW
@given(st.lists(conversations(), min_size=2, max_size=4), st.integers())
def test_connections_do_not_mix(several: list[list[Turn]], seed: int) -> None:
    queues = [packets(turns, 40_000 + number) for number, turns in enumerate(several)]
    capture = Capture(Settings(ports=(3306,)))
    order = random.Random(seed)
    while any(queues):
        capture.feed(order.choice([queue for queue in queues if queue]).pop(0))
    found = capture.finish()
    for number, turns in enumerate(several):
        client = f"10.0.0.1:{40_000 + number}"
        assert [(one.command, one.sql, one.status) for one in found if one.session.client == client] == summaries(turns)


@SLOW
@given(conversations(), st.integers())
def test_order_and_copies_of_the_clients_segments_do_not_change_the_texts(turns: list[Turn], seed: int) -> None:
    order = random.Random(seed)
    shuffled = []
    *before, fin, last_fin = packets(turns)
    for place, packet in enumerate(before):
        from_client = packet[20:22] == (40_000).to_bytes(2, "big") and place > 2
        late = order.choice([0, 0, 0, 2.5]) if from_client else 0
        shuffled.append((place + late, packet))
        if from_client and order.random() < 0.3:
            shuffled.append((place + order.choice([0.1, 3.3]), packet))
    capture = Capture(Settings(ports=(3306,), responses="none"))
    capture.feed(*[packet for _, packet in sorted(shuffled, key=lambda pair: pair[0])], fin, last_fin)
    found = sorted(repr((one.command, one.sql)) for one in capture.finish())
    wanted = [(turn.command, turn.text) for turn in turns if turn.command is not None]
    # an execution may overtake the answer to its PREPARE, and has no text then
    executions = ("stmt_execute", "stmt_bulk_execute")
    blind = {repr(pair) for pair in wanted if pair[0] in executions} | {repr((name, None)) for name in executions}
    assert [one for one in found if one not in blind] == sorted(
        repr(pair) for pair in wanted if repr(pair) not in blind
    )
    assert len(found) == len(wanted)


@st.composite
def hostile_packets(draw: st.DrawFn) -> list[tuple[bytes, int]]:
    """Packets of a few connections, of which some are damaged, lost, swapped, snapped or end the connection."""
    found: list[tuple[bytes, int]] = []
    for number in range(draw(st.integers(1, 4))):
        for packet in packets(draw(conversations()), 40_000 + number):
            kind = draw(st.sampled_from(["same", "same", "same", "same", "damage", "lose", "snap", "swap", "double"]))
            if kind == "damage":
                hurt = draw(damaged(packet))
                found.append((hurt, len(hurt)))
            elif kind == "snap":
                found.append((packet[: draw(st.integers(0, len(packet)))], len(packet)))
            elif kind == "swap" and found:
                found.insert(len(found) - draw(st.integers(1, min(4, len(found)))), (packet, len(packet)))
            elif kind != "lose":
                found += [(packet, len(packet))] * (2 if kind == "double" else 1)
    return found


@settings(SLOW, max_examples=120)
@given(hostile_packets(), st.sampled_from(["first", "none"]), st.lists(st.floats(0, 20), max_size=10), st.integers())
def test_no_packets_raise_and_each_is_counted_once(
    hostile: list[tuple[bytes, int]], responses: str, times: list[float], seed: int
) -> None:
    capture = Capture(Settings(ports=(3306, 40_001), responses="none" if responses == "none" else "first"))
    order = random.Random(seed)
    for packet, wire_length in hostile:
        capture.feed(packet + bytes(wire_length - len(packet)), cut=len(packet))
        if times and order.random() < 0.05:
            capture.pass_time(times.pop())
    capture.finish()


@settings(max_examples=100, deadline=None)
@given(st.lists(st.binary(max_size=120), max_size=30))
def test_random_bytes_do_no_harm(data: list[bytes]) -> None:
    capture = Capture(Settings(ports=(3306,)))
    capture.feed(*data)
    capture.finish()


@settings(SLOW, max_examples=60)
@given(hostile_packets())
def test_no_packets_take_more_connections_or_text_than_the_limits(hostile: list[tuple[bytes, int]]) -> None:
    capture = Capture(LIMITS)
    for packet, wire_length in hostile:
        capture.feed(packet + bytes(wire_length - len(packet)), cut=len(packet))
    for statement in capture.finish():
        assert len(statement.sql or b"") <= LIMITS.max_statement_bytes


def test_nothing_is_left_behind_by_connections_that_are_over() -> None:
    """Room that was not given back would be missing at the end, and the statement cut."""
    capture = Capture(LIMITS)
    for number in range(40):
        connection = Connection(client_port=1000 + number)
        capture.feed(*connection.open(), connection.server(mysql.greeting()))
        capture.feed(connection.client(mysql.login()), connection.server(mysql.ok(sequence=2)))
        capture.feed(
            connection.client(mysql.prepare(b"SELECT ?" + b"x" * 5000)), connection.server(mysql.prepare_ok(1, 1))
        )
        capture.feed(connection.client(mysql.long_data(1, 0, bytes(5000))))
        capture.feed(connection.client(mysql.query(b"x" * 15_000)[:10_000]))
        connection.client(b"lost")
        capture.feed(connection.client(b"x" * 5000))
        if number % 3 == 0:
            capture.feed(connection.client(flags=RST))
        elif number % 3 == 1:
            capture.feed(connection.client(flags=FIN | ACK), connection.server(flags=FIN | ACK))
    for _ in range(3):
        capture.pass_time(20)
    last = Connection(client_port=7)
    text = b"SELECT '" + b"x" * 19_000 + b"'"
    whole = mysql.query(text)
    capture.feed(*last.open(), *[last.client(whole[at : at + SEGMENT]) for at in range(0, len(whole), SEGMENT)])
    assert capture.finish()[-1].sql == text
