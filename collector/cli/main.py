"""Finds the command, runs it, and turns the errors a user is meant to read into messages and exit codes.

A command is a module of this package, imported only when it is the one that runs: `querytap status` does not pay for
what `querytap read` needs.
"""

from __future__ import annotations

import argparse
import dataclasses
import errno
import importlib
import os
import select
import sys
from collections.abc import Sequence
from typing import Protocol, cast

from collector.cli.options import add_config_arguments
from collector.config import ConfigError, StartError
from collector.release import version

EXIT_OK = 0
EXIT_TROUBLE = 1
"""The command ran and something was wrong with the data or the run."""
EXIT_CONFIG = 2
"""The configuration or the usage is wrong; argparse uses the same."""
EXIT_CANNOT_START = 3
"""A right, an interface, a key or a server is missing."""
EXIT_INTERRUPTED = 128 + 2
"""As a shell reports an end by SIGINT."""
EXIT_PIPE_CLOSED = 128 + 13
"""As a shell reports an end by SIGPIPE: whoever read the output wants no more."""


@dataclasses.dataclass(frozen=True, slots=True)
class Command:
    """One command of the table; its module has the same name."""

    name: str
    help: str
    configured: bool = True
    """Whether it takes `--config` and `--set`."""


COMMANDS = (
    Command("run", "record the statements that reach the servers of this host"),
    Command("capture", "capture, as a service of its own"),
    Command("aggregator", "seal and store, as a service of its own"),
    Command("monitor", "watch the host, as a service of its own"),
    Command("status", "say what a running instance does: ledger, rates, warnings"),
    Command("read", "print or search statements of an archive"),
    Command("digest", "sum up the load of an archive's statements by their shape, user, ..."),
    Command("verify", "check an archive for what is missing, out of place, cut or forged"),
    Command("export", "write the statements of an archive as Parquet files"),
    Command("prune", "remove the oldest objects of an archive, by age and by size"),
    Command("hosts", "list the instances of an archive that are silent, blind or shedding"),
    Command("replay", "decode a capture file instead of live traffic", configured=False),
    Command("keygen", "make a pair of keys for reading the archive"),
    Command("key", "say what a key is, for whom an archive is sealed, and seal it for others", configured=False),
    Command("filters", "print the programs that say to the kernel which packets are captured"),
    Command("alerts", "list the rules of alerts, and try the notifiers"),
    Command("grant", "print the account that the monitor takes on a server, as SQL", configured=False),
    Command("check", "check the configuration and report every problem"),
    Command("explain", "explain an option of the configuration", configured=False),
)


class CommandModule(Protocol):
    """What a command's module has."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the command's own arguments."""

    def run(self, arguments: argparse.Namespace) -> int:
        """Do it; the exit code comes back. May raise ConfigError and StartError."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command that *argv* (None: the process's own arguments) names and return the exit code.

    Raises SystemExit for `--help` and for wrong usage, as argparse does.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    arguments, module = _parse(words)
    try:
        code = module.run(arguments)
        _flush()
    except ConfigError as error:
        print(config_message(error), file=sys.stderr)
        return EXIT_CONFIG
    except StartError as error:
        print(f"querytap: cannot start: {error}", file=sys.stderr)
        return EXIT_CANNOT_START
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        if not _reader_of_stdout_is_gone():
            raise
        _let_go_of_stdout()
        return EXIT_PIPE_CLOSED
    return code


def _flush() -> None:
    """So that a closed pipe shows here; without a stdout it does nothing, and where the terminal is gone neither."""
    try:
        print(end="", flush=True)
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        _let_go_of_stdout()


def _let_go_of_stdout() -> None:
    """The interpreter flushes once more at its end, and would complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def config_message(error: ConfigError) -> str:
    """*error* as text for a terminal: its only problem, or a headline and one line a problem."""
    if len(error.problems) == 1:
        return f"querytap: {error}"
    return "\n".join([f"querytap: {len(error.problems)} problems:", *(f"  {problem}" for problem in error.problems)])


def _parse(words: list[str]) -> tuple[argparse.Namespace, CommandModule]:
    parser = argparse.ArgumentParser(
        prog="querytap",
        description="Records the SQL statements that reach a MySQL or MariaDB server, from the wire.",
    )
    parser.add_argument("--version", action=_PrintVersion, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    chosen = next((word for word in words if not word.startswith("-")), None)
    module: CommandModule | None = None
    for command in COMMANDS:
        sub = commands.add_parser(command.name, help=command.help, description=_sentence(command.help))
        if command.name == chosen:
            module = cast("CommandModule", importlib.import_module(f"collector.cli.{command.name}"))
            module.add_arguments(sub)
            if example := getattr(module, "EXAMPLE", ""):
                sub.epilog = f"Example: {example}"
            if command.configured:
                add_config_arguments(sub)
    arguments = parser.parse_args(words)
    assert module is not None  # argparse refuses a command that is not in the table
    return arguments, module


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _reader_of_stdout_is_gone() -> bool:
    poll = select.poll()
    poll.register(sys.stdout.fileno(), select.POLLOUT)
    return any(events & (select.POLLERR | select.POLLHUP) for _, events in poll.poll(0))


class _PrintVersion(argparse.Action):
    """Looks the version up only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        print(f"querytap {version() or '(not installed)'}")
        parser.exit()
