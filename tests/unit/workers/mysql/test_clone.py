from __future__ import annotations

import pytest

from tests.support import mysql_packets as mysql
from tests.support.play import LOGGED_IN, C, S, Step, exchange, play, play_whole
from workers.mysql import events
from workers.mysql.clone import Clone

CLONE, RESET = mysql.command(0x20), mysql.command(0x1F)
DATA = mysql.command(3, b"no query")


def test_nothing_is_taken_where_nothing_is_cloned() -> None:
    clone = Clone()
    assert not any(clone.takes(number, 10) or clone.may_begin(number) for number in range(256))


@pytest.mark.parametrize(("number", "length", "taken"), [(1, 146, True), (1, 1, False), (6, 1, True), (7, 1, False)])
def test_its_commands_have_numbers_from_1_to_6_and_a_quit_is_short(number: int, length: int, taken: bool) -> None:
    clone = Clone()
    clone.begin(exchange(command=0x20))
    assert clone.takes(number, length) is taken


def test_it_ends_with_its_exit_or_does_not_begin_behind_an_error() -> None:
    clone = Clone()
    clone.begin(exchange(command=0x20))
    assert [clone.takes(number, 20) for number in (1, 4, 3, 6, 3)] == [True] * 4 + [False]
    clone.begin(exchange(command=0x20, status=events.ERROR))
    assert not clone.takes(3, 20)


@pytest.mark.parametrize("answers", [True, False])
def test_what_the_clone_plugins_say_is_no_command(answers: bool) -> None:
    steps: list[Step] = [
        *LOGGED_IN, (C, CLONE), (S, mysql.ok()), (C, mysql.command(1, b"locators")), (S, mysql.packet(0, b"\x63")),
        (C, DATA), (S, mysql.packet(0, b"\x63")), (C, mysql.command(6)), (S, mysql.packet(0, b"\x63")), (C, RESET),
        (S, mysql.ok()),
    ]  # fmt: skip
    played = play(*steps, answers=answers)
    assert sorted(one.command for one in played.said) == ["clone", "connect", "reset_connection"]
    assert played.desyncs == 0


def test_behind_a_gap_nothing_of_it_is_taken_for_a_command() -> None:
    steps: list[Step] = [
        *LOGGED_IN, (C, CLONE), (S, mysql.ok()), (C, mysql.command(1, b"locators")), ("gap", 50), (C, DATA), (C, DATA),
        (C, RESET),
    ]  # fmt: skip
    assert [one.command for one in play_whole(*steps).said] == ["connect", "clone", "reset_connection"]
