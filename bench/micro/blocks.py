"""The measured process for blocks alone: writes the same finished statements into blocks again and again.

Statements come from Python here, one call each; what calls cost that do nothing is measured beside it and taken off.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import deque
from itertools import repeat
from typing import Final

from bench import frames, traffic
from bench.micro.feed import settle
from workers.blocks import BlockBuilder
from workers.mysql.connection import Connection
from workers.mysql.events import Exchange, Outbox
from workers.mysql.framing import Allowance
from workers.mysql.rules import Rules
from workers.pipeline import Pipeline
from workers.settings import RESPONSES, Settings

_ENDS: Final = bytes(36)
_NOW_NS: Final = 1_760_000_000_000_000_000


def statements(count: int, answers: bool) -> list[Exchange]:
    """So many finished statements of the published workload."""
    outbox = Outbox()
    rules = Rules(16 << 20, answers, Allowance(256 << 20))
    workload = traffic.Workload(count)
    connections = [Connection(outbox, rules, _ENDS, from_start=False) for _ in range(workload.connections)]
    for exchange in traffic.generate(workload).exchanges:
        connection = connections[exchange.connection]
        request, answer = (frame[frames.HEADER_BYTES :] for frame in (exchange.request, exchange.answer))
        connection.client(request, 0, len(request), _NOW_NS, 0)
        if answers:
            connection.server(answer, 0, len(answer), _NOW_NS)
    return list(outbox.finished)


def main() -> int:
    """Measure passes over finished statements and print the result as JSON."""
    parser = argparse.ArgumentParser(prog="python -m bench.micro.blocks", description=main.__doc__)
    parser.add_argument("--statements", type=int, required=True)
    parser.add_argument("--responses", choices=RESPONSES, required=True)
    parser.add_argument("--passes", type=int, required=True)
    arguments = parser.parse_args()
    settle()
    finished = statements(arguments.statements, arguments.responses != "none")
    builder = BlockBuilder(0, 0, {})
    idle = Pipeline(0, 0, Settings(ports=(1,)))
    cpu_ns = []
    for _ in range(arguments.passes):
        begun = time.thread_time_ns()
        deque(map(builder.add, finished, repeat(_NOW_NS)), 0)
        builder.take({}, False)
        written = time.thread_time_ns()
        deque(map(idle.skip, repeat(0, len(finished))), 0)
        cpu_ns.append(2 * written - begun - time.thread_time_ns())
    sys.stdout.write(json.dumps({"cpu_ns": cpu_ns, "statements": len(finished)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
