"""The monitor without a supervisor: as a service of its own beside the others, or alone, in mode "monitor".

As a service (`querytap monitor`) the aggregator connects to it whenever it is there. Alone there is no aggregator.
"""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Iterator
from pathlib import Path

from collector import identities, jsonfile, log, places, privileges
from collector.config import Config, StartError
from collector.config.reloading import Read
from collector.hangup import Rereading
from collector.identities import SERVICE
from collector.monitor.host import Sampler
from collector.monitor.process import Monitor
from collector.notify import Manager
from collector.outlet import Listening
from collector.privileges import Identity

_log = logging.getLogger(__name__)


def run(config: Config, read: Read) -> int:
    """Take samples until SIGTERM; 0 then. Raises StartError."""
    privileges.close_to_debuggers()
    log.to_stderr("monitor")
    manager = Manager()
    changes = Rereading(config, read, manager)
    outlet = None if config.monitors_alone else _listening(config)
    privileges.keep_only()
    Monitor(config, outlet, changes, Sampler(lambda: roots(config.paths.run)), manager).run()
    return 0


def alone(config: Config, read: Read) -> int:
    """Watch and serve until SIGTERM or SIGINT, as `querytap run` does in mode "monitor"; 0 then. Raises StartError.

    Where it is started by root it becomes the user of the monitor. The caller has blocked SIGHUP.
    """
    log.to_stderr("monitor")
    _become_user(config)
    privileges.close_to_debuggers()
    terminal = _has_terminal()

    def read_unless_gone() -> Config:
        if terminal and not _has_terminal():  # then SIGHUP came from its end
            os.kill(os.getpid(), signal.SIGTERM)
        return read()

    manager = Manager()
    changes = Rereading(config, read_unless_gone, manager)
    stops = (signal.SIGTERM, signal.SIGINT)
    monitor = Monitor(config, None, changes, Sampler(lambda: [os.getpid()]), manager, stops=stops)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGHUP,))
    watched = ", ".join(config.monitor.servers) or "no server (monitor.servers names none)"
    _log.info('querytap watches the host and %s; nothing is recorded (mode "monitor")', watched)
    monitor.run()
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


def _listening(config: Config) -> Listening:
    folder = places.monitor_run(config.paths.run)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return Listening(folder / places.SAMPLES_SOCKET)
    except OSError as error:
        message = f"{folder} cannot be used: {error.strerror}"
        raise StartError(message, "start the service as its unit file says, which makes that folder") from error


def _become_user(config: Config) -> None:
    user = identities.identity(config.process.user, SERVICE)
    if user.uid != os.geteuid() and not _can_run(user):
        if config.process.user:
            raise StartError(f'user "{user.name}" cannot read the programs of querytap', "let process.user read them")
        stays = identities.present()
        _log.warning(
            'user "%s" cannot read the programs of querytap: the monitor stays "%s", without capabilities',
            user.name, stays.name,
        )  # fmt: skip
        user = stays
    privileges.become(user)


def _can_run(user: Identity) -> bool:
    """Whether *user* can read the packages and those of Python, of which some are loaded late."""
    pid = os.fork()  # there are no threads here
    if pid == 0:
        code = 1
        try:
            privileges.become(user)
            code = 0 if all(os.access(path, os.R_OK) for path in (__file__, os.__file__)) else 1
        finally:
            os._exit(code)
    return os.waitpid(pid, 0)[1] == 0


def _has_terminal() -> bool:
    """Whether one of our standard streams is a terminal that has not hung up."""
    return any(os.isatty(fd) for fd in range(3))


def _pid(path: Path) -> int:
    try:
        pid = (jsonfile.read(path) or {}).get("pid", 0)
    except (OSError, ValueError):
        return 0
    return pid if isinstance(pid, int) else 0
