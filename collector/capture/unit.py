"""Capture as a service of its own, `querytap capture`: no supervisor above it, and rings that outlive it.

It runs as a user of its own with CAP_NET_RAW and gives that up once the sockets are open. Its workers are that user too
and have nothing but what a sealed worker has. The folders it works in are its own: a service manager makes them.
"""

from __future__ import annotations

import fcntl
import logging
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from collector import identities, jsonfile, log, places, privileges
from collector.capture import keeping
from collector.capture.calibration import calibrated
from collector.capture.generation import next_generation
from collector.capture.handover import UnfitError
from collector.capture.keeping import Left
from collector.capture.opening import open_sites
from collector.capture.outbox import Outbox
from collector.capture.process import Capture, Place
from collector.capture.sandbox import Sandbox, sandbox
from collector.capture.site import Site
from collector.capture.telling import State, Teller
from collector.channel import generation_of
from collector.config import Config, StartError
from collector.config.reloading import Read
from collector.hangup import Rereading
from collector.notify import Manager
from collector.outlet import Listening

_OTHERS_S: Final = 30.0
"""How long workers of an earlier capture process are waited for, which end by themselves."""
_EACH_S: Final = 0.1
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_WORKER_MODE: Final = 0o750

_log = logging.getLogger(__name__)


def run(config: Config, read: Read) -> int:
    """Capture until SIGTERM; the exit code comes back. Raises StartError."""
    privileges.close_to_debuggers()
    log.to_stderr("capture")
    manager = Manager()
    changes = Rereading(config, read, manager)
    user = identities.present()
    walls = sandbox(config.workers.sandbox)
    folder = _folder(places.capture_run(config.paths.run))
    teller = UnitTeller(manager, config, folder, walls)
    changes.told = teller.reloaded
    _alone(config)
    lock = _lock(config, teller)
    sites, left = _open(config, teller, manager)
    for site in sites:
        for slot in site.slots:
            slot.shared_fds = (lock,)
    _log.info("workers are sealed by: %s", walls.text)
    capture = Capture(
        config=config,
        sites=sites,
        user=user,
        sandbox=walls,
        outbox=Outbox(Listening(places.capture_run(config.paths.run) / places.STATISTICS_SOCKET)),
        teller=teller,
        changes=changes,
        place=Place(goes_on=left is not None, lasting=_leave(config, manager, sites, left)),
    )
    capture.costs = calibrated(config)
    privileges.keep_only()
    return capture.run()


class UnitTeller(Teller):
    """Tells the service manager, and whoever reads PROCESSES_FILE."""

    def __init__(self, manager: Manager, config: Config, folder: int, walls: Sandbox) -> None:
        super().__init__()
        self._manager = manager
        self._config = config
        self._folder = folder
        self._walls = walls
        self._ready = False
        self._reload: Mapping[str, Any] | None = None

    def alive(self) -> None:
        """As Teller says."""
        self._manager.alive()

    def stopping(self, within_s: float) -> None:
        """As Teller says."""
        self._manager.stopping(within_s)
        self._manager.status("stops: what was captured is handed over")

    def reloaded(self, outcome: Mapping[str, Any]) -> None:
        """Tell what came of reading the configuration again."""
        self._reload = outcome
        self._sent(self.state)

    def _sent(self, state: State) -> bool:
        jsonfile.replace(self._folder, places.PROCESSES_FILE, self._note(state))
        self._manager.status(_text(state))
        if not self._ready and (state.ready or state.waiting):
            self._ready = True
            self._manager.ready()
        return True

    def _note(self, state: State) -> dict[str, Any]:
        """What `querytap status` shows."""
        return {
            "pid": os.getpid(),
            "ports": list(state.ports),
            "capture": list(state.notes),
            "interfaces": list(self._config.capture.interfaces),
            "restarts": {},
            "users": {"workers": identities.present().name},
            "sealed_by": self._walls.text,
            "unsealed_by": list(self._walls.missing),
            "waiting": state.waiting,
            "warnings": list(state.warnings),
            "reload": self._reload,
        }


