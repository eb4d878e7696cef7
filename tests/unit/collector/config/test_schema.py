from __future__ import annotations

import pytest

from collector.config.commands import COMMANDS
from collector.config.option import Kind, Option
from collector.config.schema import OPTIONS, SECTIONS, Config
from workers.mysqlx.phases import COMMAND_NAMES
from workers.page import MOST_PORTS

_BY_KEY = pytest.mark.parametrize("option", OPTIONS.values(), ids=OPTIONS.keys())


@_BY_KEY
def test_every_default_and_example_is_within_its_bounds(option: Option) -> None:
    assert option.check.problem(option.default) is None
    assert option.example is None or option.check.problem(option.example) is None


@_BY_KEY
def test_every_option_opens_with_a_sentence_and_has_bounds(option: Option) -> None:
    assert option.meaning[0].isupper()
    assert option.meaning.endswith(".")
    assert option.check.bounds


@_BY_KEY
def test_an_option_with_a_unit_in_its_name_declares_that_unit(option: Option) -> None:
    units = {"mib": "MiB", "kib": "KiB", "ms": "ms", "s": "s", "percent": "%"}
    suffix = option.name.rpartition("_")[2]
    if suffix in units:
        assert option.unit.split()[0] == units[suffix]


@_BY_KEY
def test_an_option_whose_default_shows_no_shape_has_an_example(option: Option) -> None:
    assert (option.example is not None) == (option.default in ((), ""))


def test_commands_that_can_be_named_are_those_that_records_name() -> None:
    assert COMMANDS == COMMAND_NAMES


def test_a_worker_can_be_told_of_as_many_ports_as_may_be_set() -> None:
    for key in ("capture.ports", "capture.x_ports"):
        most = max(count for count in range(1, 200) if OPTIONS[key].check.problem(tuple(range(1, count + 1))) is None)
        assert most == MOST_PORTS


def test_a_worker_socket_below_the_longest_run_path_fits_a_unix_address() -> None:
    check = OPTIONS["paths.run"].check
    longest = max(length for length in range(2, 200) if check.problem("/" + "r" * (length - 1)) is None)
    assert longest + len("/capture/worker-63/blocks.sock") + 1 == 108  # sun_path and its end, unix(7)


def test_every_section_is_a_field_of_the_configuration_and_has_a_meaning() -> None:
    for section, owner in SECTIONS.items():
        assert isinstance(getattr(Config(), section), owner)
        assert owner.__doc__


def test_only_numbers_that_may_be_fractions_are_declared_as_such() -> None:
    assert [key for key, option in OPTIONS.items() if option.kind is Kind.NUMBER] == [
        "batch.max_age_s",
        "store.timeout_s",
        "budget.cpu_percent",
        "budget.cpu_percent_of_host",
    ]
