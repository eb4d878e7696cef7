"""`querytap check`: is the configuration valid, and does it fit this host?"""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Iterable

from collector.cli.options import config_from, file_of
from collector.config import Config, ConfigError, Problem, to_mapping
from collector.config.changes import changes
from collector.config.host import warnings_on_this_host
from collector.config.option import IN_WORDS, Option
from collector.config.schema import OPTIONS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's own arguments."""
    parser.add_argument("--json", action="store_true", help="print one JSON object, with the resolved configuration")


def run(arguments: argparse.Namespace) -> int:
    """Report every problem; 0 when there is none, 2 otherwise. Warnings about this host do not change that.

    Of what is not the default it says when a change of it takes effect.
    """
    path = file_of(arguments)
    source = "the defaults" if path is None else str(path)
    try:
        config = config_from(arguments)
    except ConfigError as error:
        if not arguments.json:
            raise
        print(_as_json(source, problems=error.problems))
        return 2
    warnings = warnings_on_this_host(config)
    chosen = [OPTIONS[change.key] for change in changes(Config(), config)]
    if arguments.json:
        print(_as_json(source, warnings=warnings, config=to_mapping(config), chosen=chosen))
        return 0
    for warning in warnings:
        print(f"warning: {warning}")
    print(f"the configuration is valid ({source}{', with --set' if arguments.set else ''})")
    for applies, words in IN_WORDS.items():
        keys = [option.key for option in chosen if option.applies == applies]
        if keys:
            print(f"takes effect {words}: {', '.join(keys)}")
    return 0


def _as_json(
    source: str,
    *,
    problems: Iterable[Problem] = (),
    warnings: Iterable[Problem] = (),
    config: dict[str, dict[str, object]] | None = None,
    chosen: Iterable[Option] = (),
) -> str:
    return json.dumps(
        {
            "valid": config is not None,
            "source": source,
            "problems": [dataclasses.asdict(problem) for problem in problems],
            "warnings": [dataclasses.asdict(warning) for warning in warnings],
            "config": config,
            "applies": {option.key: option.applies for option in chosen},
        },
        indent=2,
    )
