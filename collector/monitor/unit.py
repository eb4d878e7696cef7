"""The monitor as a service of its own, `querytap monitor`: the aggregator connects to it whenever it is there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from collector import jsonfile, log, places, privileges
from collector.config import Config, StartError
from collector.config.reloading import Read
from collector.hangup import Rereading
from collector.monitor.host import Sampler
from collector.monitor.process import Monitor
from collector.notify import Manager
from collector.outlet import Listening


def run(config: Config, read: Read) -> int:
    """Take samples until SIGTERM; 0 then. Raises StartError."""
    privileges.close_to_debuggers()
    log.to_stderr("monitor")
    manager = Manager()
    changes = Rereading(config, read, manager)
    folder = places.monitor_run(config.paths.run)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        outlet = Listening(folder / places.SAMPLES_SOCKET)
    except OSError as error:
        message = f"{folder} cannot be used: {error.strerror}"
        raise StartError(message, "start the service as its unit file says, which makes that folder") from error
    privileges.keep_only()
    Monitor(config, outlet, changes, Sampler(lambda: roots(config.paths.run)), manager).run()
    return 0


def roots(run_folder: str) -> Iterator[int]:
    """The main processes of the services, as each of them tells in its own folder."""
    yield os.getpid()
    told = (
        places.capture_run(run_folder) / places.PROCESSES_FILE,
        places.aggregator_run(run_folder) / places.STATUS_FILE,
    )
    for path in told:
        pid = _pid(path)
        if pid:
            yield pid


def _pid(path: Path) -> int:
    try:
        pid = (jsonfile.read(path) or {}).get("pid", 0)
    except (OSError, ValueError):
        return 0
    return pid if isinstance(pid, int) else 0
