"""What XConversation promises for any conversation: it never raises, cuts change nothing, what it keeps is bounded."""

from __future__ import annotations

import itertools

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support import x_packets as x
from tests.support.play import GAP, C, S, Step, parts
from tests.support.strategies import damaged
from tests.support.x_play import LOGGED_IN, Played, play_whole, run
from workers.mysql.errors import StreamViolation
from workers.mysqlx.protobuf import fields
from workers.settings import RESPONSES as RESPONSES_THERE_ARE
from workers.settings import Responses

KEEP = 1 << 20
ALLOWANCE = 1 << 22
RESPONSES = st.sampled_from(RESPONSES_THERE_ARE)
QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]

TEXTS = st.one_of(st.binary(max_size=60), st.sampled_from([b"USE other", b"SELECT 1", b"x" * 3000]))
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(1 << 63), (1 << 64) - 1), st.floats(allow_nan=False),
    st.binary(max_size=20), st.text(max_size=20),
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=6,
)
IDS = st.integers(1, 3)
EFFECTS = st.one_of(
    st.builds(x.executed, st.integers(0, 1 << 40), st.integers(0, 9)),
    st.builds(lambda rows: x.result(*rows), st.lists(st.binary(max_size=200), max_size=4)),
    st.builds(x.error, st.integers(1, 65535), st.binary(max_size=30)),
)
DONE = st.one_of(st.just(x.ok()), st.builds(x.error, st.integers(1, 65535), st.binary(max_size=30)))
EXECUTIONS = st.one_of(
    st.builds(lambda text, given: x.query(text, *given), TEXTS, st.lists(VALUES, max_size=3)),
    st.builds(lambda name, given: x.find(name, *given), st.binary(max_size=9), st.lists(SCALARS, max_size=3)),
    st.builds(lambda number, given: x.execute(number, *given), IDS, st.lists(VALUES, max_size=3)),
    st.builds(x.cursor_open, IDS, IDS),
    st.builds(x.insert, st.binary(max_size=9), st.binary(max_size=50)),
)
OTHERS = st.one_of(
    st.builds(x.prepare, IDS, TEXTS),
    st.builds(x.deallocate, IDS),
    st.sampled_from([x.message(x.RESET), x.message(x.EXPECT_CLOSE), x.message(x.EXPECT_OPEN, x.number(1, 0))]),
)
TURNS = st.one_of(st.tuples(EXECUTIONS, EFFECTS), st.tuples(OTHERS, DONE))
"""What a client sends, and the answer to it."""


@st.composite
def scripts(draw: st.DrawFn) -> list[Step]:
    """A conversation in order: turns one by one, or sent ahead."""
    steps: list[Step] = list(LOGGED_IN)
    for group in draw(st.lists(st.lists(TURNS, min_size=1, max_size=4), max_size=6)):
        steps += [(C, b"".join(sent for sent, _ in group)), (S, b"".join(answer for _, answer in group))]
    return steps


def cut(steps: list[Step], cuts: list[int]) -> Played:
    """Run with the client's stream cut at these places as well."""
    found = []
    begin = 0
    for side, what, time_ns, acknowledgment in parts(steps):
        if side != C or not isinstance(what, bytes):
            found.append((side, what, time_ns, acknowledgment))
            continue
        bounds = [0, *sorted({each - begin for each in cuts if 0 < each - begin < len(what)}), len(what)]
        for low, high in itertools.pairwise(bounds):
            found.append((side, what[low:high], time_ns, acknowledgment))
        begin += len(what)
    return run(found, True, True, KEEP, ALLOWANCE)


@settings(max_examples=80, deadline=None, suppress_health_check=QUIET)
@given(scripts(), st.lists(st.integers(1, 5000), max_size=30))
def test_cutting_the_clients_bytes_differently_never_changes_what_is_reported(
    steps: list[Step], cuts: list[int]
) -> None:
    assert cut(steps, cuts).comparable() == cut(steps, []).comparable()


def cut_server(steps: list[Step], cuts: list[int]) -> Played:
    """Run with the server's direction read whole, and cut at these places as well."""
    found = []
    begin = 0
    for side, what, time_ns, acknowledgment in parts(steps):
        if side != S or not isinstance(what, bytes):
            found.append((side, what, time_ns, acknowledgment))
            continue
        bounds = [0, *sorted({each - begin for each in cuts if 0 < each - begin < len(what)}), len(what)]
        for low, high in itertools.pairwise(bounds):
            found.append((side, what[low:high], time_ns, acknowledgment + low))
        begin += len(what)
    return run(found, True, True, KEEP, ALLOWANCE, "all")


@settings(max_examples=80, deadline=None, suppress_health_check=QUIET)
@given(scripts(), st.lists(st.integers(1, 2000), max_size=30))
def test_read_whole_cutting_the_servers_bytes_differently_never_changes_what_is_reported(
    steps: list[Step], cuts: list[int]
) -> None:
    assert cut_server(steps, cuts).comparable() == cut_server(steps, []).comparable()


