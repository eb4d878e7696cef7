"""`querytap aggregator`: what `querytap run` has as aggregator, as a service of its own."""

from __future__ import annotations

import argparse

from collector.aggregator import unit
from collector.cli.options import describe_service, refuse_alone, rereadable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """It has none of its own."""
    describe_service(parser, "capture")


def run(arguments: argparse.Namespace) -> int:
    """Seal and store until SIGTERM; 0 after an orderly end. Raises ConfigError and StartError."""
    config, read = rereadable(arguments)
    refuse_alone(config)
    return unit.run(config, read)
