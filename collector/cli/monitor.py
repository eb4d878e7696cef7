"""`querytap monitor`: what `querytap run` has as monitor, as a service of its own."""

from __future__ import annotations

import argparse

from collector.cli.options import describe_service, rereadable
from collector.monitor import unit


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """It has none of its own."""
    describe_service(parser, "aggregator")


def run(arguments: argparse.Namespace) -> int:
    """Take samples until SIGTERM; 0 after an orderly end. Raises ConfigError and StartError."""
    return unit.run(*rereadable(arguments))
