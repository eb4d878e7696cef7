"""`querytap alerts`: the rules that apply, and a trial of those who are told."""

from __future__ import annotations

import argparse
import socket
import sys

from collector.cli.options import config_from
from collector.config import ConfigError, Problem
from collector.monitor.alerts.alerting import read, trial
from collector.monitor.alerts.notifiers import SendError
from collector.monitor.alerts.rules import Rule, RulesError

EXAMPLE = "querytap alerts --test"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Only whether to try."""
    parser.add_argument(
        "--test", action="store_true", help="send one notice, which says that it is a test, to each notifier"
    )


def run(arguments: argparse.Namespace) -> int:
    """List or try; 1 when a notifier did not take the notice. Raises ConfigError."""
    try:
        rules, notifiers = read(config_from(arguments).alerts)
    except RulesError as error:
        raise ConfigError([Problem("", line) for line in str(error).splitlines()]) from error
    if not arguments.test:
        for rule in rules.rules:
            print(f"{rule.name:28} {rule.severity:8} {_condition(rule)}")
        for notifier in notifiers:
            print(f"notifier {notifier.name}")
        return 0
    if not notifiers:
        print("no notifier is configured (alerts.file)", file=sys.stderr)
        return 1
    failed = 0
    for notifier in notifiers:
        try:
            notifier.send(trial(), socket.gethostname())
            print(f"notifier {notifier.name}: sent")
        except SendError as error:
            failed += 1
            print(f"notifier {notifier.name}: failed: {error}")
    return 1 if failed else 0


def _condition(rule: Rule) -> str:
    left = f"rate of {rule.metric}" if rule.rate else rule.metric + (f" / {rule.per}" if rule.per else "")
    bound = f"> {rule.above:g}" if rule.above is not None else f"< {rule.below:g}"
    return f"{left} {bound}" + (f" for {rule.for_s:g} s" if rule.for_s else "")
