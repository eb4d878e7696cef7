"""`querytap replay`: decodes a capture file instead of live traffic; the records are those of `read`."""

from __future__ import annotations

import argparse
import io
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from collector.cli.narrowing import add_filters, add_limit, search_of
from collector.config import ConfigError, Problem
from collector.reading.formats import FORMATS
from collector.reading.replay import Replay
from workers import counters
from workers.pcapfile import CaptureFileError
from workers.records import Statement
from workers.settings import LITERALS, RESPONSES, Settings
from workers.tunnels import TUNNELS

_DEFAULT_PORT = 3306


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's own arguments."""
    parser.add_argument("file", metavar="FILE", help="a pcap or pcapng file, - for standard input")
    parser.add_argument(
        "--port", type=_port, action="append", default=[], dest="ports",
        help=f"TCP port of a server in the capture; repeatable (default: {_DEFAULT_PORT})",
    )  # fmt: skip
    parser.add_argument(
        "--x-port", type=_port, action="append", default=[], dest="x_ports",
        help="TCP port where a server speaks the X Protocol, 33060 as a rule; repeatable (default: none)",
    )  # fmt: skip
    parser.add_argument("--responses", choices=RESPONSES, default="first", help="how much of the answers to look at")
    parser.add_argument(
        "--literals", choices=LITERALS, default="keep", help="whether the data in statements is shown or masked"
    )
    parser.add_argument(
        "--tunnel", choices=tuple(TUNNELS), action="append", default=[], dest="tunnels",
        help="go through packets that carry others in this way; repeatable (default: none)",
    )  # fmt: skip
    parser.add_argument("--format", choices=FORMATS, default="text", help="as those of `querytap read`")
    parser.add_argument("--raw", action="store_true", help="with JSON: the SQL's bytes as sent too, as sql_base64")
    parser.add_argument("--counters", action="store_true", help="say at the end, on stderr, what became of the packets")
    add_filters(parser)
    add_limit(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the capture's statements; 1 when the file could not be read to its end."""
    search = search_of(arguments)
    settings = Settings(
        ports=tuple(arguments.ports) or (_DEFAULT_PORT,),
        x_ports=tuple(arguments.x_ports),
        responses=arguments.responses,
        literals=arguments.literals,
        tunnels=tuple(arguments.tunnels),
    )
    replay = Replay(settings)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        with _open(arguments.file) as file:
            found = (each for each in replay.statements(file, arguments.file) if search.matches(each))
            for line in itertools.islice(_lines(found, arguments), arguments.limit):
                print(line)
    except CaptureFileError as error:
        replay.problem = error
    sys.stdout.flush()
    _report(replay, arguments)
    return 1 if replay.problem else 0


def _open(name: str) -> BinaryIO:
    if name == "-":
        return sys.stdin.buffer
    try:
        return Path(name).open("rb")
    except OSError as error:
        raise ConfigError([Problem("", f"{name}: {error.strerror}")]) from error


def _lines(found: Iterator[Statement], arguments: argparse.Namespace) -> Iterator[str]:
    form = FORMATS[arguments.format]
    if form.before is not None:
        print(form.before)
    for statement in found:
        yield form.render(statement, "", arguments.raw)


def _report(replay: Replay, arguments: argparse.Namespace) -> None:
    """What the capture did not give, and, when asked, all that was counted."""
    if replay.problem:
        print(f"querytap: {replay.problem}", file=sys.stderr)
    counted = replay.counters
    packets = sum(counted[name] for name in counters.PACKETS)
    if packets and counted["packets_foreign"] == packets:
        ports = ", ".join(map(str, (*replay.settings.ports, *replay.settings.x_ports)))
        print(
            f"querytap: {arguments.file}: none of its {packets} packets is a server's on port {ports};"
            " --port names another, --tunnel goes through packets that carry others",
            file=sys.stderr,
        )
    for link, count in replay.passed_over.other_links.items():
        print(f"querytap: {arguments.file}: {count} frames of link type {link}, which is not known", file=sys.stderr)
    given_up = replay.datagrams["datagrams_given_up"]
    if given_up:
        print(f"querytap: {arguments.file}: {given_up} datagrams lack fragments, and are not read", file=sys.stderr)
    if arguments.counters:
        for name, value in (counted | replay.datagrams).items():
            print(f"{name} {value}", file=sys.stderr)


def _port(text: str) -> int:
    value = int(text)
    if not 0 < value < 65536:
        raise argparse.ArgumentTypeError("must be between 1 and 65535")
    return value
