"""`querytap check`: is the configuration valid, and does it fit this host?"""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Iterable

from collector.cli.options import config_from
from collector.config import ConfigError, Problem, to_mapping
from collector.config.host import warnings_on_this_host


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's own arguments."""
    parser.add_argument("--json", action="store_true", help="print one JSON object, with the resolved configuration")


def run(arguments: argparse.Namespace) -> int:
    """Report every problem; 0 when there is none, 2 otherwise. Warnings about this host do not change that."""
    source = "the defaults" if arguments.config is None else str(arguments.config)
    try:
        config = config_from(arguments)
    except ConfigError as error:
        if not arguments.json:
            raise
        print(_as_json(source, problems=error.problems))
        return 2
    warnings = warnings_on_this_host(config)
    if arguments.json:
        print(_as_json(source, warnings=warnings, config=to_mapping(config)))
        return 0
    for warning in warnings:
        print(f"warning: {warning}")
    print(f"the configuration is valid ({source}{', with --set' if arguments.set else ''})")
    return 0


def _as_json(
    source: str,
    *,
    problems: Iterable[Problem] = (),
    warnings: Iterable[Problem] = (),
    config: dict[str, dict[str, object]] | None = None,
) -> str:
    return json.dumps(
        {
            "valid": config is not None,
            "source": source,
            "problems": [dataclasses.asdict(problem) for problem in problems],
            "warnings": [dataclasses.asdict(warning) for warning in warnings],
            "config": config,
        },
        indent=2,
    )
