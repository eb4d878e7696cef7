"""`querytap capture`: what `querytap run` has as capture and workers, as a service of its own."""

from __future__ import annotations

import argparse

from collector.capture import unit
from collector.cli.options import describe_service, refuse_alone, rereadable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """It has none of its own."""
    describe_service(parser, "aggregator")


def run(arguments: argparse.Namespace) -> int:
    """Capture until SIGTERM; 0 after an orderly end. Raises ConfigError and StartError."""
    config, read = rereadable(arguments)
    refuse_alone(config)
    return unit.run(config, read)
