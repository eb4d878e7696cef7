from __future__ import annotations

from pathlib import Path

from collector.aggregator.compress import Compressor
from collector.aggregator.seal import seal
from collector.archive.layout import KIND_METRICS, KIND_SUMMARY
from collector.archive.names import ObjectName, write_name
from collector.archive.packing import pack
from collector.reading.archive import list_archive
from collector.reading.keys import ReaderKey
from collector.reading.metrics import render, samples
from collector.reading.scan import Wanted
from collector.reading.search import Search
from tests.unit.collector.aggregator.making import (
    READER_PUBLIC_RAW,
    READER_RAW,
    SECOND,
    SIGNING_KEY,
    START_NS,
    hash_start,
    header,
)

KEYS = (ReaderKey(READER_RAW),)


def sample(at_s: int, **more: object) -> bytes:
    return pack({"format": 1, "time_ns": START_NS + at_s * SECOND, "host": {"load1": 0.5}, "tree": {}, **more})


def stored(folder: Path, *packed: bytes) -> Path:
    """An object of the first ten seconds with these samples."""
    compress = Compressor(1).compress
    metrics = b"".join((pack({"format": 1}), *packed))
    groups = [(KIND_SUMMARY, compress(pack({"format": 1}))), (KIND_METRICS, compress(metrics))]
    made = header()
    data = seal(made, groups, [READER_PUBLIC_RAW], SIGNING_KEY)
    name = ObjectName(made.instance, made.first_ns, made.last_ns, 1, hash_start(data))
    path = folder / write_name(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def found(
    folder: Path, search: Search | None = None, hosts: frozenset[str] = frozenset()
) -> tuple[list[str], list[str]]:
    """The times of the samples, and what was reported."""
    problems: list[str] = []
    wanted = Wanted(keys=KEYS, search=search or Search(), hosts=hosts)
    times = [str(one["time"])[11:19] for one in samples(list_archive(str(folder)), wanted, problems.append)]
    return times, problems


def test_samples_are_told_in_order_with_the_host_they_are_of(tmp_path: Path) -> None:
    stored(tmp_path, sample(-5), sample(5, server_1={"address": "db:1", "up": 1}))
    first, second = samples(list_archive(str(tmp_path)), Wanted(keys=KEYS), lambda _: None)
    assert first == {"time": "2023-11-14T22:13:15.000000000Z", "host": "db1", "system": {"load1": 0.5}, "querytap": {}}
    assert second["server_1"] == {"address": "db:1", "up": 1}
    assert render(second).startswith(
        "2023-11-14T22:13:25.000000000Z db1 | system: load1=0.5 | server_1: address=db:1 up=1"
    )


def test_of_the_times_that_are_searched_those_beside_the_statements_are_found_too(tmp_path: Path) -> None:
    stored(tmp_path, sample(-5), sample(5), sample(15))
    assert found(tmp_path, Search(until_ns=START_NS)) == (["22:13:15"], [])
    assert found(tmp_path, Search(since_ns=START_NS + 11 * SECOND)) == (["22:13:35"], [])
    assert found(tmp_path, hosts=frozenset({"other"})) == ([], [])


def test_what_is_no_sample_is_reported_and_passed_over(tmp_path: Path) -> None:
    path = stored(tmp_path, pack(5), sample(5), b"\xc1")
    times, problems = found(tmp_path)
    assert times == ["22:13:25"]
    assert [problem.partition(": ")[2].partition(":")[0] for problem in problems] == [
        "frame 1 holds something that is not a sample",
        "frame 1 does not hold samples",
    ]
    path.write_bytes(path.read_bytes()[:100])
    assert len(found(tmp_path)[1]) == 1
