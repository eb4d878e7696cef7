from __future__ import annotations

from pathlib import Path

from collector.aggregator.compress import Compressor
from collector.aggregator.seal import seal
from collector.archive.heads import BlockHead
from collector.archive.layout import KIND_BLOCKS, SIGNATURE_BYTES, Header
from collector.reading.archive import Entry, list_archive
from collector.reading.keys import ReaderKey
from collector.reading.objects import read_header
from collector.reading.scan import Visit, Wanted, visit
from collector.reading.search import Search
from collector.reading.selection import Selection
from tests.unit.collector.aggregator.making import (
    READER_PUBLIC_RAW,
    READER_RAW,
    SECOND,
    SIGNING_KEY,
    START_NS,
    header,
)
from tests.unit.collector.reading.making import block, write_object
from workers.columns import Columns

KEY = ReaderKey(READER_RAW)


def texts_of(entry: Entry, wanted: Wanted) -> Visit[list[bytes]]:
    selection = Selection(wanted.search)
    texts: list[bytes] = []

    def take(_: Header, head: BlockHead, columns: Columns) -> None:
        assert head.statements
        texts.extend(statement.sql or b"" for statement in selection.statements(columns))

    return visit(entry, wanted, take, Visit(texts))


def read(archive: Path, search: Search | None = None, **wanted: frozenset[str]) -> tuple[list[bytes], list[str]]:
    asked = Wanted(keys=(KEY,), search=search or Search(), **wanted)
    seen = [texts_of(entry, asked) for entry in list_archive(str(archive)) if asked.may_hold(entry)]
    return [text for each in seen for text in each.result], [text for each in seen for text in each.problems]


def test_every_statement_of_every_object_comes_with_its_host(tmp_path: Path) -> None:
    write_object(tmp_path, block(b"a", b"b"), block(b"c"), host="db7")
    (entry,) = list_archive(str(tmp_path))
    seen = texts_of(entry, Wanted(keys=(KEY,)))
    assert seen.origin == ("db7", header().instance)
    assert (seen.result, seen.problems) == ([b"a", b"b", b"c"], [])


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


def test_a_damaged_block_costs_itself_alone(tmp_path: Path) -> None:
    path = write_object(tmp_path, block(b"a", b"bad", b"c", sequence=7), block(b"d"))
    statements, problems = read(tmp_path)
    assert statements == [b"d"]
    (problem,) = problems
    assert problem.startswith(f"{path.relative_to(tmp_path)}: block 7 of worker 0 (incarnation 0) is not readable: ")


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
    seen = texts_of(entries[0], Wanted(keys=(KEY,)))
    assert seen.result == []
    assert "No such file" in seen.problems[0]


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


def test_of_named_instances_only_what_they_signed_comes(tmp_path: Path) -> None:
    path = write_object(tmp_path, block(b"a"))
    other = frozenset({"0" * 32})
    assert read(tmp_path, instances=other) == ([], [])
    path.rename(tmp_path / "renamed")
    assert read(tmp_path, instances=other) == ([], [])
    assert read(tmp_path, instances=frozenset({header().instance})) == ([b"a"], [])


def test_of_named_hosts_only_what_was_recorded_there_comes(tmp_path: Path) -> None:
    write_object(tmp_path, block(b"a"), host="db7")
    assert read(tmp_path, hosts=frozenset({"db8"})) == ([], [])
    assert read(tmp_path, hosts=frozenset({"db7", "db8"})) == ([b"a"], [])


def frames_start(path: Path) -> int:
    with path.open("rb") as stream:
        frames = read_header(stream).frames
    return path.stat().st_size - SIGNATURE_BYTES - sum(frames)
