"""The options that say which statements are wanted, the same for every command that prints some."""

from __future__ import annotations

import argparse
import re
import time

from collector.config import ConfigError, Problem
from collector.config.suggest import closest
from collector.reading.search import (
    Search,
    SearchError,
    parse_client,
    parse_duration,
    parse_regex,
    parse_time,
    parse_trace,
)
from collector.reading.shapes import wanted_id
from workers.mysqlx import phases


def add_filters(parser: argparse.ArgumentParser) -> None:
    """Declare them."""
    which = parser.add_argument_group("which statements (all that is given must hold)")
    which.add_argument("--since", metavar="TIME", help="RFC 3339, a date, or 10m for ten minutes ago (s, m, h, d, w)")
    which.add_argument("--until", metavar="TIME", help="as --since")
    which.add_argument("--user", help="database user")
    which.add_argument("--database", help="default database at that time")
    which.add_argument("--client", metavar="ADDRESS", help="address, address:port, or network such as 10.0.0.0/8")
    which.add_argument("--text", help="part of the SQL, of a bound value or of a query attribute's, in any case")
    which.add_argument("--regex", help="regular expression found in the SQL")
    which.add_argument("--traceparent", metavar="ID", help="W3C traceparent sent with it, or the trace id in that")
    which.add_argument(
        "--command", type=_command, action="append", default=[], dest="commands",
        help="query, stmt_execute, ...; repeatable",
    )  # fmt: skip
    which.add_argument(
        "--status", action="append", default=[], choices=("ok", "error", "result", "unknown"), help="repeatable"
    )
    which.add_argument(
        "--error-code", type=count, action="append", default=[], dest="error_codes", metavar="N",
        help="failed with this error, such as 1062; repeatable",
    )  # fmt: skip
    which.add_argument(
        "--min-latency", metavar="TIME", help="answered after this time or later: 250ms, 1.5s, 800us; a number: seconds"
    )
    which.add_argument("--shape", metavar="ID", help="of a shape, by its id in `querytap digest`, or by a statement")


def add_limit(parser: argparse.ArgumentParser) -> None:
    """Declare after how many to stop."""
    parser.add_argument("--limit", type=count, metavar="N", help="no more than N statements")


def search_of(arguments: argparse.Namespace) -> Search:
    """What *arguments* ask for. Raises ConfigError where one can't be understood."""
    now_ns = time.time_ns()
    try:
        return Search(
            since_ns=None if arguments.since is None else parse_time(arguments.since, now_ns),
            until_ns=None if arguments.until is None else parse_time(arguments.until, now_ns),
            user=arguments.user,
            database=arguments.database,
            client=None if arguments.client is None else parse_client(arguments.client),
            text=arguments.text,
            regex=None if arguments.regex is None else parse_regex(arguments.regex),
            trace=None if arguments.traceparent is None else parse_trace(arguments.traceparent),
            commands=frozenset(arguments.commands),
            statuses=frozenset(arguments.status),
            error_codes=frozenset(arguments.error_codes),
            min_latency_ns=None if arguments.min_latency is None else parse_duration(arguments.min_latency),
            shape=None if arguments.shape is None else wanted_id(arguments.shape),
        )
    except SearchError as error:
        raise ConfigError([Problem("", str(error))]) from error


def _command(text: str) -> str:
    """A command's name; one that querytap has no name for is recorded by its number."""
    name = text.lower().removeprefix("com_")
    if name in phases.COMMAND_NAMES or re.fullmatch(r"unknown_\d+", name):
        return name
    raise argparse.ArgumentTypeError(f"{text!r} is no command: {closest(name, sorted(phases.COMMAND_NAMES))}")


def count(text: str) -> int:
    """A number from 1."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return value
