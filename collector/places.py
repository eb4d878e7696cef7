"""What files and folders of a host are called, for all who write and all who read them. Pure: makes none."""

from __future__ import annotations

from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

READER_PRIVATE: Final = "reader.key"
READER_PUBLIC: Final = "reader.pub"
INSTANCE_KEY: Final = "instance.key"
CHAIN_FILE: Final = "chain.json"
STATUS_FILE: Final = "status.json"
PROCESSES_FILE: Final = "processes.json"
PID_FILE: Final = "querytap.pid"
BLOCKS_SOCKET: Final = "blocks.sock"
STATISTICS_SOCKET: Final = "statistics.sock"
"""Where capture lets the aggregator have its records, when both are services of their own."""
SAMPLES_SOCKET: Final = "samples.sock"
"""The same of the monitor."""
CAPTURE_LOCK_FILE: Final = "capture.lock"
RINGS_LOCK_FILE: Final = "rings.lock"
"""Of the capture process alone, and of all that read its rings."""
GENERATION_FILE: Final = "generation.json"


def keys_folder(state: str | Path) -> Path:
    """Where the reader's keys are, below a host's *state* folder."""
    return Path(state) / "keys"


def aggregator_run(run: str | Path) -> Path:
    """What the aggregator writes while it runs, with its STATUS_FILE, below the *run* folder."""
    return Path(run) / "aggregator"


def capture_state(state: str | Path) -> Path:
    """What capture keeps, with its GENERATION_FILE, where it is a service of its own, below the *state* folder."""
    return Path(state) / "capture"


def aggregator_state(state: str | Path) -> Path:
    """What the aggregator keeps, with its CHAIN_FILE and INSTANCE_KEY, below the *state* folder."""
    return Path(state) / "aggregator"


def capture_run(run: str | Path) -> Path:
    """What capture and the workers have while they run, below the *run* folder."""
    return Path(run) / "capture"


def monitor_run(run: str | Path) -> Path:
    """What the monitor has while it runs, where it is a service of its own, below the *run* folder."""
    return Path(run) / "monitor"


def spool_folder(state: str | Path) -> Path:
    """Where objects wait for a remote store, below the *state* folder."""
    return aggregator_state(state) / "spool"


def worker_folder(run: str | Path, worker: int) -> Path:
    """The folder of worker number *worker*, which holds its BLOCKS_SOCKET, below the *run* folder."""
    return capture_run(run) / f"worker-{worker}"


def archive_place(url: str, state: str | Path) -> str:
    """Where objects go: what `store.url` says, and a folder below *state* where it says nothing."""
    return url or str(Path(state) / "archive")


def local_folder(place: str) -> Path | None:
    """The folder that a path or a file:// URL names; None for another kind of store."""
    if "://" not in place:
        return Path(place)
    parts = urlsplit(place)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None
