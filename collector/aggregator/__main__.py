"""The aggregator as a process of its own: `python -m collector.aggregator`."""

from __future__ import annotations

import argparse
import logging
import os
import sys

from collector import child
from collector.aggregator.inlet import Inlet
from collector.aggregator.samples import MAX_SAMPLE_BYTES
from collector.aggregator.starting import run
from collector.channel import RECORD_BYTES
from collector.config import StartError


def main() -> int:
    """Read the settings that the supervisor passes and run until there is nothing more to come."""
    parser = argparse.ArgumentParser(prog="collector.aggregator", description=__doc__)
    parser.add_argument("--settings-fd", type=int, required=True, help="the resolved configuration, as JSON")
    parser.add_argument("--statistics-fd", type=int, required=True, help="seqpacket socket to capture")
    parser.add_argument("--monitor-fd", type=int, default=-1, help="seqpacket socket to the monitor")
    parser.add_argument("--changes-fd", type=int, default=-1, help="seqpacket socket: changed configurations")
    parser.add_argument("--workers", type=int, default=None, help="number of workers (default: as configured)")
    arguments = parser.parse_args()
    config = child.begin("aggregator", arguments.settings_fd)
    try:
        run(
            config,
            arguments.workers or config.worker_total,
            Inlet(RECORD_BYTES + 1, fd=arguments.statistics_fd),
            Inlet(MAX_SAMPLE_BYTES, fd=arguments.monitor_fd),
            changes=child.changes_over(arguments.changes_fd),
        )
    except StartError as error:
        logging.getLogger("aggregator").critical("cannot start: %s", str(error).replace("\n", "; "))
        return child.EXIT_CANNOT_START
    return 0


if __name__ == "__main__":
    os.umask(0o077)
    sys.exit(main())
