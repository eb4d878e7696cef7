"""`querytap capture`: what `querytap run` has as capture and workers, as a service of its own."""

from __future__ import annotations

import argparse

from collector.capture import unit
from collector.cli.options import config_from, file_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """It has none of its own."""
    parser.epilog = (
        "A service manager starts it beside `querytap aggregator`; see docs/systemd.md."
        " SIGTERM ends it, SIGHUP has it read its configuration again."
    )


def run(arguments: argparse.Namespace) -> int:
    """Capture until SIGTERM; 0 after an orderly end. Raises ConfigError and StartError."""
    arguments.config = file_of(arguments)  # should it be gone later, that is a problem and not the defaults
    return unit.run(config_from(arguments), lambda: config_from(arguments))
