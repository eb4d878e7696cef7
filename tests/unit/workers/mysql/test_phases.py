from __future__ import annotations

from workers.mysql import constants, phases


def test_each_command_has_one_row_and_a_name_of_its_own() -> None:
    numbers = [command.number for command in phases.COMMANDS]
    names = [command.name for command in phases.COMMANDS if command.name != phases.CONNECT_NAME]
    assert len(set(numbers)) == len(numbers)
    assert len(set(names)) == len(names)


def test_every_command_constant_has_a_row() -> None:
    known = {command.number: command.name for command in phases.COMMANDS}
    for name, number in vars(constants).items():
        if name.startswith("COM_"):
            assert known[number] == name.removeprefix("COM_").lower()


def test_traits_say_what_the_rows_say() -> None:
    rows = {command.number: command for command in phases.COMMANDS}
    for number, traits in enumerate(phases.TRAITS):
        row = rows.get(number)
        assert bool(traits & phases.KNOWN) == (row is not None)
        if row is not None:
            assert bool(traits & phases.TEXT) == row.text
            assert bool(traits & phases.ANSWERED) == row.answered
            assert bool(traits & phases.RECORDED) == row.recorded
            assert bool(traits & phases.ROWS) == row.rows


def test_names_are_given_for_any_number() -> None:
    assert phases.name(3) == "query"
    assert phases.name(constants.CONNECT) == "connect"
    assert phases.name(0x7F) == "unknown_127"
