from __future__ import annotations

import pickle

import pytest

from collector.config.errors import ConfigError, Problem, StartError


@pytest.mark.parametrize(
    ("problem", "text"),
    [
        (Problem("capture.ring_mb", "unknown option"), "capture.ring_mb: unknown option"),
        (Problem("capture.ring_mib", "must be more", "0"), "capture.ring_mib = 0: must be more"),
        (Problem("batch", "unknown", place="/etc/q.toml:3"), "/etc/q.toml:3: batch: unknown"),
        (Problem("", "is not TOML", place="/etc/q.toml"), "/etc/q.toml: is not TOML"),
    ],
)
def test_a_problem_reads_as_place_key_value_and_text(problem: Problem, text: str) -> None:
    assert str(problem) == text


def test_a_config_error_has_one_line_for_every_problem() -> None:
    error = ConfigError(Problem(key, "wrong") for key in ("a.b", "c.d"))
    assert str(error) == "a.b: wrong\nc.d: wrong"
    assert [problem.key for problem in error.problems] == ["a.b", "c.d"]


def test_a_start_error_says_what_is_missing_and_then_what_mends_it() -> None:
    assert str(StartError("no right to capture")) == "no right to capture"
    assert str(StartError("no key", "run `querytap keygen`")) == "no key\nrun `querytap keygen`"


def test_both_errors_survive_pickling() -> None:
    config_error = pickle.loads(pickle.dumps(ConfigError([Problem("a.b", "wrong")])))  # noqa: S301  # our own bytes
    start_error = pickle.loads(pickle.dumps(StartError("no key", "make one")))  # noqa: S301  # our own bytes
    assert config_error.problems == (Problem("a.b", "wrong"),)
    assert (start_error.message, start_error.remedy) == ("no key", "make one")
