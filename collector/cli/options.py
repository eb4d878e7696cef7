"""The options that commands share: which configuration applies."""

from __future__ import annotations

import argparse
from pathlib import Path

from collector.config import DEFAULT_PATH, Config, StartError, default_path, load
from collector.config.reloading import Read


def add_config_arguments(parser: argparse.ArgumentParser) -> None:
    """Add `--config` and `--set`; `main` does so for each command that its table marks as configured."""
    group = parser.add_argument_group("configuration")
    group.add_argument(
        "--config",
        type=Path,
        default=None,
        metavar="FILE",
        help=f"configuration file (default: {DEFAULT_PATH} where it exists)",
    )
    group.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="SECTION.NAME=VALUE",
        help="set one option, over the file; VALUE is TOML, so a text needs its quotes; may be repeated",
    )


def config_from(arguments: argparse.Namespace) -> Config:
    """The configuration that `--config` and `--set` give, as they are now. Raises ConfigError."""
    return load(file_of(arguments), arguments.set)


def rereadable(arguments: argparse.Namespace) -> tuple[Config, Read]:
    """The same, and what reads it anew later. Raises ConfigError."""
    arguments.config = file_of(arguments)  # should it be gone later, that is a problem and not the defaults
    return config_from(arguments), lambda: config_from(arguments)


def describe_service(parser: argparse.ArgumentParser, beside: str) -> None:
    """Say how a service is started; it has no arguments of its own."""
    parser.epilog = (
        f"A service manager starts it beside `querytap {beside}`; see docs/systemd.md."
        " SIGTERM ends it, SIGHUP has it read its configuration again."
    )


def refuse_alone(config: Config) -> None:
    """Raise StartError in the mode in which the monitor is alone."""
    if config.monitors_alone:
        raise StartError(
            'nothing is recorded in mode "monitor" (capture.mode)', "enable querytap-monitor alone, or change the mode"
        )


def file_of(arguments: argparse.Namespace) -> Path | None:
    """The file that is read: the one named, else that at the usual place where there is one."""
    named: Path | None = arguments.config
    return named or default_path()
