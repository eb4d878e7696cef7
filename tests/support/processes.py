"""Starts Python modules of this repository as processes, on the same build as the caller, and stops processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import workers
from tests.support import patience

ROOT = Path(__file__).parents[2]
PACKAGES = Path(workers.__file__ or "").parents[1]

_RUN_MODULE = (
    "import runpy, sys; sys.path.append(sys.argv.pop(1)); module = sys.argv.pop(1); "
    "runpy.run_module(module, run_name='__main__', alter_sys=True)"
)


def environment() -> dict[str, str]:
    """The environment of a child that must import `collector` and `workers` from where this process did."""
    return {**os.environ, "PYTHONPATH": str(PACKAGES), "PYTHONSAFEPATH": "1"}


def querytap(*arguments: str) -> list[str]:
    """The command line of a querytap command."""
    return [sys.executable, "-m", "collector.cli", *arguments]


def module(name: str, *arguments: str) -> list[str]:
    """The command line that runs a module of `tests` or `bench`."""
    return [sys.executable, "-c", _RUN_MODULE, str(ROOT), name, *arguments]


def stop(process: subprocess.Popen[bytes], timeout_s: float) -> int:
    """Ask a process to end, insist when it has not within *timeout_s*; its exit status, negative when it was killed."""
    if process.poll() is None:
        process.terminate()
    try:
        return process.wait(patience.seconds(timeout_s))
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return -9


def run(
    command: Sequence[str], timeout_s: float = 120, folder: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a command to its end, in *folder* if one is named; its output is part of the error when it fails."""
    done = subprocess.run(
        command, capture_output=True, cwd=folder, env=environment(), timeout=patience.seconds(timeout_s), check=False
    )
    if done.returncode != 0:
        text = (done.stdout[-2000:] + done.stderr[-6000:]).decode(errors="replace")
        raise AssertionError(f"{' '.join(command)[:400]} ended with {done.returncode}:\n{text}")
    return done