def _text(state: State) -> str:
    if state.waiting:
        return f"nothing is recorded until {state.waiting} is there"
    ports = ", ".join(map(str, state.ports))
    return f"records port {ports}" if state.ready else "starts"


def _folder(path: Path) -> int:
    """Open a folder that is ours, made where there is none. Raises StartError."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        folder = os.open(path, _FOLDER)
    except OSError as error:
        raise _unusable(path, error.strerror or "") from error
    if os.fstat(folder).st_uid != os.geteuid():
        raise _unusable(path, f"it belongs to user {os.fstat(folder).st_uid}")
    return folder


def _unusable(path: Path, reason: str) -> StartError:
    return StartError(
        f"{path} cannot be used by {identities.present().name}: {reason}",
        "start the service as its unit file says, which makes that folder (RuntimeDirectory=, StateDirectory=)",
    )


def _alone(config: Config) -> None:
    """Refuse to be a second capture process. Raises StartError."""
    path, lock = _lock_file(config, places.CAPTURE_LOCK_FILE)
    if not _locked(lock):  # else it is held for as long as this process lives
        raise StartError(f"another capture process has {path}", "stop it: fuser -v shows which it is")


def _lock(config: Config, teller: Teller) -> int:
    """What this process and its workers hold for as long as one of them lives: two readers would spoil a ring.

    Waits for the workers of an earlier capture process. Raises StartError.
    """
    path, lock = _lock_file(config, places.RINGS_LOCK_FILE)
    deadline = time.monotonic() + _OTHERS_S
    told = False
    while not _locked(lock):
        if time.monotonic() > deadline:
            raise StartError(
                f"workers of an earlier capture process have {path} and do not end",
                "kill them: fuser -v shows which they are",
            )
        if not told:
            told = True
            _log.info("the workers of the capture process before this one are still at work: waiting for their end")
        teller.alive()
        time.sleep(_EACH_S)
    return lock


def _lock_file(config: Config, name: str) -> tuple[Path, int]:
    path = places.capture_run(config.paths.run) / name
    try:
        return path, os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise _unusable(path, str(error.strerror)) from error


def _locked(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _open(config: Config, teller: Teller, manager: Manager) -> tuple[list[Site], Left | None]:
    """The sites, with the rings that an earlier process left if they fit, else with new ones."""
    for number in range(config.worker_total):
        folder = places.worker_folder(config.paths.run, number)
        try:
            folder.mkdir(exist_ok=True)
            folder.chmod(_WORKER_MODE)
        except OSError as error:
            raise _unusable(folder, str(error.strerror)) from error
    left: Left | None = None
    try:
        left = keeping.find(manager.kept, config)
        if left is not None:
            sites = open_sites(config, teller, left.generation, patient=True, left=left)
            _log.info("goes on with the rings of the capture process before")
            return sites, left
    except UnfitError as error:
        _log.warning("the rings of the capture process before are given up, with what is in them: %s", error)
        if left is not None:
            left.unmap()
        keeping.give_up(manager)
    generation = next_generation(places.capture_state(config.paths.state), places.capture_run(config.paths.run))
    return open_sites(config, teller, generation, patient=True), None


def _leave(config: Config, manager: Manager, sites: list[Site], left: Left | None) -> bool:
    """Leave the rings with the manager; whether the next process may go on with them."""
    if left is not None:
        keeping.follow(left.state, [slot for site in sites for slot in site.slots])
        return True
    if not manager.there or not keeping.lasts(sites):
        return False
    try:
        keeping.leave(manager, config, generation_of(sites[0].slots[0].incarnation), sites)
    except (OSError, ValueError) as error:
        _log.warning(
            "a restart of capture will lose what comes meanwhile: the service manager keeps nothing (%s)", error
        )
        return False
    return True
