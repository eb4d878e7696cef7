from __future__ import annotations

import json
from pathlib import Path

from collector.aggregator.ledger import Ledger
from collector.channel import Statistics, Traffic
from collector.reading.archive import list_archive
from collector.reading.ledgers import last_headers, ledger_record, render_ledger
from tests.unit.collector.aggregator.making import START_NS, head, header
from tests.unit.collector.reading.making import write_object


def ledger_map() -> dict[str, object]:
    ledger = Ledger(1)
    ledger.take_block(
        head(statements=4, after={"packets_used": 9, "statements_packed": 4, "statements_decoded": 5}, final=True)
    )
    ledger.take_statistics(
        Statistics(worker=0, incarnation=0, kernel_passed=12, kernel_dropped=2, page_packets=9, final=True)
    )
    ledger.take_record(Traffic(worker=0, incarnation=0, interface="lo", incoming=8, outgoing=1))
    return {"final": True, "workers": {"0": ledger.view({0: 4})[0].as_map()}, "malformed": 3}


def test_the_ledger_shows_both_sums_of_each_worker_and_what_does_not_balance() -> None:
    lines = list(render_ledger(header(ledger=ledger_map(), sealed_ns=START_NS)))
    assert lines == [
        f"final ledger of db1 (instance {header().instance}), object 1, 2023-11-14T22:13:20.000000000Z",
        "  worker 0: packets passed 12 = dropped by the kernel 2 + used 9 + lost 0 + held 0 + in ring 1",
        "  worker 0: statements decoded 5 = shipped 4 + filtered 0 + lost 0 + evicted 0 + held 1",
        "  worker 0: packets by interface: lo 8 in 1 out",
        "  worker 0: does not balance: 1 packets were left in the ring",
        "  malformed 3",
    ]


def test_a_ledger_of_another_shape_is_printed_as_far_as_it_goes() -> None:
    shapes: list[dict[str, object]] = [{}, {"workers": 5}, {"workers": {"0": []}}, {"workers": {"0": {"packets": 1}}}]
    for ledger in shapes:
        assert "ledger of db1" in next(iter(render_ledger(header(ledger=ledger))))
        assert list(render_ledger(header(ledger=ledger)))


def test_the_record_is_json() -> None:
    record = json.loads(json.dumps(ledger_record(header(ledger=ledger_map()))))
    assert record["ledger"]["workers"]["0"]["statements"]["shipped"] == 4


def test_the_last_readable_object_of_each_instance_has_the_last_ledger(tmp_path: Path) -> None:
    for sequence in (1, 2):
        write_object(tmp_path, sequence=sequence, first_ns=START_NS + sequence)
    damaged = write_object(tmp_path, sequence=3, first_ns=START_NS + 3)
    damaged.write_bytes(damaged.read_bytes()[:90])
    problems: list[str] = []
    headers = last_headers(list_archive(str(tmp_path)), problems.append)
    assert [found.sequence for found in headers] == [2]
    assert problems == [f"{damaged.relative_to(tmp_path)}: truncated in its header"]


def test_a_ledger_that_was_made_up_moves_no_cursor() -> None:
    evil = "\x1b[2J\n"
    worker = {
        "packets": {"passed": evil, "dropped": evil, "taken": {evil: evil}, "lost": evil},
        "statements": {"decoded": evil, "shipped": evil},
        "faults": [evil],
        "crashes": evil,
        "captures_lost": evil,
        "encrypted": {"connections": evil, "bytes": evil},
    }
    made_up = header(host=evil, ledger={"workers": {evil: worker}, evil: 1})
    lines = list(render_ledger(made_up))
    assert all(line.isprintable() for line in lines)
    assert len(lines) == 8


def test_what_could_not_be_seen_for_tls_is_named() -> None:
    encrypted = {"connections": 2, "bytes": 345, "answer_bytes": 6789}
    lines = list(render_ledger(header(ledger={"workers": {"0": {"encrypted": encrypted}}})))
    assert "not seen for TLS: 2 connections, 345 bytes of clients, 6789 bytes of servers" in lines[1]
    none = dict.fromkeys(encrypted, 0)
    assert "TLS" not in "".join(render_ledger(header(ledger={"workers": {"0": {"encrypted": none}}})))


def test_how_many_processes_of_a_worker_crashed_is_told() -> None:
    lines = list(render_ledger(header(ledger={"workers": {"0": {"crashes": 2}, "1": {"crashes": 0}}})))
    assert lines[1] == "  worker 0: 2 of its processes ended without having been told to"
    assert "worker 1" not in "".join(lines)


def test_what_a_capture_could_not_tell_any_more_is_named() -> None:
    lines = list(render_ledger(header(ledger={"workers": {"0": {"captures_lost": 2}}})))
    assert "2 capture processes ended without their last figures" in lines[1]


def test_of_named_instances_only_the_ledger_is_shown(tmp_path: Path) -> None:
    write_object(tmp_path)
    entries = list_archive(str(tmp_path))
    assert last_headers(entries, _never, frozenset({"0" * 32})) == []
    assert len(last_headers(entries, _never, frozenset({header().instance}))) == 1


def _never(problem: str) -> None:
    raise AssertionError(problem)
