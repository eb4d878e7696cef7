from __future__ import annotations

import pytest

from collector.config.rules import RULES, Rule
from collector.config.schema import OPTIONS, Config


def test_the_defaults_keep_every_rule() -> None:
    assert [rule.text for rule in RULES if not rule.holds(Config())] == []


@pytest.mark.parametrize("rule", RULES, ids=[rule.keys[0] for rule in RULES])
def test_a_rule_is_about_declared_options_and_names_them(rule: Rule) -> None:
    for key in rule.keys:
        assert key in OPTIONS
        assert key in rule.text


@pytest.mark.parametrize("rule", RULES, ids=[rule.keys[0] for rule in RULES])
def test_the_options_of_a_rule_take_effect_together_so_that_no_reload_breaks_it(rule: Rule) -> None:
    assert len({OPTIONS[key].applies for key in rule.keys}) == 1
