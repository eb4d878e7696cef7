"""What MySQLConversation promises for any conversation: it never raises, and cuts never change what it reports."""

from __future__ import annotations

import itertools

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support import mysql_packets as mysql
from tests.support import strategies
from tests.support.play import LOGGED_IN, C, Part, Played, S, Step, parts, play, play_whole, run
from tests.support.strategies import LOGIN, QUERIES, Turn, conversations, damaged_scripts, script

KEEP = 1 << 20
ALLOWANCE = 1 << 22
SLOW = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def expected(turns: list[Turn]) -> list[tuple[str | None, bytes | None, str]]:
    return [turn.summary for turn in turns if turn.command is not None]


def cut_at(script_parts: list[Part], cuts: list[int]) -> list[Part]:
    """The client's bytes cut at these places of its stream."""
    found: list[Part] = []
    begin = 0
    for side, what, time_ns, acknowledgment in script_parts:
        if side != C or not isinstance(what, bytes):
            found.append((side, what, time_ns, acknowledgment))
            continue
        inside = sorted({cut - begin for cut in cuts if begin < cut < begin + len(what)})
        bounds = [0, *inside, len(what)]
        pieces = [what[low:high] for low, high in itertools.pairwise(bounds)]
        found += [(side, piece, time_ns, acknowledgment) for piece in pieces]
        begin += len(what)
    return found


def fed(script_parts: list[Part]) -> Played:
    return run(script_parts, True, True, KEEP, ALLOWANCE)._replace(returned=())


@SLOW
@given(conversations())
def test_every_command_is_reported_once_in_order_with_its_text_status_and_values(turns: list[Turn]) -> None:
    played = play_whole(*script(turns))
    assert played.summary() == expected(turns)
    assert [said.parameters for said in played.said] == [turn.values for turn in turns if turn.command is not None]
    assert (played.desyncs, played.truncated, played.unread_parameters) == (0, 0, 0)


@SLOW
@given(conversations(), st.data())
def test_cutting_the_clients_bytes_differently_never_changes_what_is_reported(
    turns: list[Turn], data: st.DataObject
) -> None:
    whole = parts(script(turns))
    size = sum(len(turn.client) for turn in turns)
    cuts = data.draw(st.lists(st.integers(1, max(1, size)), max_size=40))
    assert fed(cut_at(whole, cuts)) == fed(whole)


@SLOW
@given(st.lists(QUERIES, min_size=2, max_size=20))
def test_commands_sent_ahead_are_answered_in_order(turns: list[Turn]) -> None:
    steps: list[Step] = [*((C, turn.client) for turn in turns), *((S, turn.server) for turn in turns)]
    assert play(*LOGGED_IN, *steps).summary()[1:] == expected(turns)


@SLOW
@given(conversations())
def test_without_answers_the_same_texts_are_reported(turns: list[Turn]) -> None:
    played = play_whole(*script(turns), answers=False)
    assert sorted(map(repr, played.texts())) == sorted(repr(turn.text) for turn in turns if turn.command is not None)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(damaged_scripts(), st.booleans(), st.booleans(), st.sampled_from([10, 1000, KEEP]))
def test_no_input_raises_or_leaves_anything_behind(
    steps: list[Step], from_start: bool, answers: bool, allowance_bytes: int
) -> None:
    played = run(parts(steps), from_start, answers, min(KEEP, allowance_bytes), allowance_bytes)
    assert all(0 <= verdict <= 4 for verdict in played.returned)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([C, S]), st.binary(max_size=80)), max_size=12), st.booleans())
def test_random_bytes_do_no_harm(steps: list[Step], from_start: bool) -> None:
    play_whole(*steps, from_start=from_start)


@SLOW
@given(conversations(), st.data())
def test_damage_is_followed_by_whole_statements(turns: list[Turn], data: st.DataObject) -> None:
    kept = max(len(LOGIN), len(turns) - 3)  # damage to what was negotiated is beyond repair
    hurt = data.draw(strategies.damaged(b"".join(turn.client for turn in turns[kept:])))
    after = [(C, mysql.query(b"SELECT 'after %d'" % number)) for number in range(3)]
    steps: list[Step] = [*script(turns[:kept]), (C, hurt), ("gap", 1 << 30), *after]
    assert play_whole(*steps).texts()[-3:] == [b"SELECT 'after %d'" % number for number in range(3)]


@SLOW
@given(st.lists(QUERIES, min_size=3, max_size=8), st.data())
def test_a_gap_leaves_each_statement_whole_or_flagged_or_out(turns: list[Turn], data: st.DataObject) -> None:
    stream = b"".join(turn.client for turn in turns)
    begin = data.draw(st.integers(0, len(stream) - 1))
    end = data.draw(st.integers(begin + 1, min(len(stream), begin + 100_000)))
    steps: list[Step] = list(script(list(LOGIN)))
    at = 0
    for turn in turns:  # each in segments of its own, of which the lost bytes are missing
        stop = at + len(turn.client)
        low, high = max(at, begin), min(stop, end)
        if low < high:
            steps += [(C, stream[at:low])] if at < low else []
            steps.append(("gap", high - low))
            steps += [(C, stream[high:stop])] if high < stop else []
        else:
            steps.append((C, turn.client))
        at = stop
    sent = [turn.text for turn in turns]
    said = play_whole(*steps).said[1:]
    for one in said:
        if "truncated" in one.flags:
            assert "after_gap" in one.flags
            assert any(text is not None and text.startswith(one.text or b"") for text in sent)
        else:
            assert one.text in sent
    lost = sum(
        1 for turn, stop in zip(turns, _ends(turns), strict=True) if stop - len(turn.client) < end and stop > begin
    )
    assert len([one for one in said if not one.flags]) >= len(turns) - lost - 1


def _ends(turns: list[Turn]) -> list[int]:
    ends, at = [], 0
    for turn in turns:
        at += len(turn.client)
        ends.append(at)
    return ends
