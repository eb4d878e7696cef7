"""`querytap filters`: the classic BPF programs that the kernel runs for each packet, as the configuration has them."""

from __future__ import annotations

import argparse
import contextlib

from collector.capture import bpf, connection, interfaces
from collector.capture import filter as packet_filter
from collector.capture.interfaces import Interfaces
from collector.capture.listeners import Listeners
from collector.capture.listing import listing
from collector.capture.namespaces import OWN, Namespace
from collector.capture.site import find_ports, selection
from collector.cli.options import config_from


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Only how they are printed."""
    parser.add_argument("--numbers", action="store_true", help="print each instruction as the kernel takes it")


def run(arguments: argparse.Namespace) -> int:
    """Print the sockets' filter, and the program that spreads connections where the kernel's hash is not sound."""
    config = config_from(arguments)
    with contextlib.closing(Listeners()) as listeners, contextlib.closing(Interfaces()) as known:
        ports = find_ports(config.capture, listeners, Namespace(OWN))
        ports.look(listeners.now())
        present = known.now()
    interfaces.require(config.capture.interfaces, present)
    chosen = selection(config.capture, ports, present)
    assert chosen is not None  # all that are named are there
    whose = "servers of this host" if chosen.local else "servers elsewhere"
    print(f"# filter: port {', '.join(map(str, chosen.ports))}, {whose}; bytes of the packet that are captured")
    _print(packet_filter.build(chosen), numbers=arguments.numbers)
    print('# capture.fanout = "cbpf": the number of a connection, whose remainder is its worker')
    _print(connection.spread(), numbers=arguments.numbers)
    return 0


def _print(program: tuple[bpf.Instruction, ...], *, numbers: bool) -> None:
    for line in program if numbers else listing(program):
        print(" ".join(map(str, line)) if isinstance(line, tuple) else line)