@settings(max_examples=80, deadline=None, suppress_health_check=QUIET)
@given(st.lists(TURNS, min_size=1, max_size=12), st.integers(1, 4), st.lists(st.integers(1, 2000), max_size=30))
def test_read_whole_every_answer_is_measured_and_its_rows_counted(
    turns: list[tuple[bytes, bytes]], ahead: int, cuts: list[int]
) -> None:
    steps: list[Step] = list(LOGGED_IN)
    for at in range(0, len(turns), ahead):
        group = turns[at : at + ahead]
        steps += [(C, b"".join(sent for sent, _ in group)), (S, b"".join(answer for _, answer in group))]
    told = cut_server(steps, cuts).said[1:]
    assert [each.bytes_out for each in told] == [len(answer) for _, answer in turns]
    assert [each.rows for each in told] == [_rows(answer) for _, answer in turns]


def _rows(answer: bytes) -> int:
    """The rows of an answer, -1 where it is no result."""
    kinds = []
    at = 0
    while at < len(answer):
        kinds.append(answer[at + 4])
        at += 4 + int.from_bytes(answer[at : at + 4], "little")
    return kinds.count(13) if 12 in kinds else -1


@settings(max_examples=80, deadline=None, suppress_health_check=QUIET)
@given(st.lists(TURNS, min_size=1, max_size=12), st.integers(1, 4))
def test_every_request_is_reported_once_in_order_and_with_its_own_answer(
    turns: list[tuple[bytes, bytes]], ahead: int
) -> None:
    steps: list[Step] = list(LOGGED_IN)
    for at in range(0, len(turns), ahead):
        group = turns[at : at + ahead]
        steps += [(C, b"".join(sent for sent, _ in group)), (S, b"".join(answer for _, answer in group))]
    played = play_whole(*steps)
    assert len(played.said) == 1 + len(turns)
    status = {0: "ok", 1: "error", 11: "ok", 12: "result"}
    assert [each.status for each in played.said[1:]] == [status[answer[4]] for _, answer in turns]
    assert [each.bytes_in for each in played.said[1:]] == [len(sent) for sent, _ in turns]
    assert (played.desyncs, played.unread_parameters) == (0, 0)


@st.composite
def hurt_scripts(draw: st.DrawFn) -> list[Step]:
    """A conversation whose segments are damaged, lost, cut, swapped or made up."""
    algorithm = draw(st.sampled_from(["deflate_stream", "zstd_stream", "lz4_message", ""]))
    steps: list[Step] = [
        (C, x.capabilities(compression={"algorithm": algorithm}, tls=draw(st.booleans()))),
        (S, x.ok()),
    ]
    for side, data in steps[: draw(st.integers(0, 2))] + draw(scripts()):
        assert isinstance(data, bytes)
        kind = draw(st.sampled_from(["same", "same", "damage", "gap", "lose", "other side", "cut", "wrap", "random"]))
        if kind == "same":
            steps.append((side, data))
        elif kind == "damage":
            steps.append((side, draw(damaged(data))))
        elif kind == "gap":
            steps += [(GAP, draw(st.integers(0, 1 << 31))), (side, data)]
        elif kind == "other side":
            steps.append((S if side == C else C, data))
        elif kind == "cut":
            at = draw(st.integers(0, len(data)))
            steps += [(side, data[:at]), (side, data[at:])]
        elif kind == "wrap":
            steps.append((side, x.compression(data, len(data), x.COMPRESSION if side == C else x.SERVER_COMPRESSION)))
        elif kind == "random":
            steps.append((side, draw(st.binary(max_size=60))))
    return steps


@settings(max_examples=300, deadline=None, suppress_health_check=QUIET)
@given(hurt_scripts(), st.booleans(), RESPONSES, st.sampled_from([10, 1000, KEEP]))
def test_no_input_raises_or_leaves_anything_behind(
    steps: list[Step], from_start: bool, responses: Responses, allowance_bytes: int
) -> None:
    heard = "first" if responses == "none" else responses
    played = run(parts(steps), from_start, responses != "none", min(KEEP, allowance_bytes), allowance_bytes, heard)
    assert all(0 <= verdict <= 4 for verdict in played.returned)


MESSAGES = st.builds(x.message, st.integers(0, 50), st.binary(max_size=40))


@settings(max_examples=300, deadline=None, suppress_health_check=QUIET)
@given(
    st.lists(st.tuples(st.sampled_from([C, S]), st.one_of(MESSAGES, st.binary(max_size=80))), max_size=15),
    st.booleans(),
)
def test_made_up_messages_do_no_harm(steps: list[Step], from_start: bool) -> None:
    play_whole(*steps, from_start=from_start)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=80), st.integers(0, 10), st.booleans())
def test_fields_of_any_bytes_lie_inside_them_and_in_order(data: bytes, begin: int, was_cut: bool) -> None:
    at, end = min(begin, len(data)), len(data)
    try:
        for each in fields(data + b"\x01" * 9, at, end, cut=was_cut):
            assert at < each.begin <= each.stop <= end
            at = each.stop
    except StreamViolation:
        return


@settings(max_examples=60, deadline=None, suppress_health_check=QUIET)
@given(scripts(), st.data())
def test_damage_is_followed_by_whole_statements(steps: list[Step], data: st.DataObject) -> None:
    hurt = data.draw(damaged(x.query(b"SELECT 1") + x.find(b"c")))
    after = [(C, x.query(b"SELECT 'after %d'" % each)) for each in range(3)]
    played = play_whole(*steps, (C, hurt), (GAP, 1 << 30), *after)
    assert [each.text for each in played.said[-3:]] == [b"SELECT 'after %d'" % each for each in range(3)]
