from __future__ import annotations

import logging

from collector.config import Config, ConfigError, Problem, from_mapping
from collector.config.reloading import MOST_SAID, Outcome, reload


def told(outcome: Outcome) -> list[tuple[int, str]]:
    return [(level, text) for level, text in outcome.lines()]


def test_a_file_with_problems_changes_nothing_and_every_problem_is_told_with_its_place() -> None:
    problems = (
        Problem("capture.ring_mib", "must be between 1 and 4096", "0", "/etc/querytap/querytap.toml:3"),
        Problem("capture.prots", "unknown option, did you mean ports?", "", "/etc/querytap/querytap.toml:4"),
    )

    def read() -> Config:
        raise ConfigError(problems)

    outcome = reload(Config(), read)
    assert outcome.config == Config()
    assert told(outcome) == [
        (logging.ERROR, "reload: 2 problems, so nothing is changed and the settings from before go on:"),
        (logging.ERROR, f"reload: {problems[0]}"),
        (logging.ERROR, f"reload: {problems[1]}"),
    ]
    assert outcome.as_map() == {
        "applied": False, "changed": [], "waiting": [], "problems": [str(problem) for problem in problems],
    }  # fmt: skip


def test_what_changed_and_what_waits_are_a_line_each() -> None:
    wanted = from_mapping({"capture": {"ports": [3307], "ring_mib": 8}, "workers": {"count": 2}})
    outcome = reload(Config(), lambda: wanted)
    assert outcome.config == from_mapping({"capture": {"ports": [3307]}})
    assert told(outcome) == [
        (logging.INFO, "reload: changed: capture.ports from [] to [3307]"),
        (logging.WARNING, "reload: differs, and takes effect after a restart: capture.ring_mib, workers.count"),
    ]
    assert outcome.as_map() == {
        "applied": True,
        "changed": ["capture.ports from [] to [3307]"],
        "waiting": ["capture.ring_mib", "workers.count"],
        "problems": [],
    }


def test_that_nothing_differs_is_told_too() -> None:
    assert told(reload(Config(), Config)) == [
        (logging.INFO, "reload: no setting that can be changed without a restart differs")
    ]


def test_of_very_many_problems_the_first_are_told() -> None:
    def read() -> Config:
        raise ConfigError([Problem("x.y", "unknown section")] * 1000)

    outcome = reload(Config(), read)
    assert len(told(outcome)) == len(outcome.as_map()["problems"]) + 1 == MOST_SAID + 1
