"""What is counted of connections under TLS is what was sent, whatever the network does to it."""

from __future__ import annotations

import random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support import mysql_packets as mysql
from tests.support.packets import ACK, FIN, Connection
from tests.support.pipeline import Capture
from workers.settings import RESPONSES, Responses, Settings

SLOW = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
WRAP = 2**32
SEEDS = st.integers(0, 2**32)


class Talk:
    """A connection that turns to TLS; what both say under it comes in order, again, late or not at all."""

    def __init__(self, port: int, chance: random.Random) -> None:
        connection = Connection(client_port=port, client_first=WRAP - chance.randrange(9000), server_first=WRAP - 5000)
        opening = [*connection.open(), connection.server(mysql.greeting()), connection.client(mysql.ssl_request())]
        self.client_bytes = self.server_bytes = 0
        middle = []
        for _ in range(chance.randrange(1, 30)):
            data = b"\x17\x03\x03" + chance.randbytes(chance.choice([2, 60, 1400, 5000]))
            if chance.random() < 0.5:
                self.client_bytes += len(data)
                middle.append(connection.client(data))
            else:
                self.server_bytes += len(data)
                middle.append(connection.server(data))
        sent = list(middle)
        for _ in range(chance.randrange(10)):
            sent.insert(chance.randrange(len(sent) + 1), chance.choice(middle))
        reach = chance.choice([0, 2, 10])
        places = [(number + chance.uniform(0, reach), packet) for number, packet in enumerate(sent)]
        sent = [packet for _, packet in sorted(places, key=lambda pair: pair[0]) if chance.random() > 0.2]
        ending = [connection.client(flags=FIN | ACK), connection.server(flags=FIN | ACK), connection.client()]
        self.packets = [*opening, *sent, *ending]


@SLOW
@given(st.lists(SEEDS, min_size=1, max_size=4), SEEDS, st.sampled_from(RESPONSES))
def test_connections_and_bytes_are_those_that_were_sent(seeds: list[int], seed: int, responses: Responses) -> None:
    talks = [Talk(40_000 + number, random.Random(one)) for number, one in enumerate(seeds)]
    chance = random.Random(seed)
    capture = Capture(Settings(ports=(3306,), responses=responses))
    left = [list(reversed(talk.packets)) for talk in talks]
    while any(left):
        capture.feed(chance.choice([one for one in left if one]).pop())
        if chance.random() < 0.05:
            capture.pass_time(3)
    assert capture.finish() == []
    assert capture.counted("connections_encrypted", "encrypted_bytes", "encrypted_answer_bytes") == (
        len(talks),
        sum(talk.client_bytes for talk in talks),
        sum(talk.server_bytes for talk in talks),
    )
    assert capture.counted("gaps", "answer_gaps", "segments_held") == (0, 0, 0)
    assert capture.pipeline.kept_bytes() == 0
