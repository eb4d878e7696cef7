from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Any

import pytest

from collector.config.monitoring import AlertsOptions
from collector.monitor.alerts import alerting
from collector.monitor.alerts.alerting import Alerting, read
from collector.monitor.alerts.rules import RulesError
from collector.monitor.alerts.starting import STARTING
from collector.monitor.families import Family, Reading
from tests.support import patience
from tests.support.listeners import http_listener

pytestmark = pytest.mark.either_build

LEVEL = Family("level", "gauge", "Of a thing.")
RULE = '[[rule]]\nname = "high"\nmetric = "level"\nabove = 5\ntext = "it is {value:g}"\n'
NOW = 1_800_000_000.0


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(alerting, "FIRST_WAIT_S", 0.01)


def options(folder: Path, text: str, **more: Any) -> AlertsOptions:  # noqa: ANN401  # fields of many types
    file = folder / "alerts.toml"
    file.write_text(text)
    return AlertsOptions(file=str(file), **{"group_s": 0, **more})


def made(found: AlertsOptions) -> Alerting:
    return Alerting(found, *read(found))


def wait_for(alerts: Alerting, outcome: str) -> float:
    """How often notices came to that, once one has."""
    deadline = time.monotonic() + patience.seconds(30)
    while True:
        for reading in alerts.take([Reading(LEVEL, 9)], NOW):
            if reading.family is alerting.NOTICES and reading.labels[1] == outcome:
                return reading.value
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_an_alert_is_logged_counted_told_and_told_to_be_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with http_listener() as (url, got), caplog.at_level(logging.INFO):
        alerts = made(options(tmp_path, RULE + f'[[notifier]]\nkind = "webhook"\nurl = "{url}"\n'))
        (firing,) = alerts.take([Reading(LEVEL, 9)], NOW)
        assert (firing.name, firing.labels, firing.value) == ("querytap_alerts_firing", ("high", "warning"), 1)
        assert wait_for(alerts, "sent") == 1
        alerts.take([Reading(LEVEL, 1)], NOW + 10)
        deadline = time.monotonic() + patience.seconds(30)
        while len(got) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        alerts.close()
    assert [alert["text"] for alert in got[0]["firing"]] == ["it is 9"]
    assert [alert["rule"] for alert in got[1]["resolved"]] == ["high"]
    assert "alert high: it is 9" in caplog.text
    assert "alert high is over" in caplog.text


def test_a_notice_that_is_refused_is_tried_again_and_given_up_in_the_end(tmp_path: Path) -> None:
    with http_listener(500, 503) as (url, got):
        alerts = made(options(tmp_path, RULE + f'[[notifier]]\nkind = "webhook"\nurl = "{url}"\n'))
        assert wait_for(alerts, "sent") == 1
        assert len(got) == 3
        alerts.close()
    alerts = made(options(tmp_path, RULE + '[[notifier]]\nkind = "command"\ncommand = ["false"]\n'))
    assert wait_for(alerts, "failed") == 1
    alerts.close()


def test_the_starting_set_is_there_unless_it_is_off_and_gives_way_to_rules_of_the_same_name(tmp_path: Path) -> None:
    assert read(AlertsOptions())[0].rules == STARTING
    assert read(AlertsOptions(starting_set="off"))[0].rules == ()
    mine = '[[rule]]\nname = "disk-full"\nmetric = "node_filesystem_avail_bytes"\nbelow = 1\n'
    rules = [rule for rule in read(options(tmp_path, mine))[0].rules if rule.name == "disk-full"]
    assert [rule.below for rule in rules] == [1]


def test_a_file_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    for found in (options(tmp_path, "[[rule]]"), options(tmp_path, "x"), AlertsOptions(file=str(tmp_path / "none"))):
        with pytest.raises(RulesError, match=r"alerts\.file"):
            read(found)
