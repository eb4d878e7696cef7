from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.aggregator.compress import Compressor
from collector.aggregator.seal import seal
from collector.archive.layout import KIND_BLOCKS, SIGNATURE_BYTES
from collector.reading import scan as scanning
from collector.reading.archive import list_archive
from collector.reading.keys import ReaderKey
from collector.reading.objects import read_header
from collector.reading.scan import in_order, scan
from collector.reading.search import Search
from tests.unit.collector.aggregator.making import (
    READER_PUBLIC_RAW,
    READER_RAW,
    SECOND,
    SIGNING_KEY,
    START_NS,
    header,
)
from tests.unit.collector.reading.making import block, decode, statement, write_object
from workers.records import Statement

KEY = ReaderKey(READER_RAW)


def read(archive: Path, search: Search | None = None) -> tuple[list[bytes], list[str]]:
    problems: list[str] = []
    found = scan(list_archive(str(archive)), [KEY], search or Search(), problems.append, decode)
    return [item.statement.sql or b"" for item in found], problems


def test_every_statement_of_every_object_comes_with_its_host(tmp_path: Path) -> None:
    write_object(tmp_path, block(b"a", b"b"), block(b"c"), host="db7")
    (item,) = (
        item
        for item in scan(list_archive(str(tmp_path)), [KEY], Search(), _never, decode)
        if item.statement.sql == b"b"
    )
    assert item.header.host == "db7"
    assert sorted(read(tmp_path)[0]) == [b"a", b"b", b"c"]


def test_what_cannot_be_read_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    good = write_object(tmp_path, block(b"good"), sequence=1)
    cut = write_object(tmp_path, block(b"cut"), sequence=2, first_ns=START_NS + 1)
    cut.write_bytes(cut.read_bytes()[:100])
    flipped = write_object(tmp_path, block(b"kept"), block(b"flipped"), sequence=3, first_ns=START_NS + 2)
    damaged = bytearray(flipped.read_bytes())
    damaged[-SIGNATURE_BYTES - 1] ^= 1
    flipped.write_bytes(damaged)
    swapped = write_object(tmp_path, block(b"swapped"), sequence=4, first_ns=START_NS + 3)
    head_bytes = frames_start(good)
    assert frames_start(swapped) == head_bytes
    swapped.write_bytes(good.read_bytes()[:head_bytes] + swapped.read_bytes()[head_bytes:])
    (tmp_path / "notes.txt").write_text("a foreign file")
    statements, problems = read(tmp_path)
    assert statements == [b"good", b"kept"]
    relative = [str(path.relative_to(tmp_path)) for path in (cut, flipped, swapped)]
    assert problems == [
        f"{relative[0]}: truncated in its header",
        f"{relative[1]}: frame 2 of 3 is damaged: what it holds is lost",
        f"{relative[2]}: none of its 2 frames opens: its header is that of another object",
        "notes.txt: not a querytap object",
    ]


def test_a_damaged_block_costs_what_follows_in_it_alone(tmp_path: Path) -> None:
    path = write_object(tmp_path, block(b"a", b"bad", b"c", sequence=7), block(b"d"))
    statements, problems = read(tmp_path)
    assert statements == [b"a", b"d"]
    assert problems == [
        f"{path.relative_to(tmp_path)}: block 7 of worker 0 (incarnation 0) is not readable: a bad line"
    ]


def test_a_block_with_fewer_statements_than_its_head_says_is_reported(tmp_path: Path) -> None:
    path = write_object(tmp_path, block(b"a", statements=2))
    assert read(tmp_path) == (
        [b"a"],
        [f"{path.relative_to(tmp_path)}: block 0 of worker 0 (incarnation 0) holds 1 statements, its head says 2"],
    )


def test_a_renamed_object_is_reported_and_read(tmp_path: Path) -> None:
    path = write_object(tmp_path, block(b"a"))
    path.rename(path.with_name(path.name.replace("_0000000001_", "_0000000009_")))
    statements, problems = read(tmp_path)
    assert statements == [b"a"]
    assert len(problems) == 1
    assert "renamed" in problems[0]


def test_an_object_that_is_gone_is_reported(tmp_path: Path) -> None:
    path = write_object(tmp_path, block(b"a"))
    entries = list_archive(str(tmp_path))
    path.unlink()
    problems: list[str] = []
    assert list(scan(entries, [KEY], Search(), problems.append, decode)) == []
    assert "No such file" in problems[0]


