from __future__ import annotations

import secrets

import zstandard

from collector.aggregator import batches
from collector.aggregator.batches import Batch, Limits
from collector.archive.layout import KIND_BLOCKS, KIND_METRICS, KIND_SUMMARY
from collector.archive.packing import pack, unpack_stream
from tests.unit.collector.aggregator.making import SECOND, START_NS, head, head_bytes

LIMITS = Limits(max_bytes=1 << 20, max_age_ns=10 * SECOND)


def batch_with(*changes: dict[str, object], now_ns: int = 0) -> Batch:
    batch = Batch(LIMITS, 1, 0)
    for change in changes:
        batch.add(head(**change), head_bytes(**change), b"body", now_ns)
    return batch


def test_a_batch_without_blocks_is_due_each_minute() -> None:
    batch = batch_with()
    assert not batch.due(60 * SECOND - 1)
    assert batch.due(60 * SECOND)


def test_blocks_that_only_account_for_packets_wait_for_the_minute() -> None:
    batch = batch_with({"statements": 0}, now_ns=5 * SECOND)
    assert not batch.due(60 * SECOND - 1)
    assert batch.due(60 * SECOND)


def test_a_batch_with_statements_is_due_when_the_first_are_old_enough() -> None:
    batch = batch_with({"statements": 0}, now_ns=1 * SECOND)
    batch.add(head(statements=1), head_bytes(statements=1), b"", 5 * SECOND)
    batch.add(head(sequence=1), head_bytes(sequence=1), b"", 14 * SECOND)
    assert not batch.due(15 * SECOND - 1)
    assert batch.due(15 * SECOND)
    assert batch.deadline_ns() == 15 * SECOND


def test_a_batch_is_due_when_it_is_large_enough() -> None:
    batch = batch_with()
    batch.add(head(), head_bytes(), secrets.token_bytes(1 << 19), 0)
    assert not batch.due(0)
    batch.add(head(), head_bytes(), secrets.token_bytes(1 << 19), 0)
    assert batch.due(0)


def test_a_first_block_late_in_a_quiet_minute_does_not_delay_the_ledger() -> None:
    batch = batch_with({}, now_ns=59 * SECOND)
    assert batch.due(60 * SECOND)


def test_summaries_alone_can_fill_a_batch() -> None:
    batch = batch_with()
    summary = {str(number): "x" * 4000 for number in range(15)}
    change = {"summary": summary}
    for _ in range(batches.MAX_SUMMARY_BYTES // 60_000 + 1):
        batch.add(head(**change), b"", b"", 0)
    assert batch.due(0)


def test_a_closed_batch_spans_the_statements_in_it() -> None:
    closed = batch_with(
        {"first_ns": START_NS + 5, "last_ns": START_NS + 9, "statements": 2},
        {"first_ns": START_NS + 2, "last_ns": START_NS + 7, "statements": 3, "worker": 1},
        {"first_ns": 0, "last_ns": 0, "statements": 0, "worker": 1},
    ).close(0, 123)
    assert (closed.first_ns, closed.last_ns) == (START_NS + 2, START_NS + 9)
    assert closed.statements == {0: 2, 1: 3}
    assert closed.blocks == 3


def test_a_batch_without_statements_has_the_time_of_its_sealing() -> None:
    closed = batch_with().close(0, 123)
    assert (closed.first_ns, closed.last_ns, closed.blocks) == (123, 123, 0)
    assert [kind for kind, _ in closed.groups] == [KIND_SUMMARY]


def test_the_summary_comes_first_and_has_an_entry_for_each_block() -> None:
    closed = batch_with({"sequence": 4, "summary": {"errors": 1}}, {"sequence": 5}).close(0, 1)
    assert [kind for kind, _ in closed.groups] == [KIND_SUMMARY, KIND_BLOCKS]
    about, first, second = unpack_stream(zstandard.ZstdDecompressor().decompress(closed.groups[0][1]), bin_bytes=1000)
    assert about == {"format": batches.SUMMARY_FORMAT}
    assert (first["sequence"], first["summary"], second["sequence"]) == (4, {"errors": 1}, 5)


def test_closing_begins_anew() -> None:
    batch = batch_with({"statements": 7})
    batch.close(3 * SECOND, 1)
    again = batch.close(4 * SECOND, 2)
    assert (again.blocks, again.statements, again.content_bytes) == (0, {}, 0)
    assert batch.deadline_ns() == 64 * SECOND


def test_other_limits_hold_for_what_is_gathered_already() -> None:
    batch = batch_with({"statements": 1}, now_ns=5 * SECOND)
    batch.adapt(Limits(max_bytes=1 << 20, max_age_ns=2 * SECOND), 3)
    assert batch.deadline_ns() == 7 * SECOND
    batch.adapt(Limits(max_bytes=1, max_age_ns=10 * SECOND), 3)
    assert batch.due(5 * SECOND)
    assert batch.close(6 * SECOND, START_NS).blocks == 1


def test_samples_of_the_monitor_come_last_and_only_once() -> None:
    batch = batch_with({"sequence": 4})
    batch.add_sample(pack({"time_ns": 1}))
    batch.add_sample(pack({"time_ns": 2}))
    closed = batch.close(0, 1)
    assert [kind for kind, _ in closed.groups] == [KIND_SUMMARY, KIND_BLOCKS, KIND_METRICS]
    held = zstandard.ZstdDecompressor().decompress(closed.groups[-1][1])
    assert list(unpack_stream(held, bin_bytes=0)) == [
        {"format": batches.METRICS_FORMAT},
        {"time_ns": 1},
        {"time_ns": 2},
    ]
    assert [kind for kind, _ in batch.close(0, 1).groups] == [KIND_SUMMARY]


def test_more_samples_than_there_is_room_for_are_left_out() -> None:
    batch = batch_with()
    sample = pack({"a": "x" * 1000})
    for _ in range(2 * batches.MAX_SAMPLES_BYTES // len(sample)):
        batch.add_sample(sample)
    held = zstandard.ZstdDecompressor().decompress(batch.close(0, 1).groups[-1][1])
    assert batches.MAX_SAMPLES_BYTES - 2 * len(sample) < len(held) <= batches.MAX_SAMPLES_BYTES + 100
