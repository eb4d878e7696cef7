from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from bench import frames, mixed, traffic
from workers import records
from workers.pipeline import Pipeline
from workers.settings import Settings

START_NS = 1_760_000_000_000_000_000
STATEMENTS = 400


def recorded() -> tuple[Pipeline, list[records.Statement]]:
    pipeline = Pipeline(0, 0, Settings(ports=(traffic.SERVER_PORT,), responses="first"))
    for at_ns, frame in mixed.timed(STATEMENTS, 8000, START_NS):
        pipeline.packet(frame, frames.ETHERNET_BYTES, len(frame), at_ns, len(frame) - frames.ETHERNET_BYTES)
    _, body = pipeline.take_block(at_ns, final=True)
    return pipeline, list(records.statements(body))


def test_the_mix_is_read_whole_and_each_statement_is_answered() -> None:
    pipeline, found = recorded()
    counted = Counter(one.command for one in found)
    assert counted["query"] + counted["stmt_execute"] == STATEMENTS
    assert min(counted["query"], counted["stmt_execute"]) > STATEMENTS // 4
    assert {one.status for one in found} == {"ok", "result"}
    assert all(one.parameters and one.sql for one in found if one.command == "stmt_execute")
    assert max(len(one.sql or b"") for one in found) > 2 * frames.MOST_PAYLOAD_BYTES
    counters = pipeline.counters()
    assert (counters["gaps"], counters["packets_desync"], counters["parameters_unread"]) == (0, 0, 0)


def test_the_same_seed_gives_the_same_frames_and_another_gives_others() -> None:
    first, again, other = (list(mixed.timed(50, 8000, START_NS, seed)) for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize("made", [mixed.timed(200, 8000, START_NS), mixed.random_times(
    traffic.generate(traffic.Workload(200)), 8000, START_NS)], ids=["mixed", "published"])  # fmt: skip
def test_frames_come_in_the_order_of_their_times(made: Iterator[tuple[int, bytes]]) -> None:
    times = [at_ns for at_ns, _ in made]
    assert len(times) > 400
    assert times == sorted(times)


def test_random_times_change_no_statement() -> None:
    made = traffic.generate(traffic.Workload(200))
    even = [frame for _, frame in traffic.timed(made, 8000, START_NS)]
    random = [frame for _, frame in mixed.random_times(made, 8000, START_NS)]
    assert sorted(random) == sorted(even)
