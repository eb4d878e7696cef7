"""The aggregator as a service of its own, `querytap aggregator`: it connects to capture and monitor as they come."""

from __future__ import annotations

import fcntl
import os

from collector import log, places, privileges
from collector.aggregator import starting
from collector.aggregator.inlet import Inlet
from collector.aggregator.samples import MAX_SAMPLE_BYTES
from collector.channel import RECORD_BYTES
from collector.config import Config, StartError
from collector.config.reloading import Read
from collector.hangup import Rereading
from collector.notify import Manager


def run(config: Config, read: Read) -> int:
    """Seal and store until SIGTERM; 0 after an orderly end. Raises StartError."""
    privileges.close_to_debuggers()
    log.to_stderr("aggregator")
    manager = Manager()
    changes = Rereading(config, read, manager)
    state = _lock(config)
    os.umask(0o077)
    capture = places.capture_run(config.paths.run) / places.STATISTICS_SOCKET
    monitor = places.monitor_run(config.paths.run) / places.SAMPLES_SOCKET
    privileges.keep_only()
    try:
        starting.run(
            config,
            config.worker_total,
            Inlet(RECORD_BYTES + 1, path=capture),
            Inlet(MAX_SAMPLE_BYTES, path=monitor),
            changes=changes,
            manager=manager,
        )
    finally:
        os.close(state)
    return 0


def _lock(config: Config) -> int:
    """Keep others off the archive and the chain, as `querytap run` does. Raises StartError."""
    try:
        places.aggregator_run(config.paths.run).mkdir(parents=True, exist_ok=True)
        state = os.open(config.paths.state, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(state, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        message = f"another querytap uses {config.paths.state}"
        raise StartError(message, "stop it, or set paths.state and paths.run") from None
    except OSError as error:
        message = f"{error.filename} cannot be used: {error.strerror}"
        raise StartError(message, "start the service as its unit file says, which makes that folder") from error
    return state