def test_objects_and_blocks_outside_the_time_span_are_not_decoded(tmp_path: Path) -> None:
    write_object(tmp_path, block(b"bad", last_ns=START_NS + 5 * SECOND), block(b"a", b"b", b"c"), sequence=1)
    day_ns = 86_400 * SECOND
    later = {"first_ns": START_NS + day_ns, "last_ns": START_NS + day_ns}
    write_object(tmp_path, block(b"bad", **later), sequence=2, **later)
    search = Search(since_ns=START_NS + SECOND, until_ns=START_NS + 2 * SECOND)
    early = block(b"bad", first_ns=START_NS, last_ns=START_NS)
    write_object(tmp_path, early, block(b"a", b"b", b"c"), sequence=1)
    assert read(tmp_path, search) == ([b"b", b"c"], [])


def test_what_is_no_block_in_a_frame_is_reported(tmp_path: Path) -> None:
    compress = Compressor(1).compress
    groups = [(KIND_BLOCKS, compress(content)) for content in (b"\x01", b"\x92\xc4", b"\x92\xc4\x01x\xc4\x00")]
    (tmp_path / "object").write_bytes(seal(header(), groups, [READER_PUBLIC_RAW], SIGNING_KEY))
    statements, problems = read(tmp_path)
    assert statements == []
    assert [problem.split(" ", 3)[:3] for problem in problems] == [["object:", "frame", str(n)] for n in range(3)]


def timed(statements: list[Statement]) -> list[tuple[int, Statement]]:
    """On a host whose clock was never set."""
    return [(one.time_ns, one) for one in statements]


def test_where_the_clock_was_set_the_order_is_that_of_the_monotonic_one(tmp_path: Path) -> None:
    back = block(b"c", b"d", clock_ns=START_NS - 3600 * SECOND)
    before = block(b"a", b"b", b"e", clock_ns=START_NS)
    # Two workers: the other one took longer to hand over what it had before the clock was set back by an hour.
    write_object(tmp_path, back, before, block(b"a2", clock_ns=START_NS), last_ns=START_NS + 4 * SECOND)
    statements, problems = read(tmp_path)
    assert (statements, problems) == ([b"a", b"a2", b"b", b"e", b"c", b"d"], [])


@given(st.lists(st.integers(0, 5), max_size=40))
def test_statements_come_in_order_of_time_and_keep_their_order_at_the_same_time(times: list[int]) -> None:
    made = [statement(time_ns=time, statement_id=number) for number, time in enumerate(times)]
    assert list(in_order(timed(made))) == sorted(made, key=lambda each: each.time_ns)


def test_order_holds_a_bounded_number_of_statements(monkeypatch) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    monkeypatch.setattr(scanning, "_MOST_HELD", 3)
    made = [statement(time_ns=time) for time in (5, 4, 3, 2, 1)]
    assert [each.time_ns for each in in_order(timed(made))] == [2, 1, 3, 4, 5]


@pytest.mark.parametrize(
    "large", [{"sql": bytes(1000)}, {"parameters": ("x" * 500, bytes(500), 1, None)}, {"error_message": "x" * 1000}]
)
def test_order_holds_a_bounded_number_of_bytes_wherever_they_are(
    monkeypatch: pytest.MonkeyPatch, large: dict[str, object]
) -> None:
    monkeypatch.setattr(scanning, "_MOST_HELD_BYTES", 2500)
    made = [statement(time_ns=time, **{"sql": b"", **large}) for time in (5, 4, 3, 2, 1)]
    assert [each.time_ns for each in in_order(timed(made))] == [3, 2, 1, 4, 5]


def test_of_named_instances_only_what_they_signed_comes(tmp_path: Path) -> None:
    path = write_object(tmp_path, block(b"a"))
    other = frozenset({"0" * 32})
    assert list(scan(list_archive(str(tmp_path)), [KEY], Search(), _never, decode, instances=other)) == []
    path.rename(tmp_path / "renamed")
    assert list(scan(list_archive(str(tmp_path)), [KEY], Search(), _never, decode, instances=other)) == []
    mine = frozenset({header().instance})
    assert len(list(scan(list_archive(str(tmp_path)), [KEY], Search(), _never, decode, instances=mine))) == 1


def frames_start(path: Path) -> int:
    with path.open("rb") as stream:
        frames = read_header(stream).frames
    return path.stat().st_size - SIGNATURE_BYTES - sum(frames)


def _never(problem: str) -> None:
    raise AssertionError(problem)
